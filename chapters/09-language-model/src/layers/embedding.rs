//! Embedding: a token's row of the table. The same table, transposed, makes the scores at the end (tied weights: Press and
//! Wolf 2017, "Using the Output Embedding to Improve Language Models").

use engine::{
    device::Launch,
    ops::{Backward, Op},
    params::Params,
    record::Recorder,
    tensor::Tensor,
    words::whole,
};

/// `embedding.cl`.
const EMBEDDING: &str = include_str!("../../kernels/embedding.cl");

/// Copies each token's row of `table` ([vocabulary, width]) to `rows` ([tokens, width]). Every token must be in the table.
// ANCHOR: embedding
pub fn forward(rows: &mut [f32], tokens: &[u32], table: &[f32], width: usize) {
    for (row, token) in rows.chunks_exact_mut(width).zip(tokens) {
        row.copy_from_slice(&table[*token as usize * width..][..width]);
    }
}
// ANCHOR_END: embedding

/// Adds each row's derivatives to those of its token, if `dtable`, which begins with token `first`, has it.
pub fn backward(dtable: &mut [f32], first: usize, drows: &[f32], tokens: &[u32], width: usize) {
    let mut dtable: Vec<&mut [f32]> = dtable.chunks_exact_mut(width).collect();
    for (drow, token) in drows.chunks_exact(width).zip(tokens) {
        if let Some(to) = dtable.get_mut((*token as usize).wrapping_sub(first)) {
            to.iter_mut().zip(drow).for_each(|(to, d)| *to += d);
        }
    }
}

/// A row of the table for each token.
pub struct Embedding {
    /// [vocabulary, width].
    pub table: Tensor,
}

impl Embedding {
    /// For so many tokens, and rows of so many numbers.
    pub fn new(params: &mut Params, name: &str, shape: [usize; 2]) -> Self {
        Self { table: params.uniform(name, shape, 0.02) }
    }
}

impl Op for Embedding {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let Tensor { rows: vocabulary, cols: width, .. } = self.table;
        let (table, y) = (self.table, cx.tensor(x.rows, width));
        let reads = [x.by_rows(), table.whole()];
        cx.rows("look up", x.rows, reads, [y.by_rows()], move |_, [tokens, table], [y]| {
            forward(y, whole(tokens), table, width);
        })
        .launches(Launch::each(EMBEDDING, "look_up", y.words()).with(&[width]));
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let (to, reads) = (table.gradient(), [x.whole(), dy.whole()]);
            let adds = cx.adds(to);
            let grid = [vocabulary, width.div_ceil(64)];
            let launch = Launch::new(EMBEDDING, "add_up", grid, [64, 1]);
            // A block has some tokens' rows, and looks for them in the whole batch.
            cx.rows("add up", vocabulary, reads, [to.by_rows()], move |first, [x, dy], [to]| {
                if !adds {
                    to.fill(0.0);
                }
                backward(to, first, dy, whole(x), width);
            })
            .launches(launch.with(&[x.rows, width, usize::from(adds)]));
            None
        };
        (y, Box::new(backward))
    }
}
