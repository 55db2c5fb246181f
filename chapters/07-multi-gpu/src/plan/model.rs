//! Models as a planner sees them: blocks in a row, with what each needs for one example.

use crate::{Error, Result};
use backprop::{
    count::{self, Counts},
    fits::Moves,
};
use performance::gpu::cost::Work;
use serde::{
    Deserialize, Serialize,
    de::value::{self, MapDeserializer},
};

/// Layers that stay together, and what they need for one example: an image, or a sequence of words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Block {
    /// Weights and biases.
    pub parameters: f64,
    /// Parameters of the first block that are also needed here, and kept twice in another stage of a pipeline.
    pub shared: f64,
    /// Operations forward.
    pub forward: f64,
    /// Operations backward.
    pub backward: f64,
    /// Numbers that come in.
    pub input: f64,
    /// Numbers that are kept for the backward pass by each card of a tensor parallel group.
    pub kept: f64,
    /// Numbers kept that the cards of a tensor parallel group divide among themselves.
    pub kept_split: f64,
    /// The largest output of its layers: the backward pass keeps two such at a time.
    pub largest: f64,
    /// Numbers of the largest unrolled image, if there is a convolution.
    pub unrolled: f64,
    /// Numbers that tensor parallel cards add up forward; backward, they add up as many.
    pub sums: f64,
    /// Messages in which they do so.
    pub messages: f64,
    /// Kernels that are started forward; backward, twice as many.
    pub kernels: f64,
    /// Terms of its sums, one product after the other: forward, backward, and backward for each example. None where the
    /// fraction of the peak has them already: where products fill a card, as a transformer's do.
    pub terms: [f64; 3],
}

/// Terms of the longest sums in the steps to which the cost is fitted. Longer ones are cut into pieces, as the engine does,
/// and blocks add these up side by side.
const LONGEST: f64 = 4096.0;

impl Block {
    /// What a card does in the two passes over so many examples.
    pub fn passes(&self, examples: f64) -> [Work; 2] {
        let [forward, backward, each] = self.terms;
        let backward = backward + each * examples.min(LONGEST);
        let work =
            |kernels, operations, terms| Work { kernels, operations: examples * operations, terms };
        [
            work(self.kernels, self.forward, forward),
            work(2.0 * self.kernels, self.backward, backward),
        ]
    }
}

/// Bytes of the numbers of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Precision {
    /// Of a weight.
    pub weight: f64,
    /// Of its gradient.
    pub gradient: f64,
    /// Of what the optimizer remembers of it, an f32 copy of the weight among it if there is one.
    pub optimizer: f64,
    /// Of a number that is kept for the backward pass.
    pub activation: f64,
}

impl Precision {
    /// Everything in f32, as in chapter 3.
    pub fn single(moves: Moves) -> Self {
        Self {
            weight: 4.0,
            gradient: 4.0,
            optimizer: 4.0 * moves.numbers() as f64,
            activation: 4.0,
        }
    }

    /// Mixed precision as in chapter 6: sixteen bits, and f32 copies of the weights for the optimizer. With Adam, 16
    /// bytes for each parameter (Rajbhandari et al. 2020, "`ZeRO`", section 3.1).
    pub fn mixed(moves: Moves) -> Self {
        let optimizer = 4.0 + 4.0 * moves.numbers() as f64;
        Self { weight: 2.0, gradient: 2.0, optimizer, activation: 2.0 }
    }

    /// Bytes that the optimizer moves for each parameter: it reads the gradient, and reads and writes the weight and its own
    /// numbers.
    pub fn moved(&self) -> f64 {
        2.0 * self.optimizer + self.gradient + 2.0 * self.weight
    }

    /// Everything in sixteen bits, without f32 copies: the least memory, and chapter 6 shows what it costs.
    pub fn narrow(moves: Moves) -> Self {
        let optimizer = 2.0 * moves.numbers() as f64;
        Self { weight: 2.0, gradient: 2.0, optimizer, activation: 2.0 }
    }
}

/// A model, ready to be planned for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// What an example is: `image`, or `sequence of 2048 tokens`.
    pub example: String,
    /// From the input to the loss.
    pub blocks: Vec<Block>,
    /// A tensor parallel group has a size that divides this: heads, or units of the layers.
    pub splits: usize,
    /// Bytes of its numbers.
    pub precision: Precision,
}

