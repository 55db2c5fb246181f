//! C = Aᵀ·B over tiles, the gradient of a layer's weights.

/// The kernel's module.
#[cutile::module]
pub mod product_tn {
    use cutile::core::*;

    /// C = Aᵀ·B, where A lies as k×m and B as k×n.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn product_tn<E: ElementType, const BM: i32, const BN: i32, const BK: i32>(
        c: &mut Tensor<f32, { [BM, BN] }>,
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
    ) {
        // EXERCISE: begin
        let a_tiles = a.partition(shape![BK, BM]);
        // EXERCISE: instead
        // let a_tiles = a.partition(shape![BM, BK]);
        // EXERCISE: end
        let b_tiles = b.partition(shape![BK, BN]);
        let (row, column, _) = get_tile_block_id();
        let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        // EXERCISE: begin
        for i in 0i32..num_tiles(&a_tiles, 0) {
            let a_tile: Tile<E, { [BM, BK] }> = a_tiles.load([i, row]).transpose();
            sum = mma(a_tile, b_tiles.load([i, column]), sum);
        }
        // EXERCISE: instead
        // for i in 0i32..num_tiles(&a_tiles, 1) {
        //     sum = mma(a_tiles.load([row, i]), b_tiles.load([i, column]), sum);
        // }
        // EXERCISE: end
        c.store(sum);
    }
}
