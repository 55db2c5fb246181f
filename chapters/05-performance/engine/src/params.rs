//! The parameters: one flat buffer, and a name and a range for each tensor. Checkpoint, all-reduce, clipping and the update
//! are loops over one buffer.

use crate::tensor::{Place, Tensor};
use lab::random::SplitMix64;
use std::ops::Range;

/// Tensors begin at multiples of this many words, 256 bytes: a device may want it, and a cut for ranks can follow it.
pub(crate) const ALIGN: usize = 64;

/// What the buffer's length is a multiple of, so that every pass over it has equal parts.
pub const WHOLE: usize = 1024;

/// A tensor of a model, with the name that chapter 4's model of the same kind gives it.
#[derive(Clone, Debug)]
pub struct Named {
    /// `dense.0.weight`.
    pub name: String,
    /// Where it lies: in [`Place::Params`], or in [`Place::Kept`] if it is not learned.
    pub tensor: Tensor,
    /// Whether files have its rows as columns: chapter 4's dense layers keep (outputs, inputs), and a product wants (inputs,
    /// outputs).
    pub turned: bool,
}

/// All parameters of a model. The gap behind a tensor stays zero: its gradient is zero.
#[derive(Clone, Debug)]
pub struct Params {
    /// In the order in which the model names them.
    pub tensors: Vec<Named>,
    /// First values of what is learned, in the buffer's layout, until a step has them.
    pub values: Vec<f32>,
    /// Words of what is learned.
    len: usize,
    /// First values of what is kept.
    pub kept: Vec<f32>,
    random: SplitMix64,
}

impl Params {
    /// No tensors yet; first values come from this seed.
    pub fn new(seed: u64) -> Self {
        let random = SplitMix64::new(seed);
        Self { tensors: Vec::new(), values: Vec::new(), len: 0, kept: Vec::new(), random }
    }

    /// A tensor of `rows`×`cols`, uniform in ±bound.
    pub fn uniform(&mut self, name: &str, [rows, cols]: [usize; 2], bound: f64) -> Tensor {
        let tensor = self.add(name, Place::Params, [rows, cols]);
        for at in tensor.start..tensor.start + tensor.words() {
            let below_1 = self.random.next() as f64 / 2.0_f64.powi(64);
            self.values[at] = ((2.0 * below_1 - 1.0) * bound) as f32;
        }
        tensor
    }

    /// [`Params::uniform`], which files have with rows as columns.
    pub fn turned(&mut self, name: &str, shape: [usize; 2], bound: f64) -> Tensor {
        let tensor = self.uniform(name, shape, bound);
        self.tensors.last_mut().expect("it was added just now").turned = true;
        tensor
    }

    /// A row of `cols` equal values.
    pub fn constant(&mut self, name: &str, cols: usize, value: f32) -> Tensor {
        let tensor = self.add(name, Place::Params, [1, cols]);
        self.values[tensor.start..tensor.start + cols].fill(value);
        tensor
    }

    /// A row of `cols` equal values that are kept and not learned.
    pub fn keep(&mut self, name: &str, cols: usize, value: f32) -> Tensor {
        let tensor = self.add(name, Place::Kept, [1, cols]);
        self.kept[tensor.start..tensor.start + cols].fill(value);
        tensor
    }

    /// What lies in a range of the buffer, and in one of what is kept: they begin at its tensors.
    #[must_use]
    pub fn part(&self, learned: Range<usize>, kept: Range<usize>) -> Self {
        let part = |place| if place == Place::Kept { &kept } else { &learned };
        let inside = |named: &&Named| part(named.tensor.place).contains(&named.tensor.start);
        let moved = |named: &Named| {
            let start = named.tensor.start - part(named.tensor.place).start;
            Named { tensor: Tensor { start, ..named.tensor }, ..named.clone() }
        };
        Self {
            tensors: self.tensors.iter().filter(inside).map(moved).collect(),
            values: self.values[learned.start..learned.end.min(self.values.len())].to_vec(),
            len: learned.end.min(self.len) - learned.start,
            kept: self.kept[kept.clone()].to_vec(),
            random: self.random.clone(),
        }
    }

    /// Words of the buffer.
    pub fn words(&self) -> usize {
        self.len.next_multiple_of(WHOLE)
    }

    /// The first values, which are then nobody else's.
    pub fn first_values(&mut self) -> Vec<f32> {
        std::mem::take(&mut self.values)
    }

    /// All of a buffer with the parameters' layout, or of what is kept.
    pub fn all(&self, place: Place) -> Tensor {
        let words = if place == Place::Kept { self.kept.len() } else { self.words() };
        Tensor::new(place, 0, 1, words)
    }

    /// Numbers that are learned.
    pub fn learned(&self) -> usize {
        let learned = self.tensors.iter().filter(|named| named.tensor.place == Place::Params);
        learned.map(|named| named.tensor.words()).sum()
    }

    fn add(&mut self, name: &str, place: Place, [rows, cols]: [usize; 2]) -> Tensor {
        let values = if place == Place::Kept { &mut self.kept } else { &mut self.values };
        let tensor = Tensor::new(place, values.len(), rows, cols);
        values.resize((tensor.start + tensor.words()).next_multiple_of(ALIGN), 0.0);
        self.len = self.values.len();
        let name = name.trim_start_matches('.').to_owned(); // of a model that is one layer
        self.tensors.push(Named { name, tensor, turned: false });
        tensor
    }
}

impl Named {
    /// Its values as a file has them, from those of its place.
    pub fn to_file(&self, place: &[f32], file: &mut Vec<f32>) {
        let values = &place[self.tensor.start..][..self.tensor.words()];
        let Tensor { rows, cols, .. } = self.tensor;
        if self.turned {
            file.extend(
                (0..cols).flat_map(|col| (0..rows).map(move |row| values[row * cols + col])),
            );
        } else {
            file.extend_from_slice(values);
        }
    }

    /// Its values in its place, from those of a file, of which it takes the first.
    pub fn from_file(&self, file: &mut &[f32], place: &mut [f32]) {
        let Tensor { start, rows, cols, .. } = self.tensor;
        let (own, rest) = file.split_at(rows * cols);
        *file = rest;
        let values = &mut place[start..][..rows * cols];
        if self.turned {
            for (at, value) in values.iter_mut().enumerate() {
                *value = own[at % cols * rows + at / cols];
            }
        } else {
            values.copy_from_slice(own);
        }
    }
}
