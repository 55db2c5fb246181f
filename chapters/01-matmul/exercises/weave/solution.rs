//! A tile of B for the matrix unit.

use matmul::bf16::Input;

/// Rows of a tile, and words of 32 bits in a row.
pub const SIDE: usize = 16;

/// What a tile register holds. Each word is two numbers in bf16.
pub type Tile = [[u32; SIDE]; SIDE];

/// Two terms in one word, the first in its lower half. Each is rounded to bf16.
pub fn word(first: f32, second: f32) -> u32 {
    u32::from(first.bits()) | u32::from(second.bits()) << 16
}

/// Packs up to 16 rows of A, which have k ≤ 32 terms each: word p of row i has the terms 2p and 2p + 1 of
/// row i. What is not there is zero.
pub fn pack_a(a: &[f32], k: usize) -> Tile {
    let mut tile = Tile::default();
    for (to, row) in tile.iter_mut().zip(a.chunks(k)) {
        for (to, pair) in to.iter_mut().zip(row.chunks(2)) {
            *to = word(pair[0], pair.get(1).copied().unwrap_or(0.0));
        }
    }
    tile
}

/// Packs up to 32 rows of B, which have n ≤ 16 columns: word j of row p has the terms 2p and 2p + 1 of
/// column j. What is not there is zero.
pub fn pack_b(b: &[f32], n: usize) -> Tile {
    // EXERCISE: begin
    let mut tile = Tile::default();
    for (to, two) in tile.iter_mut().zip(b.chunks(2 * n)) {
        let (even, odd) = two.split_at(n);
        for (j, (to, first)) in to.iter_mut().zip(even).enumerate() {
            *to = word(*first, odd.get(j).copied().unwrap_or(0.0));
        }
    }
    tile
    // EXERCISE: instead
    // pack_a(b, n) // pairs of neighbours in a row, as in A
    // EXERCISE: end
}
