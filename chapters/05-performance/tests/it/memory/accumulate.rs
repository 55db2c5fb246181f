use dfdx::prelude::Cpu;
use performance::memory::step::{Learner, distance, noise};
use training::{cnn::Cnn, engine::Resident, mlp::Mlp, model::Network, resnet::Resnet};

/// How far the sums of pieces are from the whole batch's gradient.
fn off<M: Network<Cpu>>(share_dropped: f32, images: usize, piece: usize) -> f64 {
    let data = Resident::new(&Cpu::default(), &noise(images, 3)).unwrap();
    let index: Vec<usize> = (0..images).rev().collect();
    let [whole, parts] = [images, piece].map(|piece| {
        let mut learner = Learner::<M>::new(&Cpu::seed_from_u64(8)).unwrap();
        learner.model.set_dropout(share_dropped);
        let loss = learner.accumulate(&data, &index, piece).unwrap();
        (loss, learner.gradients().unwrap())
    });
    if share_dropped == 0.0 {
        assert!((whole.0 / parts.0 - 1.0).abs() < 1e-2, "{} and {}", whole.0, parts.0);
    }
    distance(&parts.1, &whole.1)
}

#[test]
fn pieces_add_up_to_the_batch() {
    for (images, piece) in [(24, 12), (24, 1), (23, 7), (5, 4), (3, 100)] {
        let far = off::<Mlp<Cpu>>(0.0, images, piece);
        assert!(far < 1e-6, "{images} by {piece}: {far}");
    }
    let far = off::<Cnn<f32, Cpu>>(0.0, 11, 4);
    assert!(far < 1e-6, "{far}");
}

#[test]
fn dropout_and_batch_normalisation_tell_the_difference() {
    let dropped = off::<Mlp<Cpu>>(0.2, 24, 8);
    assert!(dropped > 1e-2, "another mask for each piece: {dropped}");
    let normalised = off::<Resnet<f32, Cpu>>(0.0, 8, 4);
    assert!(normalised > 1e-2, "another mean for each piece: {normalised}");
}

#[test]
fn no_images_are_refused() {
    let data = Resident::new(&Cpu::default(), &noise(2, 3)).unwrap();
    let mut learner = Learner::<Mlp<Cpu>>::new(&Cpu::default()).unwrap();
    assert!(learner.accumulate(&data, &[], 4).is_err());
    assert!(learner.accumulate(&data, &[0], 0).is_err());
}
