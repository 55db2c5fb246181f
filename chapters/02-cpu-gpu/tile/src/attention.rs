//! Causal attention in tiles, forward and backward (FlashAttention: Dao and others, arXiv 2205.14135, algorithms 1 and 4;
//! arXiv 2307.08691). Every tensor has a slice for each head of each sequence, `[heads, length, D]`.
//!
//! The scores are never stored: the forward pass keeps of each row the logarithm of its sum, from which the backward
//! passes compute them again. No two programs add to one place, and there are no atomics: one kernel owns tiles of keys
//! and values and goes through the queries, another, an exercise, owns tiles of queries and goes through the keys.
//!
//! A loop over `0..num_tiles` proves its own index. One that ended at the diagonal would not: two checks stayed in the
//! kernel, and the stack for their message. So the tiles beyond the diagonal are met, and passed over.

/// The kernels.
#[cutile::module]
pub mod attention {
    use cutile::core::*;

    /// Numbers from `start` on down the rows of a tile, the same in each column.
    pub fn down<const R: i32, const C: i32>(start: i32) -> Tile<i32, { [R, C] }> {
        let steps: Tile<i32, { [R] }> = iota(shape![R]);
        let numbers: Tile<i32, { [R] }> = steps + broadcast_scalar(start, shape![R]);
        numbers.reshape(shape![R, 1]).broadcast(shape![R, C])
    }

    /// Numbers from `start` on along the columns of a tile, the same in each row.
    pub fn along<const R: i32, const C: i32>(start: i32) -> Tile<i32, { [R, C] }> {
        let steps: Tile<i32, { [C] }> = iota(shape![C]);
        let numbers: Tile<i32, { [C] }> = steps + broadcast_scalar(start, shape![C]);
        numbers.reshape(shape![1, C]).broadcast(shape![R, C])
    }

