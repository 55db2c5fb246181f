use dfdx::{optim::Sgd, prelude::*};

type Deep = (Linear<784, 128>, ReLU, Linear<128, 10>);

fn main() {
    let dev = Cpu::default();
    let old = dev.build_module::<Linear<784, 10>, f32>();
    let mut new = dev.build_module::<Deep, f32>();
    let mut sgd = Sgd::new(&old, Default::default());
    let images: Tensor<Rank2<32, 784>, f32, _> = dev.sample_uniform();
    let loss = new.forward(images.leaky_trace()).square().mean();
    sgd.update(&mut new, &loss.backward()).unwrap();
}
