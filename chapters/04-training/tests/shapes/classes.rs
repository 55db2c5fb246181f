// ANCHOR: program
use dfdx::data::OneHotEncode;
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};

fn main() {
    let dev = Cpu::default();
    let model = dev.build_module::<Linear<784, 10>, f32>();
    let images: Tensor<Rank2<3, 784>, f32, _> = dev.sample_uniform();
    let scores = model.forward(images.leaky_trace());
    let labels: Tensor<Rank2<3, 5>, f32, _> =
        dev.one_hot_encode(Const::<5>, [3, 1, 4]);
    let loss = cross_entropy_with_logits_loss(scores, labels);
}
// ANCHOR_END: program
