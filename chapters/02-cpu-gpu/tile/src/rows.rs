//! What a training step does with rows: cross-entropy of their softmax, RMS norm, sums down their columns.
//!
//! A program owns some rows (or, for sums, some columns) and keeps all that it adds up to itself: nothing is added to
//! memory that another program adds to, so there are no atomics, and two runs give the same bits.

/// The kernels.
#[cutile::module]
pub mod rows {
    use cutile::core::*;

    /// Numbers from `start` on along the columns of a tile, the same in each row.
    fn along<const R: i32, const C: i32>(start: i32) -> Tile<i32, { [R, C] }> {
        let steps: Tile<i32, { [C] }> = iota(shape![C]);
        let numbers: Tile<i32, { [C] }> = steps + broadcast_scalar(start, shape![C]);
        numbers.reshape(shape![1, C]).broadcast(shape![R, C])
    }

    /// A tile of logits, of which those beyond the last column weigh nothing in a softmax.
    fn scores_of<const BM: i32, const BN: i32, const COLUMNS: i32>(
        logits: Tile<bf16, { [BM, BN] }>,
        columns: Tile<i32, { [BM, BN] }>,
    ) -> Tile<f32, { [BM, BN] }> {
        let scores: Tile<f32, { [BM, BN] }> = convert_tile(logits);
        let end: Tile<i32, { [BM, BN] }> = broadcast_scalar(COLUMNS, shape![BM, BN]);
        let nothing: Tile<f32, { [BM, BN] }> = constant(f32::NEG_INFINITY, shape![BM, BN]);
        select(lt_tile(columns, end), scores, nothing)
    }

    /// Each row's loss, -ln softmax(logits)[label], and its gradient for the logits
    /// times `scale`. The first pass over a row keeps its largest logit so far and
    /// the sum relative to that (Milakov and Gimelshein, arXiv 1805.02867).
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn cross_entropy<const BM: i32, const BN: i32, const COLUMNS: i32>(
        loss: &mut Tensor<f32, { [BM] }>,
        gradient: &mut Tensor<bf16, { [BM, COLUMNS] }>,
        logits: &Tensor<bf16, { [-1, COLUMNS] }>,
        labels: &Tensor<i32, { [-1] }>,
        scale: f32,
    ) {
        let (row, _, _) = get_tile_block_id();
        let tiles = logits.partition(shape![BM, BN]);
        let label: Tile<i32, { [BM] }> = labels.partition(shape![BM]).load([row]);
        let label: Tile<i32, { [BM, BN] }> = label.reshape(shape![BM, 1]).broadcast(shape![BM, BN]);
        let zero: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        let mut largest: Tile<f32, { [BM, 1] }> = constant(f32::NEG_INFINITY, shape![BM, 1]);
        let mut total: Tile<f32, { [BM, 1] }> = constant(0.0f32, shape![BM, 1]);
        let mut chosen: Tile<f32, { [BM, 1] }> = constant(0.0f32, shape![BM, 1]);
        for j in 0i32..num_tiles(&tiles, 1) {
            let columns: Tile<i32, { [BM, BN] }> = along::<BM, BN>(j * BN);
            let scores: Tile<f32, { [BM, BN] }> =
                scores_of::<BM, BN, COLUMNS>(tiles.load([row, j]), columns);
            let row_max: Tile<f32, { [BM] }> = reduce_max(scores, 1);
            let larger: Tile<f32, { [BM, 1] }> = max_tile(largest, row_max.reshape(shape![BM, 1]));
            let powers: Tile<f32, { [BM, BN] }> = exp(scores - larger.broadcast(shape![BM, BN]));
            let power_sum: Tile<f32, { [BM] }> = reduce_sum(powers, 1);
            total = total * exp(largest - larger) + power_sum.reshape(shape![BM, 1]);
            let hit: Tile<f32, { [BM] }> =
                reduce_sum(select(eq_tile(columns, label), scores, zero), 1);
            chosen = chosen + hit.reshape(shape![BM, 1]);
            largest = larger;
        }
        let log_sum: Tile<f32, { [BM, 1] }> = largest + log(total);
        loss.store((log_sum - chosen).reshape(shape![BM]));
        let one: Tile<f32, { [BM, BN] }> = constant(1.0f32, shape![BM, BN]);
        let scales: Tile<f32, { [BM, BN] }> = broadcast_scalar(scale, shape![BM, BN]);
        let mut gradient_tiles = gradient.partition_mut(shape![BM, BN]);
        for j in 0i32..((COLUMNS + BN - 1i32) / BN) {
            let columns: Tile<i32, { [BM, BN] }> = along::<BM, BN>(j * BN);
            let scores: Tile<f32, { [BM, BN] }> =
                scores_of::<BM, BN, COLUMNS>(tiles.load([row, j]), columns);
            let softmax: Tile<f32, { [BM, BN] }> = exp(scores - log_sum.broadcast(shape![BM, BN]));
            let target: Tile<f32, { [BM, BN] }> = select(eq_tile(columns, label), one, zero);
            let short: Tile<bf16, { [BM, BN] }> = convert_tile((softmax - target) * scales);
            gradient_tiles.store(short, [0i32, j]);
        }
    }

