//! E0308: a product of tiles that do not fit.

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    pub fn product(
        c: &mut Tensor<f32, { [64, 64] }>,
        a: &Tensor<f32, { [-1, -1] }>,
        b: &Tensor<f32, { [-1, -1] }>,
    ) {
        let (row, column, _) = get_tile_block_id();
        let a_tile: Tile<f32, { [64, 32] }> = a.partition(shape![64, 32]).load([row, 0i32]);
        let b_tile: Tile<f32, { [64, 64] }> = b.partition(shape![64, 64]).load([0i32, column]);
        let zero: Tile<f32, { [64, 64] }> = constant(0.0f32, shape![64, 64]);
        c.store(mma(a_tile, b_tile, zero));
    }
}

fn main() {}
