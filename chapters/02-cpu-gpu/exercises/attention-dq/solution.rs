//! The gradient of the queries of causal attention, over tiles and without atomics.

/// The kernel's module.
#[cutile::module]
pub mod attention_dq {
    use cutile::core::*;
    use tile::attention::attention::{along, down};

    /// dQ: a program owns one tile of queries, and goes through the keys.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn attention_dq<const BM: i32, const BN: i32, const D: i32>(
        dq: &mut Tensor<bf16, { [1, BM, D] }>,
        q: &Tensor<bf16, { [-1, -1, D] }>,
        k: &Tensor<bf16, { [-1, -1, D] }>,
        v: &Tensor<bf16, { [-1, -1, D] }>,
        dout: &Tensor<bf16, { [-1, -1, D] }>,
        log_sums: &Tensor<f32, { [-1, -1] }>,
        dots: &Tensor<f32, { [-1, -1] }>,
        scale: f32,
    ) {
        let (head, i, _) = get_tile_block_id();
        let k_tiles = k.partition(shape![1, BN, D]);
        let v_tiles = v.partition(shape![1, BN, D]);
        let q_tile: Tile<bf16, { [BM, D] }> =
            q.partition(shape![1, BM, D]).load([head, i, 0i32]).reshape(shape![BM, D]);
        let dout_tile: Tile<bf16, { [BM, D] }> =
            dout.partition(shape![1, BM, D]).load([head, i, 0i32]).reshape(shape![BM, D]);
        let log_sum: Tile<f32, { [BM, BN] }> = log_sums
            .partition(shape![1, BM])
            .load([head, i])
            .reshape(shape![BM, 1])
            .broadcast(shape![BM, BN]);
        // EXERCISE: begin
        let dot: Tile<f32, { [BM, BN] }> = dots
            .partition(shape![1, BM])
            .load([head, i])
            .reshape(shape![BM, 1])
            .broadcast(shape![BM, BN]);
        // EXERCISE: instead
        // // The dots, as the logarithms above: one for each query, so for each row.
        // EXERCISE: end
        let scales: Tile<f32, { [BM, BN] }> = broadcast_scalar(scale, shape![BM, BN]);
        let zero: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        let mut dq_sum: Tile<f32, { [BM, D] }> = constant(0.0f32, shape![BM, D]);
        for j in 0i32..num_tiles(&k_tiles, 1) {
            if j * BN < (i + 1i32) * BM {
                let k_tile: Tile<bf16, { [BN, D] }> =
                    k_tiles.load([head, j, 0i32]).reshape(shape![BN, D]);
                let v_tile: Tile<bf16, { [BN, D] }> =
                    v_tiles.load([head, j, 0i32]).reshape(shape![BN, D]);
                let scores: Tile<f32, { [BM, BN] }> =
                    mma(q_tile, k_tile.transpose(), zero) * scales;
                let queries: Tile<i32, { [BM, BN] }> = down::<BM, BN>(i * BM);
                let keys: Tile<i32, { [BM, BN] }> = along::<BM, BN>(j * BN);
                // EXERCISE: begin
                let softmax: Tile<f32, { [BM, BN] }> =
                    select(ge_tile(queries, keys), exp(scores - log_sum), zero);
                let dsoftmax: Tile<f32, { [BM, BN] }> = mma(dout_tile, v_tile.transpose(), zero);
                let dscores: Tile<bf16, { [BM, BN] }> =
                    convert_tile(softmax * (dsoftmax - dot) * scales);
                // EXERCISE: instead
                // // The softmax from `scores` and `log_sum`, no key behind its query; its gradient from
                // // dout and V; and from both the gradient of the scores, times their factor. Not yet:
                // let dscores: Tile<bf16, { [BM, BN] }> = convert_tile(scores);
                // EXERCISE: end
                dq_sum = mma(dscores, k_tile, dq_sum);
            }
        }
        let short: Tile<bf16, { [BM, D] }> = convert_tile(dq_sum);
        dq.store(short.reshape(shape![1, BM, D]));
    }
}
