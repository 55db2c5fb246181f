//! What every optimizer does: move a model's parameters, once for each batch.

use crate::mlp::{Gradient, Mlp};

/// A rule with its memory.
pub trait Optimizer<T> {
    /// Moves the parameters of `model` by one step; `gradient` is a gradient of that model.
    fn update(&mut self, model: &mut Mlp<T>, gradient: &Gradient<T>);
    /// The learning rate, for the message when a run diverges.
    fn lr(&self) -> f64;
}