    /// The output, and the logarithm of each row's sum.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn attention<const BM: i32, const BN: i32, const D: i32>(
        out: &mut Tensor<bf16, { [1, BM, D] }>,
        log_sums: &mut Tensor<f32, { [1, BM] }>,
        q: &Tensor<bf16, { [-1, -1, D] }>,
        k: &Tensor<bf16, { [-1, -1, D] }>,
        v: &Tensor<bf16, { [-1, -1, D] }>,
        scale: f32,
    ) {
        let (head, i, _) = get_tile_block_id();
        let k_tiles = k.partition(shape![1, BN, D]);
        let v_tiles = v.partition(shape![1, BN, D]);
        let q_tile: Tile<bf16, { [BM, D] }> =
            q.partition(shape![1, BM, D]).load([head, i, 0i32]).reshape(shape![BM, D]);
        let scales: Tile<f32, { [BM, BN] }> = broadcast_scalar(scale, shape![BM, BN]);
        let nothing: Tile<f32, { [BM, BN] }> = constant(f32::NEG_INFINITY, shape![BM, BN]);
        let zero: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        let mut largest: Tile<f32, { [BM, 1] }> = constant(f32::NEG_INFINITY, shape![BM, 1]);
        let mut total: Tile<f32, { [BM, 1] }> = constant(0.0f32, shape![BM, 1]);
        let mut sum: Tile<f32, { [BM, D] }> = constant(0.0f32, shape![BM, D]);
        for j in 0i32..num_tiles(&k_tiles, 1) {
            if j * BN < (i + 1i32) * BM {
                let k_tile: Tile<bf16, { [BN, D] }> =
                    k_tiles.load([head, j, 0i32]).reshape(shape![BN, D]);
                let scores: Tile<f32, { [BM, BN] }> = mma(q_tile, k_tile.transpose(), zero);
                let queries: Tile<i32, { [BM, BN] }> = down::<BM, BN>(i * BM);
                let keys: Tile<i32, { [BM, BN] }> = along::<BM, BN>(j * BN);
                let scores: Tile<f32, { [BM, BN] }> =
                    select(ge_tile(queries, keys), scores * scales, nothing);
                let row_max: Tile<f32, { [BM] }> = reduce_max(scores, 1);
                let larger: Tile<f32, { [BM, 1] }> =
                    max_tile(largest, row_max.reshape(shape![BM, 1]));
                let powers: Tile<f32, { [BM, BN] }> =
                    exp(scores - larger.broadcast(shape![BM, BN]));
                let shrink: Tile<f32, { [BM, 1] }> = exp(largest - larger);
                let power_sum: Tile<f32, { [BM] }> = reduce_sum(powers, 1);
                total = total * shrink + power_sum.reshape(shape![BM, 1]);
                let v_tile: Tile<bf16, { [BN, D] }> =
                    v_tiles.load([head, j, 0i32]).reshape(shape![BN, D]);
                let short: Tile<bf16, { [BM, BN] }> = convert_tile(powers);
                sum = mma(short, v_tile, sum * shrink.broadcast(shape![BM, D]));
                largest = larger;
            }
        }
        let short: Tile<bf16, { [BM, D] }> =
            convert_tile(true_div(sum, total.broadcast(shape![BM, D])));
        out.store(short.reshape(shape![1, BM, D]));
        log_sums.store((largest + log(total)).reshape(shape![1, BM]));
    }

    /// Each row's output times its upstream gradient: what the softmax's gradient
    /// subtracts.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn attention_dots<const BM: i32, const D: i32>(
        dots: &mut Tensor<f32, { [1, BM] }>,
        out: &Tensor<bf16, { [-1, -1, D] }>,
        dout: &Tensor<bf16, { [-1, -1, D] }>,
    ) {
        let (head, i, _) = get_tile_block_id();
        let out_tile: Tile<f32, { [1, BM, D] }> =
            convert_tile(out.partition(shape![1, BM, D]).load([head, i, 0i32]));
        let dout_tile: Tile<f32, { [1, BM, D] }> =
            convert_tile(dout.partition(shape![1, BM, D]).load([head, i, 0i32]));
        let sums: Tile<f32, { [1, BM] }> = reduce_sum(out_tile * dout_tile, 2);
        dots.store(sums);
    }

    /// The gradients of keys and values: the products are turned, so that rows are
    /// keys and columns are queries.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn attention_dkdv<const BM: i32, const BN: i32, const D: i32>(
        dk: &mut Tensor<bf16, { [1, BN, D] }>,
        dv: &mut Tensor<bf16, { [1, BN, D] }>,
        q: &Tensor<bf16, { [-1, -1, D] }>,
        k: &Tensor<bf16, { [-1, -1, D] }>,
        v: &Tensor<bf16, { [-1, -1, D] }>,
        dout: &Tensor<bf16, { [-1, -1, D] }>,
        log_sums: &Tensor<f32, { [-1, -1] }>,
        dots: &Tensor<f32, { [-1, -1] }>,
        scale: f32,
    ) {
        let (head, j, _) = get_tile_block_id();
        let q_tiles = q.partition(shape![1, BM, D]);
        let dout_tiles = dout.partition(shape![1, BM, D]);
        let log_sum_tiles = log_sums.partition(shape![1, BM]);
        let dot_tiles = dots.partition(shape![1, BM]);
        let k_tile: Tile<bf16, { [BN, D] }> =
            k.partition(shape![1, BN, D]).load([head, j, 0i32]).reshape(shape![BN, D]);
        let v_tile: Tile<bf16, { [BN, D] }> =
            v.partition(shape![1, BN, D]).load([head, j, 0i32]).reshape(shape![BN, D]);
        let scales: Tile<f32, { [BN, BM] }> = broadcast_scalar(scale, shape![BN, BM]);
        let zero: Tile<f32, { [BN, BM] }> = constant(0.0f32, shape![BN, BM]);
        let mut dk_sum: Tile<f32, { [BN, D] }> = constant(0.0f32, shape![BN, D]);
        let mut dv_sum: Tile<f32, { [BN, D] }> = constant(0.0f32, shape![BN, D]);
        for i in 0i32..num_tiles(&q_tiles, 1) {
            if j * BN < (i + 1i32) * BM {
                let q_tile: Tile<bf16, { [BM, D] }> =
                    q_tiles.load([head, i, 0i32]).reshape(shape![BM, D]);
                let dout_tile: Tile<bf16, { [BM, D] }> =
                    dout_tiles.load([head, i, 0i32]).reshape(shape![BM, D]);
                let log_sum: Tile<f32, { [BN, BM] }> =
                    log_sum_tiles.load([head, i]).broadcast(shape![BN, BM]);
                let dot: Tile<f32, { [BN, BM] }> =
                    dot_tiles.load([head, i]).broadcast(shape![BN, BM]);
                let queries: Tile<i32, { [BN, BM] }> = along::<BN, BM>(i * BM);
                let keys: Tile<i32, { [BN, BM] }> = down::<BN, BM>(j * BN);
                let scores: Tile<f32, { [BN, BM] }> =
                    mma(k_tile, q_tile.transpose(), zero) * scales;
                let softmax: Tile<f32, { [BN, BM] }> =
                    select(ge_tile(queries, keys), exp(scores - log_sum), zero);
                let short: Tile<bf16, { [BN, BM] }> = convert_tile(softmax);
                dv_sum = mma(short, dout_tile, dv_sum);
                let dsoftmax: Tile<f32, { [BN, BM] }> = mma(v_tile, dout_tile.transpose(), zero);
                let dscores: Tile<bf16, { [BN, BM] }> =
                    convert_tile(softmax * (dsoftmax - dot) * scales);
                dk_sum = mma(dscores, q_tile, dk_sum);
            }
        }
        let dk_short: Tile<bf16, { [BN, D] }> = convert_tile(dk_sum);
        let dv_short: Tile<bf16, { [BN, D] }> = convert_tile(dv_sum);
        dk.store(dk_short.reshape(shape![1, BN, D]));
        dv.store(dv_short.reshape(shape![1, BN, D]));
    }
}
