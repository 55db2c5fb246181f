//! Products of matrices, and a layer made of one: programs over whole tiles, with no threads, no shared memory and no
//! barrier in them. Which instruction multiplies, how tiles get to it and who waits for whom is the compiler's to choose.
//!
//! Each program makes the one tile of C that was split off for it, so that no two write the same number. A tile that
//! reaches beyond an edge reads zeros there, and what it stores there is dropped: any size works.
//! `deny_in_kernel_checks` makes the compiler refuse an index that it can neither prove nor check before the launch.

/// The four layouts, and a linear layer.
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

    /// C = Aᵀ·B, the gradient of a layer's weights.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn product_tn<E: ElementType, const BM: i32, const BN: i32, const BK: i32>(
        c: &mut Tensor<f32, { [BM, BN] }>,
        a: &Tensor<E, { [-1, -1] }>,
        b: &Tensor<E, { [-1, -1] }>,
    ) {
        let a_tiles = a.partition(shape![BK, BM]);
        let b_tiles = b.partition(shape![BK, BN]);
        let (row, column, _) = get_tile_block_id();
        let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        for i in 0i32..num_tiles(&a_tiles, 0) {
            let a_tile: Tile<E, { [BM, BK] }> = a_tiles.load([i, row]).transpose();
            sum = mma(a_tile, b_tiles.load([i, column]), sum);
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

    fn relu<const M: i32, const N: i32>(z: Tile<f32, { [M, N] }>) -> Tile<f32, { [M, N] }> {
        let zero: Tile<f32, { [M, N] }> = constant(0.0f32, shape![M, N]);
        max_tile(z, zero)
    }

    /// The approximation by `tanh` (Hendrycks and Gimpel, arXiv 1606.08415, part 2).
    fn gelu<const M: i32, const N: i32>(z: Tile<f32, { [M, N] }>) -> Tile<f32, { [M, N] }> {
        let half: Tile<f32, { [M, N] }> = constant(0.5f32, shape![M, N]);
        let one: Tile<f32, { [M, N] }> = constant(1.0f32, shape![M, N]);
        let cubic: Tile<f32, { [M, N] }> = constant(0.044715f32, shape![M, N]);
        let scale: Tile<f32, { [M, N] }> = constant(0.797_884_6f32, shape![M, N]);
        half * z * (one + tanh(scale * (z + cubic * z * z * z)))
    }

    /// y = activation(x·Wᵀ + bias) in bf16, and the sum before the activation,
    /// which the backward pass needs.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn linear<const BM: i32, const BN: i32, const BK: i32, const GELU: i32>(
        y: &mut Tensor<bf16, { [BM, BN] }>,
        before: &mut Tensor<bf16, { [BM, BN] }>,
        x: &Tensor<bf16, { [-1, -1] }>,
        w: &Tensor<bf16, { [-1, -1] }>,
        bias: &Tensor<bf16, { [-1] }>,
    ) {
        let x_tiles = x.partition(shape![BM, BK]);
        let w_tiles = w.partition(shape![BN, BK]);
        let (row, column, _) = get_tile_block_id();
        let mut z: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        for i in 0i32..num_tiles(&x_tiles, 1) {
            let w_tile: Tile<bf16, { [BK, BN] }> = w_tiles.load([column, i]).transpose();
            z = mma(x_tiles.load([row, i]), w_tile, z);
        }
        let bias_tile: Tile<f32, { [BN] }> =
            convert_tile(bias.partition(shape![BN]).load([column]));
        z = z + bias_tile.reshape(shape![1, BN]).broadcast(shape![BM, BN]);
        let z_short: Tile<bf16, { [BM, BN] }> = convert_tile(z);
        before.store(z_short);
        if GELU == 1i32 {
            z = gelu(z);
        } else {
            z = relu(z);
        }
        let y_short: Tile<bf16, { [BM, BN] }> = convert_tile(z);
        y.store(y_short);
    }
}