impl Workload {
    /// One of chapter 3's models, in f32. What has no parameters belongs to the block before it.
    ///
    /// # Errors
    /// [`Error::Config`] if it has no parameters.
    pub fn of_counts(counts: &Counts, moves: Moves) -> Result<Self> {
        let numbers = |row: &count::Row| row.output.iter().map(|n| *n as f64).product::<f64>();
        let learns = (0..counts.rows.len()).filter(|i| counts.rows[*i].parameters > 0);
        let starts: Vec<usize> = learns.collect();
        if starts.is_empty() {
            return Err(Error::Config(format!("{} has no parameters to train", counts.name)));
        }
        let (mut blocks, mut splits) = (Vec::new(), 0);
        for (at, start) in starts.iter().enumerate() {
            let from = if at == 0 { 0 } else { *start };
            let last = at + 1 == starts.len();
            let rows = &counts.rows[from..starts.get(at + 1).copied().unwrap_or(counts.rows.len())];
            let input =
                if from == 0 { counts.input as f64 } else { numbers(&counts.rows[from - 1]) };
            let mut block = Block { input, largest: 0.0, ..Block::default() };
            if from == 0 {
                (block.kept, block.largest) = (input, input);
            }
            // Pairs: the first of two is split by columns, so that its outputs are spread; the second one by rows.
            let columns = at % 2 == 0 && !last;
            let kept: f64 = rows.iter().map(|row| row.kept as f64).sum();
            *(if columns { &mut block.kept_split } else { &mut block.kept }) += kept;
            for row in rows {
                block.parameters += row.parameters as f64;
                block.forward += row.forward;
                block.backward += row.backward;
                block.largest = block.largest.max(numbers(row));
                block.unrolled = block.unrolled.max(row.unrolled as f64);
                block.kernels += 1.0;
                if row.kind == "dense" {
                    let units = numbers(row);
                    let back = if row.backward > row.forward { units } else { 0.0 };
                    block.terms = [row.forward / (2.0 * units), back, 1.0];
                }
            }
            let layer = &counts.rows[*start];
            if columns {
                splits = gcd(splits, layer.output[0]);
            } else {
                (block.sums, block.messages) = (numbers(layer), 1.0);
            }
            blocks.push(block);
        }
        Ok(Self {
            name: counts.name.clone(),
            example: "image".to_owned(),
            blocks,
            splits: splits.max(1),
            precision: Precision::single(moves),
        })
    }

    /// A model by its name: a transformer's (see [`Transformer::named`]), or one of chapter 3's.
    ///
    /// # Errors
    /// [`Error::Config`] for another name.
    pub fn named(name: &str, moves: Moves) -> Result<Self> {
        if let Some(transformer) = Transformer::named(name)? {
            return transformer.workload(name, moves);
        }
        Self::of_counts(&count::Model::named(name)?.count()?, moves)
    }

    /// A model of which only parameters and operations forward are known, layer by layer, in mixed precision. It can be
    /// simulated, but not planned for: what it keeps is not known.
    pub fn of_layers(name: &str, layers: &[(f64, f64)], moves: Moves) -> Self {
        let block = |&(parameters, forward): &(f64, f64)| Block {
            parameters,
            forward,
            backward: 2.0 * forward,
            kernels: 3.0, // a convolution, its normalisation, a ReLU
            ..Block::default()
        };
        Self {
            name: name.to_owned(),
            example: "image".to_owned(),
            blocks: layers.iter().map(block).collect(),
            splits: 1,
            precision: Precision::mixed(moves),
        }
    }

    /// All parameters.
    pub fn parameters(&self) -> f64 {
        self.blocks.iter().map(|b| b.parameters).sum()
    }

