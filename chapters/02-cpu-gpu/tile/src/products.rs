//! Products of matrices: programs over whole tiles, with no threads, no shared memory and no
//! barrier in them. Which instruction multiplies, how tiles get to it and who waits for whom is the compiler's to choose.
//!
//! Each program makes the one tile of C that was split off for it, so that no two write the same number. A tile that
//! reaches beyond an edge reads zeros there, and what it stores there is dropped: any size works.
//! `deny_in_kernel_checks` makes the compiler refuse an index that it can neither prove nor check before the launch.

/// Three layouts. The fourth, Aᵀ·B, and a linear layer are exercises.
#[cutile::module]
pub mod products {
    use cutile::core::*;

    // ANCHOR: product
    /// C = A·B.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn product<E: ElementType, const BM: i32, const BN: i32, const BK: i32>(
        c: &mut Tensor<f32, { [BM, BN] }>,
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
    ) {
        let a_tiles = a.partition(shape![BM, BK]);
        let b_tiles = b.partition(shape![BK, BN]);
        let (row, column, _) = get_tile_block_id();
        let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        for i in 0i32..num_tiles(&a_tiles, 1) {
            sum = mma(a_tiles.load([row, i]), b_tiles.load([i, column]), sum);
        }
        c.store(sum);
    }
    // ANCHOR_END: product

    /// C = A·Bᵀ, a layer's forward pass with weights of out×in: a tile of B is read
    /// as it lies, and turned.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn product_nt<E: ElementType, const BM: i32, const BN: i32, const BK: i32>(
        c: &mut Tensor<f32, { [BM, BN] }>,
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
    ) {
        let a_tiles = a.partition(shape![BM, BK]);
        let b_tiles = b.partition(shape![BN, BK]);
        let (row, column, _) = get_tile_block_id();
        let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        for i in 0i32..num_tiles(&a_tiles, 1) {
            let b_tile: Tile<E, { [BK, BN] }> = b_tiles.load([column, i]).transpose();
            sum = mma(a_tiles.load([row, i]), b_tile, sum);
        }
        c.store(sum);
    }

    /// C = Aᵀ·Bᵀ.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn product_tt<E: ElementType, const BM: i32, const BN: i32, const BK: i32>(
        c: &mut Tensor<f32, { [BM, BN] }>,
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
    ) {
        let a_tiles = a.partition(shape![BK, BM]);
        let b_tiles = b.partition(shape![BN, BK]);
        let (row, column, _) = get_tile_block_id();
        let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        for i in 0i32..num_tiles(&a_tiles, 0) {
            let a_tile: Tile<E, { [BM, BK] }> = a_tiles.load([i, row]).transpose();
            let b_tile: Tile<E, { [BK, BN] }> = b_tiles.load([column, i]).transpose();
            sum = mma(a_tile, b_tile, sum);
        }
        c.store(sum);
    }
}
