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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_occurs_twice_gets_both_derivatives() {
        let table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut rows = [0.0; 6];
        forward(&mut rows, &[2, 0, 2], &table, 2);
        assert_eq!(rows, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
        let mut dtable = [0.5; 6];
        backward(&mut dtable, &[1.0, 2.0, 3.0, 4.0, 10.0, 20.0], &[2, 0, 2], 2);
        assert_eq!(dtable, [3.5, 4.5, 0.5, 0.5, 11.5, 22.5]);
    }
}
