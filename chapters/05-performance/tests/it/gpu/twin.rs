#[cfg(feature = "cuda")]
mod cuda;

use dfdx::prelude::*;
use performance::gpu::twin::{Scores, doubled};

#[test]
fn a_tensors_numbers_are_found_twice_in_its_gradient() {
    let cpu = Cpu::seed_from_u64(3);
    let x: Scores<5, Cpu> = cpu.sample_normal_like(&(3, Const));
    let mut gradients = doubled(&x).unwrap();
    let twice: Vec<f32> = x.as_vec().into_iter().map(|x| 2.0 * x).collect();
    assert_eq!(**gradients.get_or_alloc_mut(&x).unwrap(), twice);
}
