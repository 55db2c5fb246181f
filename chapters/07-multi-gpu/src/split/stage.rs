//! Some layers of a network that follow each other: what one rank computes when layers are on different ranks.

use super::{
    job::Update,
    tensor::{Block, Pair},
};
use crate::{Communicator, Error, Rank, Result, part_of};
use backprop::{
    activation::{relu, relu_backward},
    mlp::Mlp,
};

/// Which of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of {
    /// The number, from 0.
    pub at: usize,
    /// How many there are.
    pub count: usize,
}

impl Of {
    /// Number `at` of `count`.
    pub fn new(at: usize, count: usize) -> Self {
        Self { at, count }
    }
}

/// A rank's part of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    blocks: Vec<Block>,
    /// The number of its first layer.
    first_layer: usize,
    which: Of,
}

/// What the forward pass leaves for the backward pass: the input of each block, and the hidden units inside it.
#[derive(Clone, Debug)]
pub struct Kept(Vec<(Vec<f32>, Vec<f32>)>);

impl Kept {
    /// How many numbers wait for the backward pass.
    pub fn numbers(&self) -> usize {
        self.0.iter().map(|(input, inside)| input.len() + inside.len()).sum()
    }
}

impl Stage {
    /// Stage `which`; with more than one rank in `tensor`, its layers are cut over them, two by two. An odd layer stays
    /// whole on each rank.
    ///
    /// # Errors
    /// [`Error::Config`] if there are fewer layers than stages.
    pub fn of(model: &Mlp<f32>, which: Of, tensor: Of) -> Result<Self> {
        let layers = part_of(model.layers.len(), Rank(which.at), which.count);
        if layers.is_empty() {
            return Err(Error::Config(format!(
                "{} layers can't be put on {} devices; take {} at most",
                model.layers.len(),
                which.count,
                model.layers.len()
            )));
        }
        let first_layer = layers.start;
        let step = if tensor.count > 1 { 2 } else { 1 };
        let blocks = model.layers[layers].chunks(step).map(|layers| match layers {
            [first, second] => Block::Pair(Pair::of(first, second, Rank(tensor.at), tensor.count)),
            one => Block::Whole(one[0].clone()),
        });
        Ok(Self { blocks: blocks.collect(), first_layer, which })
    }

    /// Which stage it is, from 0.
    pub fn number(&self) -> usize {
        self.which.at
    }

    /// Whether its inputs are the images.
    pub fn is_first(&self) -> bool {
        self.which.at == 0
    }

    /// Whether its outputs are the scores.
    pub fn is_last(&self) -> bool {
        self.which.at + 1 == self.which.count
    }

    /// Numbers that it takes for each image.
    pub fn inputs(&self) -> usize {
        self.blocks.first().map_or(0, Block::inputs)
    }

    /// Numbers that it gives for each image.
    pub fn outputs(&self) -> usize {
        self.blocks.last().map_or(0, Block::outputs)
    }

    /// How many parameters this rank has.
    pub fn parameters(&self) -> usize {
        self.blocks.iter().flat_map(Block::tensors).map(<[f32]>::len).sum()
    }

    /// Its outputs, and what the backward pass needs. `comm` are the ranks that its layers are cut over.
    ///
    /// # Errors
    /// As [`Block::forward`].
    pub fn forward(
        &self,
        mut x: Vec<f32>,
        comm: &mut dyn Communicator,
    ) -> Result<(Vec<f32>, Kept)> {
        let mut kept = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let (mut y, inside) = block.forward(&x, comm)?;
            if at + 1 < self.blocks.len() || !self.is_last() {
                relu(&mut y);
            }
            kept.push((x, inside));
            x = y;
        }
        Ok((x, Kept(kept)))
    }

    /// Adds the gradient of its parameters to `gradient`, and returns the derivatives of its inputs: nothing for the
    /// first stage, whose inputs are images.
    ///
    /// # Errors
    /// As [`Block::backward`].
    pub fn backward(
        &self,
        kept: Kept,
        mut dy: Vec<f32>,
        gradient: &mut [f32],
        comm: &mut dyn Communicator,
    ) -> Result<Vec<f32>> {
        let mut end = gradient.len();
        for (at, (block, (x, inside))) in self.blocks.iter().zip(kept.0).enumerate().rev() {
            let images = at == 0 && self.is_first();
            let (flat, mut dx) = block.backward((&x, &inside), &dy, !images, comm)?;
            if !images {
                relu_backward(&x, &mut dx);
            }
            let sums = &mut gradient[end - flat.len()..end];
            sums.iter_mut().zip(&flat).for_each(|(sum, g)| *sum += g);
            end -= flat.len();
            dy = dx;
        }
        Ok(dy)
    }

    /// Moves its parameters by one step.
    pub fn update(&mut self, update: &mut Update, gradient: &[f32]) {
        let mut flat: Vec<f32> =
            self.blocks.iter().flat_map(Block::tensors).flatten().copied().collect();
        update.step(&mut flat, gradient);
        let mut values = flat.iter();
        for tensor in self.blocks.iter_mut().flat_map(Block::tensors_mut) {
            tensor.iter_mut().zip(&mut values).for_each(|(to, from)| *to = *from);
        }
    }

    /// Writes this rank's numbers to their positions in a network of zeros; see [`Block::write`].
    pub fn write(&self, model: &mut Mlp<f32>, tensor: Of) {
        let mut at = self.first_layer;
        for block in &self.blocks {
            block.write(model, at, Rank(tensor.at), tensor.count);
            at += block.layers();
        }
    }
}
