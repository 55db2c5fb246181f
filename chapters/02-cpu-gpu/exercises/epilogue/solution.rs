//! A linear layer over tiles, in one kernel: product, bias, activation.

/// The kernel's module.
#[cutile::module]
pub mod epilogue {
    use cutile::core::*;

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
    /// which the backward pass needs. The activation is GELU if `GELU` is 1,
    /// else ReLU.
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
        // EXERCISE: begin
        let bias_tile: Tile<f32, { [BN] }> =
            convert_tile(bias.partition(shape![BN]).load([column]));
        z = z + bias_tile.reshape(shape![1, BN]).broadcast(shape![BM, BN]);
        // EXERCISE: instead
        // // The bias, which has a number for each column of y.
        // EXERCISE: end
        let z_short: Tile<bf16, { [BM, BN] }> = convert_tile(z);
        before.store(z_short);
        // EXERCISE: begin
        if GELU == 1i32 {
            z = gelu(z);
        } else {
            z = relu(z);
        }
        // EXERCISE: instead
        // // The activation.
        // EXERCISE: end
        let y_short: Tile<bf16, { [BM, BN] }> = convert_tile(z);
        y.store(y_short);
    }
}
