//! A linear layer: y = x·W, without a bias.

use crate::{
    ops::{Backward, Op},
    params::Params,
    program::Epilogue,
    record::Recorder,
    tensor::{Matrix, Tensor},
};

/// y = x·W.
pub struct Linear {
    name: String,
    weight: Matrix,
}

impl Linear {
    /// With weights of its own, [inputs, outputs], which bear its name.
    pub fn new(params: &mut Params, name: &str, shape: [usize; 2]) -> Self {
        let weight = params.uniform(name, shape, 1.0 / (shape[0] as f64).sqrt()).into();
        Self { name: name.to_owned(), weight }
    }

    /// With another operation's weights, [outputs, inputs].
    pub fn tied(name: &str, weight: Tensor) -> Self {
        Self { name: name.to_owned(), weight: weight.t() }
    }
}

impl Op for Linear {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (Matrix { tensor: w, transposed, .. }, (inputs, outputs)) =
            (self.weight, self.weight.shape());
        let x = cx.rows_of(x, inputs);
        let (y, read, own) = (cx.tensor(x.rows, outputs), cx.operand(x), cx.operand(w));
        let seen = move |transposed| if transposed { own.t() } else { own.into() };
        cx.product(y, read, seen(transposed), Epilogue::default());
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dy = cx.operand_gradient(dy);
            if transposed {
                cx.product(w.gradient(), dy.t(), read, Epilogue::default());
            } else {
                cx.product(w.gradient(), read.t(), dy, Epilogue::default());
            }
            (!x.constant).then(|| {
                let dx = cx.like(x);
                cx.product(dx, dy, seen(!transposed), Epilogue::default());
                dx
            })
        };
        (y, Box::new(backward))
    }
}
