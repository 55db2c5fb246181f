//! The test of the exercise `master-weights`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Weights;
use half::bf16;
use lab::{check::near, random::SplitMix64};

#[test]
fn small_updates_are_gathered() {
    let mut weights = Weights::new(vec![1.0]);
    for _ in 0..1000 {
        weights.update(&[1.0], 1e-4);
    }
    let copy = weights.copy[0].to_f32();
    println!("from 1, a thousand times 0.0001 less: {} and its copy {copy}", weights.master[0]);
    near(weights.master[0], 0.9, 1e-3, "the weight");
    assert_eq!(copy, bf16::from_f32(weights.master[0]).to_f32(), "the copy is {copy}");
}

#[test]
fn the_copy_moves_when_the_weight_has_come_closer_to_its_neighbour() {
    let mut weights = Weights::new(vec![1.0]);
    let mut steps = 0;
    while weights.copy[0] == bf16::ONE && steps < 100 {
        weights.update(&[1.0], 1e-4);
        steps += 1;
    }
    // Half the way to 1 − 2⁻⁸ is 2⁻⁹ = 0.00195.
    assert_eq!(steps, 20, "the copy moved after {steps} steps");
}

#[test]
fn weights_and_copies_of_many_steps_are_those_of_f32() {
    let mut random = SplitMix64::new(5);
    let start = random.normals(100, 1.0);
    let (mut weights, mut wanted) = (Weights::new(start.clone()), start);
    for _ in 0..50 {
        let g = random.normals(100, 1.0);
        weights.update(&g, 0.01);
        wanted.iter_mut().zip(&g).for_each(|(w, g)| *w -= 0.01 * g);
        near(&weights.master, &wanted, 1e-5, "the weights");
        for (w, copy) in weights.master.iter().zip(&weights.copy) {
            assert_eq!(*copy, bf16::from_f32(*w), "the copy of {w} is {copy}");
        }
    }
}
