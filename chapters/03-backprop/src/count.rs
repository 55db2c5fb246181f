//! Counting before running: the parameters, operations and kept values of a described model.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// One layer, as a description file names it: `"relu"`, or `{"dense": {"units": 128}}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Layer {
    /// A weighted sum of all inputs and a bias for each unit.
    Dense {
        /// Outputs.
        units: usize,
    },
    /// A weighted sum of a window in all channels, at each position, and a bias for each output channel.
    Conv {
        /// Output channels.
        channels: usize,
        /// Height and width of the window.
        size: usize,
        /// From one window to the next.
        #[serde(default = "one")]
        stride: usize,
        /// Zeros around the image.
        #[serde(default)]
        padding: usize,
    },
    /// The largest number of each window; the next window starts where the last one ends.
    Pool {
        /// Height and width of the window.
        size: usize,
    },
    /// What is below zero becomes zero.
    Relu,
    /// Channels, rows and columns become one row.
    Flatten,
    /// In training, this fraction of the values is left out.
    Dropout {
        /// The fraction, from 0 up to, not including, 1.
        rate: f64,
    },
}

fn one() -> usize {
    1
}

impl Layer {
    /// One word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Dense { .. } => "dense",
            Self::Conv { .. } => "conv",
            Self::Pool { .. } => "pool",
            Self::Relu => "relu",
            Self::Flatten => "flatten",
            Self::Dropout { .. } => "dropout",
        }
    }
}

/// A model as a list of layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What it is called.
    pub name: String,
    /// One image: `[channels, rows, columns]`, or `[numbers]`.
    pub input: Vec<usize>,
    /// From the input to the scores.
    pub layers: Vec<Layer>,
}

/// What one layer needs for one image.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is.
    pub kind: &'static str,
    /// The shape of its output.
    pub output: Vec<usize>,
    /// Weights and biases.
    pub parameters: u64,
    /// Operations of its product forward.
    pub forward: f64,
    /// Operations of its products backward: as many again for the weights, and as many for the input, which
    /// the first layer with weights does not need.
    pub backward: f64,
    /// Numbers that are kept for the backward pass.
    pub kept: u64,
    /// Values of the unrolled image, if it is a convolution (see [`crate::conv`]).
    pub unrolled: u64,
}

/// What a model needs for one image.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Its name.
    pub name: String,
    /// Values of one image.
    pub input: u64,
    /// Layer by layer.
    pub rows: Vec<Row>,
    /// Weights and biases.
    pub parameters: u64,
    /// Operations forward.
    pub forward: f64,
    /// Operations backward.
    pub backward: f64,
    /// Values that are kept for the backward pass, the image among them.
    pub kept: u64,
    /// The largest output of any layer: the backward pass keeps two such at a time.
    pub largest: u64,
    /// The largest unrolled image.
    pub unrolled: u64,
}

impl Model {
    /// `vgg16`, `mlp` (the article's 784-128-10 with dropout), or sizes such as `784-512-128-10`.
    ///
    /// # Errors
    /// [`Error::Config`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "vgg16" => return Ok(Self::vgg16()),
            "mlp" => {
                let mut model = Self::mlp(&[784, 128, 10])?;
                model.layers.insert(2, Layer::Dropout { rate: 0.2 });
                return Ok(Self { name: name.to_owned(), ..model });
            }
            _ => {}
        }
        let sizes: Option<Vec<usize>> = name.split('-').map(|size| size.parse().ok()).collect();
        sizes.map_or_else(
            || {
                Err(Error::Config(format!(
                    "there is no model `{name}`; give vgg16, mlp, sizes such as 784-128-10, a transformer such as gpt-7b, or a file that ends in .json"
                )))
            },
            |sizes| Self::mlp(&sizes),
        )
    }

    /// Dense layers with `ReLU` between them.
    ///
    /// # Errors
    /// [`Error::Config`] with fewer than two sizes, or a size of 0.
    pub fn mlp(sizes: &[usize]) -> Result<Self> {
        crate::mlp::check_sizes(sizes)?;
        let mut layers = Vec::new();
        for units in &sizes[1..] {
            layers.extend([Layer::Dense { units: *units }, Layer::Relu]);
        }
        layers.pop();
        let name = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("-");
        Ok(Self { name, input: vec![sizes[0]], layers })
    }

    /// VGG16 for images of 224×224 (Simonyan and Zisserman 2015, "Very deep convolutional networks for
    /// large-scale image recognition", table 1, column D).
    pub fn vgg16() -> Self {
        let mut layers = Vec::new();
        for (channels, times) in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)] {
            for _ in 0..times {
                layers.push(Layer::Conv { channels, size: 3, stride: 1, padding: 1 });
                layers.push(Layer::Relu);
            }
            layers.push(Layer::Pool { size: 2 });
        }
        layers.push(Layer::Flatten);
        for units in [4096, 4096] {
            layers.extend([Layer::Dense { units }, Layer::Relu, Layer::Dropout { rate: 0.5 }]);
        }
        layers.push(Layer::Dense { units: 1000 });
        Self { name: "vgg16".to_owned(), input: vec![3, 224, 224], layers }
    }

    /// A model from the text of a description file.
    ///
    /// # Errors
    /// [`Error::Config`] if it is not one.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| {
            Error::Config(format!(
                "this describes no model ({e}); one looks like {{\"name\": \"mine\", \"input\": [784], \"layers\": [{{\"dense\": {{\"units\": 128}}}}, \"relu\", {{\"dense\": {{\"units\": 10}}}}]}}"
            ))
        })
    }

    /// What it needs for one image.
    ///
    /// # Errors
    /// [`Error::Layer`] where a layer can't take what the one before gives, [`Error::Config`] without an
    /// input or layers.
    pub fn count(&self) -> Result<Counts> {
        if self.input.is_empty() || self.input.contains(&0) || self.layers.is_empty() {
            return Err(Error::Config(format!(
                "{} has no input or no layers; an input is [channels, rows, columns] or [numbers]",
                self.name
            )));
        }
        let mut rows: Vec<Row> = Vec::new();
        let mut shape = self.input.clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let first = rows.iter().all(|row| row.parameters == 0);
            let row = layer.count(&shape, first).map_err(|why| Error::Layer {
                layer: at + 1,
                kind: layer.kind(),
                why,
            })?;
            shape.clone_from(&row.output);
            rows.push(row);
        }
        let input = numbers(&self.input).unwrap_or(0);
        let outputs = rows.iter().filter_map(|row| numbers(&row.output));
        Ok(Counts {
            name: self.name.clone(),
            input,
            parameters: rows.iter().map(|row| row.parameters).sum(),
            forward: rows.iter().map(|row| row.forward).sum(),
            backward: rows.iter().map(|row| row.backward).sum(),
            kept: input + rows.iter().map(|row| row.kept).sum::<u64>(),
            largest: outputs.max().unwrap_or(0).max(input),
            unrolled: rows.iter().map(|row| row.unrolled).max().unwrap_or(0),
            rows,
        })
    }
}

