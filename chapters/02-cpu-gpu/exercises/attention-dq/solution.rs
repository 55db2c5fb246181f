//! The gradient of the queries of causal attention, over tiles and without atomics.
//!
//! Every tensor has a slice for each head of each sequence, `[heads, length, D]` (FlashAttention: Dao and others, arXiv
//! 2205.14135, algorithm 4; arXiv 2307.08691). The scores are never stored: the logarithm of each row's sum, which the forward
//! pass keeps, is enough to compute them again.
//!
//! A loop over `0..num_tiles` proves its own index. One that ended at the diagonal would not: two checks stayed in the kernel,
//! and the stack for their message. So the tiles beyond the diagonal are met, and passed over.

/// The kernel's module.
#[cutile::module]
pub mod attention_dq {
    use cutile::core::*;

    /// Numbers from `start` on down the rows of a tile, the same in each column.
    fn down<const R: i32, const C: i32>(start: i32) -> Tile<i32, { [R, C] }> {
        let steps: Tile<i32, { [R] }> = iota(shape![R]);
        let numbers: Tile<i32, { [R] }> = steps + broadcast_scalar(start, shape![R]);
        numbers.reshape(shape![R, 1]).broadcast(shape![R, C])
    }

    /// Numbers from `start` on along the columns of a tile, the same in each row.
    fn along<const R: i32, const C: i32>(start: i32) -> Tile<i32, { [R, C] }> {
        let steps: Tile<i32, { [C] }> = iota(shape![C]);
        let numbers: Tile<i32, { [C] }> = steps + broadcast_scalar(start, shape![C]);
        numbers.reshape(shape![1, C]).broadcast(shape![R, C])
    }

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
