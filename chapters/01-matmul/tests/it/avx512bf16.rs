use matmul::avx512bf16::{COLS, PACK, ROWS};
use matmul::simd::Level;

#[test]
fn the_tile_is_that_of_avx512() {
    assert_eq!(Level::Avx512.tile(), (ROWS, COLS));
}

#[test]
fn pairs_lie_where_the_kernel_reads_them() {
    // 2×3 and 3×2, in small whole numbers, which are bf16 themselves.
    let halves = |word: f32| {
        let bits = word.to_bits();
        [bits << 16, bits & 0xffff_0000].map(f32::from_bits)
    };
    let ([pack_a, pack_b], mut to) = (PACK, Vec::new());
    pack_a(&mut to, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2, 3);
    let at = |p: usize, i: usize| halves(to[p * ROWS + i]);
    assert_eq!([at(0, 0), at(0, 1)], [[1.0, 2.0], [4.0, 5.0]]);
    assert_eq!([at(1, 0), at(1, 1)], [[3.0, 0.0], [6.0, 0.0]]);
    pack_b(&mut to, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, 2);
    let at = |p: usize, j: usize| halves(to[p * COLS + j]);
    assert_eq!([at(0, 0), at(0, 1)], [[1.0, 3.0], [2.0, 4.0]]);
    assert_eq!([at(1, 0), at(1, 1)], [[5.0, 0.0], [6.0, 0.0]]);
}