/// How many values a shape has, unless there are too many to count.
fn numbers(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, n| product.checked_mul(*n as u64))
}

/// How many windows there are along a side.
pub(crate) fn windows(side: usize, size: usize, stride: usize, padding: usize) -> Option<usize> {
    let padded = side.checked_add(padding.checked_mul(2)?)?;
    if size == 0 || stride == 0 {
        return None;
    }
    Some(padded.checked_sub(size)? / stride + 1)
}

impl Layer {
    fn count(&self, shape: &[usize], first: bool) -> Result<Row, String> {
        const MANY: &str = "there are too many numbers to count";
        let image = || match *shape {
            [channels, rows, cols] => Ok((channels, rows, cols)),
            _ => Err(format!("it needs [channels, rows, columns], and gets {shape:?}")),
        };
        let given = numbers(shape).ok_or(MANY)?;
        let mut row = Row {
            kind: self.kind(),
            output: shape.to_vec(),
            parameters: 0,
            forward: 0.0,
            backward: 0.0,
            kept: 0,
            unrolled: 0,
        };
        match *self {
            Self::Dense { units } => {
                let &[inputs] = shape else {
                    return Err(format!(
                        "it needs one row, and gets {shape:?}; put a flatten before it"
                    ));
                };
                if units == 0 {
                    return Err("it has no units".to_owned());
                }
                row.output = vec![units];
                row.parameters = numbers(&[inputs, units])
                    .and_then(|w| w.checked_add(units as u64))
                    .ok_or(MANY)?;
                row.forward = 2.0 * inputs as f64 * units as f64;
                row.kept = units as u64;
            }
            Self::Conv { channels, size, stride, padding } => {
                let (inputs, height, width) = image()?;
                let place = |side| windows(side, size, stride, padding).filter(|_| channels > 0);
                let (Some(height), Some(width)) = (place(height), place(width)) else {
                    return Err(format!(
                        "windows of {size}×{size}, {stride} apart, do not fit into {shape:?}"
                    ));
                };
                row.output = vec![channels, height, width];
                let weights = numbers(&[channels, inputs, size, size]).ok_or(MANY)?;
                row.parameters = weights.checked_add(channels as u64).ok_or(MANY)?;
                row.forward = 2.0 * weights as f64 * height as f64 * width as f64;
                row.kept = numbers(&row.output).ok_or(MANY)?;
                row.unrolled = numbers(&[inputs, size, size, height, width]).ok_or(MANY)?;
            }
            Self::Pool { size } => {
                let (channels, height, width) = image()?;
                let place = |side| windows(side, size, size, 0);
                let (Some(height), Some(width)) = (place(height), place(width)) else {
                    return Err(format!("windows of {size}×{size} do not fit into {shape:?}"));
                };
                row.output = vec![channels, height, width];
                // The largest number of each window, and which one it was.
                row.kept = numbers(&row.output).and_then(|n| n.checked_mul(2)).ok_or(MANY)?;
            }
            Self::Relu => {} // in place: a number that is zero was cut off
            Self::Flatten => row.output = vec![given as usize],
            Self::Dropout { rate } => {
                crate::dropout::Dropout::new(rate).map_err(|e| e.to_string())?;
                row.kept = given;
            }
        }
        row.backward = row.forward * if first { 1.0 } else { 2.0 };
        Ok(row)
    }
}
