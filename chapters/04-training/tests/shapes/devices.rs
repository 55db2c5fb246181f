use dfdx::losses::cross_entropy_with_logits_loss;
use dfdx::{prelude::*, tensor_ops::Device};

fn loss<Here: Device<f32>, There: Device<f32>>(
    scores: Tensor<Rank2<32, 10>, f32, Here>,
    labels: Tensor<Rank2<32, 10>, f32, There>,
) -> Tensor<Rank0, f32, Here> {
    cross_entropy_with_logits_loss(scores, labels)
}

fn main() {}
