use dfdx::prelude::*;

fn main() {
    let dev = Cpu::default();
    let images: Tensor<Rank2<32, 784>, f64, _> = dev.sample_uniform();
    let weights: Tensor<Rank2<784, 10>, f32, _> = dev.sample_uniform();
    let scores = images.matmul(weights);
}
