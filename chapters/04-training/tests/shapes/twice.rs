// ANCHOR: program
use dfdx::prelude::*;

fn main() {
    let dev = Cpu::default();
    let model = dev.build_module::<Linear<784, 10>, f32>();
    let images: Tensor<Rank2<32, 784>, f32, _> = dev.sample_uniform();
    let loss = model.forward(images.leaky_trace()).square().mean();
    loss.backward();
    loss.backward();
}
// ANCHOR_END: program
