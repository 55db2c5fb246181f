// ANCHOR: program
use dfdx::{losses::mse_loss, prelude::*};

fn main() {
    let dev = Cpu::default();
    let model = dev.build_module::<Linear<784, 1>, f32>();
    let images: Tensor<Rank2<32, 784>, f32, _> = dev.sample_uniform();
    let ages: Tensor<Rank1<32>, f32, _> = dev.sample_uniform();
    let loss = mse_loss(model.forward(images.leaky_trace()), ages);
}
// ANCHOR_END: program
