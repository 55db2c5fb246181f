//! Embedding: a token's row of the table. The same table, transposed, makes the scores at the end (tied weights: Press and
//! Wolf 2017, "Using the Output Embedding to Improve Language Models").

/// Copies each token's row of `table` ([vocabulary, width]) to `rows` ([tokens, width]). Every token must be in the table.
// ANCHOR: embedding
pub fn forward(rows: &mut [f32], tokens: &[u32], table: &[f32], width: usize) {
    for (row, token) in rows.chunks_exact_mut(width).zip(tokens) {
        row.copy_from_slice(&table[*token as usize * width..][..width]);
    }
}
// ANCHOR_END: embedding

/// Adds each row's derivatives to those of its token.
pub fn backward(dtable: &mut [f32], drows: &[f32], tokens: &[u32], width: usize) {
    for (drow, token) in drows.chunks_exact(width).zip(tokens) {
        let to = &mut dtable[*token as usize * width..][..width];
        to.iter_mut().zip(drow).for_each(|(to, d)| *to += d);
    }
}