    /// y = gain·x / √(mean(x²) + ε), and the factor of each row, for the backward
    /// pass. A tile is as wide as a row: the zeros that are read beyond its end add
    /// nothing to the sum, and the mean is over the columns that there are.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn rms_norm<const BM: i32, const BN: i32>(
        y: &mut Tensor<bf16, { [BM, BN] }>,
        factor: &mut Tensor<f32, { [BM] }>,
        x: &Tensor<bf16, { [-1, -1] }>,
        gain: &Tensor<f32, { [-1] }>,
        epsilon: f32,
    ) {
        let (row, _, _) = get_tile_block_id();
        let x_tile: Tile<f32, { [BM, BN] }> =
            convert_tile(x.partition(shape![BM, BN]).load([row, 0i32]));
        let gain_tile: Tile<f32, { [BN] }> = gain.partition(shape![BN]).load([0i32]);
        let columns: f32 = convert_scalar(get_shape_dim(x.shape(), 1i32));
        let squares: Tile<f32, { [BM] }> = reduce_sum(x_tile * x_tile, 1);
        let mean: Tile<f32, { [BM] }> = true_div(squares, broadcast_scalar(columns, shape![BM]));
        let factors: Tile<f32, { [BM] }> =
            rsqrt(mean + broadcast_scalar(epsilon, shape![BM]), ftz::Disabled);
        factor.store(factors);
        let gains: Tile<f32, { [BM, BN] }> =
            gain_tile.reshape(shape![1, BN]).broadcast(shape![BM, BN]);
        let wide: Tile<f32, { [BM, BN] }> =
            factors.reshape(shape![BM, 1]).broadcast(shape![BM, BN]);
        let short: Tile<bf16, { [BM, BN] }> = convert_tile(x_tile * wide * gains);
        y.store(short);
    }

    /// The gradient of x, and of the gain what these rows add to it:
    /// [`column_sums`] puts the parts together, in order.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn rms_norm_backward<const BM: i32, const BN: i32>(
        dx: &mut Tensor<bf16, { [BM, BN] }>,
        dgain_part: &mut Tensor<f32, { [1, BN] }>,
        x: &Tensor<bf16, { [-1, -1] }>,
        gain: &Tensor<f32, { [-1] }>,
        factor: &Tensor<f32, { [-1] }>,
        dy: &Tensor<bf16, { [-1, -1] }>,
    ) {
        let (row, _, _) = get_tile_block_id();
        let x_tile: Tile<f32, { [BM, BN] }> =
            convert_tile(x.partition(shape![BM, BN]).load([row, 0i32]));
        let dy_tile: Tile<f32, { [BM, BN] }> =
            convert_tile(dy.partition(shape![BM, BN]).load([row, 0i32]));
        let gain_tile: Tile<f32, { [BN] }> = gain.partition(shape![BN]).load([0i32]);
        let factors: Tile<f32, { [BM] }> = factor.partition(shape![BM]).load([row]);
        let wide: Tile<f32, { [BM, BN] }> =
            factors.reshape(shape![BM, 1]).broadcast(shape![BM, BN]);
        let normed: Tile<f32, { [BM, BN] }> = x_tile * wide;
        let part: Tile<f32, { [BN] }> = reduce_sum(dy_tile * normed, 0);
        dgain_part.store(part.reshape(shape![1, BN]));
        let upstream: Tile<f32, { [BM, BN] }> =
            dy_tile * gain_tile.reshape(shape![1, BN]).broadcast(shape![BM, BN]);
        let columns: f32 = convert_scalar(get_shape_dim(x.shape(), 1i32));
        let along: Tile<f32, { [BM] }> = reduce_sum(upstream * normed, 1);
        let mean: Tile<f32, { [BM] }> = true_div(along, broadcast_scalar(columns, shape![BM]));
        let means: Tile<f32, { [BM, BN] }> = mean.reshape(shape![BM, 1]).broadcast(shape![BM, BN]);
        let short: Tile<bf16, { [BM, BN] }> = convert_tile(wide * (upstream - normed * means));
        dx.store(short);
    }

    /// The sum of each column: a program owns some columns and goes down them, tile
    /// after tile.
    #[cutile::entry(deny_in_kernel_checks = true)]
    pub fn column_sums<const BM: i32, const BN: i32>(
        sums: &mut Tensor<f32, { [BN] }>,
        x: &Tensor<f32, { [-1, -1] }>,
    ) {
        let (column, _, _) = get_tile_block_id();
        let tiles = x.partition(shape![BM, BN]);
        let mut sum: Tile<f32, { [BM, BN] }> = constant(0.0f32, shape![BM, BN]);
        for i in 0i32..num_tiles(&tiles, 0) {
            sum = sum + tiles.load([i, column]);
        }
        let total: Tile<f32, { [BN] }> = reduce_sum(sum, 0);
        sums.store(total);
    }
}
