use dfdx::prelude::*;

type Model = (Linear<784, 128>, ReLU, Linear<100, 10>);

fn main() {
    let dev = Cpu::default();
    let model = dev.build_module::<Model, f32>();
    let images: Tensor<Rank2<32, 784>, f32, _> = dev.sample_uniform();
    let scores = model.forward(images);
}
