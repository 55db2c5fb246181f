//! A learned row for each place in a sequence, added to what is there: where it is.

use crate::{
    ops::{Backward, Op, dense::column_sums, residual::add},
    params::Params,
    record::Recorder,
    tensor::Tensor,
};

/// What is added to an image's rows.
pub struct Position(Tensor);

impl Position {
    /// For `tokens` rows of `width` numbers.
    pub fn new(params: &mut Params, name: &str, [tokens, width]: [usize; 2]) -> Self {
        Self(params.uniform(name, [tokens, width], 0.03))
    }
}

impl Op for Position {
    fn name(&self) -> &'static str {
        "position"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let own = self.0;
        // One row is added to all of an image's.
        let rows = if own.rows == 1 { x.rows / cx.pass.rows } else { own.rows };
        let x = cx.images_of(x, [rows, own.cols]);
        let y = add(cx, x, own.whole());
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let row = own.shaped(1, own.words());
            column_sums(cx, dy.shaped(dy.words() / row.cols, row.cols), 0, row);
            Some(dy)
        };
        (y, Box::new(backward))
    }
}