    /// Operations of one example, forward and backward.
    pub fn operations(&self) -> f64 {
        self.blocks.iter().map(|b| b.forward + b.backward).sum()
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A transformer that predicts the next word: as many equal blocks of attention and two products.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transformer {
    /// Blocks, one on top of the other.
    pub layers: u32,
    /// Numbers for each token, h.
    pub width: u32,
    /// Heads of the attention; tensor parallel cards divide them.
    pub heads: u32,
    /// Tokens of an example, s.
    pub sequence: u32,
    /// Tokens there are, V.
    pub vocabulary: u32,
}

/// A transformer as a user describes one.
const LIKE: &str = "gpt:layers=32,width=4096,heads=32,sequence=2048,vocabulary=50257";

/// The most blocks of a transformer that are planned for.
pub const MOST_LAYERS: u32 = 1000;

impl Transformer {
    /// `gpt-125m`, `gpt-1.3b`, `gpt-7b`, `gpt-13b`, `gpt-175b` (Brown et al. 2020, "Language Models are Few-Shot
    /// Learners", table 2.1, sequences of 2,048 tokens), `gpt-1t` (Narayanan et al. 2021, table 1), or a description
    /// such as `gpt:layers=32,width=4096,heads=32,sequence=2048,vocabulary=50257`. `None` if it is none of these.
    ///
    /// # Errors
    /// [`Error::Config`] for a description that starts with `gpt` and can't be read.
    pub fn named(name: &str) -> Result<Option<Self>> {
        let of = |layers, width, heads, vocabulary| {
            Some(Self { layers, width, heads, sequence: 2048, vocabulary })
        };
        let known = match name {
            "gpt-125m" => of(12, 768, 12, 50_257),
            "gpt-1.3b" => of(24, 2048, 16, 50_257),
            "gpt-7b" => of(32, 4096, 32, 50_257),
            "gpt-13b" => of(40, 5120, 40, 50_257),
            "gpt-175b" => of(96, 12_288, 96, 50_257),
            "gpt-1t" => of(128, 25_600, 160, 51_200),
            _ => None,
        };
        let Some(text) = name.strip_prefix("gpt:") else {
            if known.is_none() && name.starts_with("gpt") {
                return Err(Error::Config(format!(
                    "there is no transformer `{name}`; give gpt-125m, gpt-1.3b, gpt-7b, gpt-13b, gpt-175b, gpt-1t, or {LIKE}"
                )));
            }
            return Ok(known);
        };
        let wrong = |why: String| Error::Config(format!("`{name}`: {why}; write it like {LIKE}"));
        let mut sizes = Vec::new();
        for part in text.split(',') {
            let (key, size) = part.split_once('=').unwrap_or((part, ""));
            let none = |_| wrong(format!("`{part}` has no whole number"));
            sizes.push((key.trim(), size.trim().parse::<u32>().map_err(none)?));
        }
        let sizes = MapDeserializer::<_, value::Error>::new(sizes.into_iter());
        Self::deserialize(sizes).map(Some).map_err(|why| wrong(why.to_string()))
    }

    /// What its blocks need for one sequence, in mixed precision.
    ///
    /// Operations as Narayanan et al. 2021 count them (appendix A.3): 24sh² + 4s²h forward in a block, 2shV for the
    /// scores, twice as many backward. What is kept as Korthikanti et al. 2022 count it ("Reducing Activation
    /// Recomputation in Large Transformer Models", equation 2): 10sh bytes on each tensor parallel card and 24sh
    /// shared, without the s² terms, since attention keeps no scores since `FlashAttention` (Dao et al. 2022).
    ///
    /// # Errors
    /// [`Error::Config`] if a size is 0, the heads do not divide the width, or there are more than [`MOST_LAYERS`].
    pub fn workload(&self, name: &str, moves: Moves) -> Result<Workload> {
        let Self { layers, width, heads, sequence, vocabulary } = *self;
        if [layers, width, heads, sequence, vocabulary].contains(&0) || width % heads != 0 {
            return Err(Error::Config(format!(
                "a transformer of {layers} layers, width {width}, {heads} heads, sequences of {sequence} and {vocabulary} words can't be: each is at least 1, and the heads divide the width"
            )));
        }
        if layers > MOST_LAYERS {
            return Err(Error::Config(format!(
                "a transformer of {layers} layers can't be planned for; give at most {MOST_LAYERS}"
            )));
        }
        let [h, s, v] = [width, sequence, vocabulary].map(f64::from);
        let table = Block {
            parameters: (v + s) * h,
            input: s,
            kept: s,
            largest: s * h,
            sums: s * h,
            messages: 1.0,
            kernels: 2.0,
            ..Block::default()
        };
        let forward = 24.0 * s * h * h + 4.0 * s * s * h;
        let block = Block {
            parameters: 12.0 * h * h + 13.0 * h,
            forward,
            backward: 2.0 * forward,
            input: s * h,
            kept: 5.0 * s * h,
            kept_split: 12.0 * s * h,
            largest: 4.0 * s * h,
            sums: 2.0 * s * h,
            messages: 2.0,
            kernels: 15.0,
            ..Block::default()
        };
        // Scores and their softmax in f32: two numbers of 16 bits each.
        let scores = Block {
            parameters: 2.0 * h,
            shared: v * h,
            forward: 2.0 * s * h * v,
            backward: 4.0 * s * h * v,
            input: s * h,
            kept: s * h,
            kept_split: 2.0 * s * v,
            largest: s * h,
            sums: s,
            messages: 1.0,
            kernels: 4.0,
            ..Block::default()
        };
        let mut blocks = vec![table];
        blocks.extend(std::iter::repeat_n(block, layers as usize));
        blocks.push(scores);
        Ok(Workload {
            name: name.to_owned(),
            example: format!("sequence of {sequence} tokens"),
            blocks,
            splits: heads as usize,
            precision: Precision::mixed(moves),
        })
    }
}

/// The layers of a residual network: parameters and operations forward of each convolution for an image of 224×224,
/// batch normalisation among them (He et al. 2016, "Deep Residual Learning", table 1; the window of 3×3 takes the step,
/// as libraries have it). `blocks` are the bottlenecks of the four stages: `[3, 4, 6, 3]` is ResNet-50.
pub fn residual(blocks: [usize; 4]) -> Vec<(f64, f64)> {
    let conv = |from: usize, to: usize, size: usize, side: usize| {
        let weights = (from * to * size * size) as f64;
        (weights + 2.0 * to as f64, 2.0 * weights * (side * side) as f64)
    };
    let mut layers = vec![conv(3, 64, 7, 112)];
    let mut from = 64;
    for (stage, count) in blocks.into_iter().enumerate() {
        let (inner, side) = (64 << stage, 56 >> stage);
        let to = 4 * inner;
        for at in 0..count {
            let before = if at == 0 && stage > 0 { 2 * side } else { side };
            layers.push(conv(from, inner, 1, before));
            layers.push(conv(inner, inner, 3, side));
            layers.push(conv(inner, to, 1, side));
            if at == 0 {
                layers.push(conv(from, to, 1, side));
            }
            from = to;
        }
    }
    layers.push((2048.0 * 1000.0 + 1000.0, 2.0 * 2048.0 * 1000.0));
    layers
}
