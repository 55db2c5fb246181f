use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use lab::testing::{Tool, need};
use performance::gpu::twin::{Scores, softmax_cross_entropy};

#[test]
fn loss_and_gradient_equal_the_cpus() {
    let cuda = training::engine::cuda(0, 1);
    let Some(cuda) = need(Tool::Cuda, cuda) else { return };
    let cpu = Cpu::seed_from_u64(2);
    for rows in [1, 7, 128] {
        let x: Scores<10, Cpu> = cpu.sample_normal_like(&(rows, Const));
        let labels: Vec<u8> = (0..rows).map(|row| (row * 3 % 10) as u8).collect();
        let mut hot = vec![0.0; rows * 10];
        labels.iter().enumerate().for_each(|(row, l)| hot[row * 10 + usize::from(*l)] = 1.0);
        let hot = cpu.tensor_from_vec(hot, (rows, Const::<10>));
        // Twice the loss, so that the gradient that comes from above is no 1.
        let theirs = cross_entropy_with_logits_loss(x.leaky_trace(), hot) * 2.0;
        let on_gpu = cuda.tensor_from_vec(x.as_vec(), (rows, Const::<10>));
        let ours = softmax_cross_entropy(on_gpu.leaky_trace(), &labels).unwrap() * 2.0;
        assert!((ours.array() / theirs.array() - 1.0).abs() < 1e-5);
        let (ours, theirs) = (ours.backward().get(&on_gpu), theirs.backward().get(&x));
        for (got, want) in ours.as_vec().iter().zip(theirs.as_vec()) {
            assert!((got - want).abs() <= 1e-6 + 1e-4 * want.abs(), "{got} is not {want}");
        }
        assert!(softmax_cross_entropy(on_gpu, &labels[1..]).is_err());
    }
}
