use crate::models::fused::{both_equal, rounded_is_near};
use dfdx::prelude::*;
use training::models::attention::{Attend, PATCHES, WIDTH, attend_in_one_batch};
use training::models::norm::Rows;

#[test]
fn heads_one_by_one_equal_heads_in_one_batch_backward_too() {
    for images in [1, 5] {
        let dev = Cpu::seed_from_u64(7);
        let given = [(); 3].map(|()| {
            let rows: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(images * PATCHES, Const));
            rows
        });
        let taped = || given.each_ref().map(Tensor::leaky_trace);
        both_equal(
            1e-5,
            [Cpu::attend(taped()).unwrap(), attend_in_one_batch(taped()).unwrap()],
            |grads| given.each_ref().map(|rows| grads.get(rows).as_vec()).to_vec(),
        );
    }
}

#[test]
fn rounded_products_are_near_the_exact_ones_backward_too() {
    let dev = Cpu::seed_from_u64(8);
    let given = [(); 3].map(|()| {
        let rows: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(3 * PATCHES, Const));
        rows
    });
    rounded_is_near([2e-2, 3e-3, 3e-3], |on_gpu| {
        let taped = given.each_ref().map(Tensor::leaky_trace);
        let out = if on_gpu { attend_in_one_batch(taped) } else { Cpu::attend(taped) }.unwrap();
        let values = out.as_vec();
        let grads = out.square().sum::<Rank0, _>().backward();
        let gradients = given.each_ref().map(|rows| grads.get(rows).as_vec());
        [values].into_iter().chain(gradients).collect()
    });
}
