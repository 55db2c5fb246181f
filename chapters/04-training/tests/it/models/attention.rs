use crate::models::dense::rounded_is_near;
use dfdx::prelude::*;
use training::models::attention::{PATCHES, WIDTH, attend};
use training::models::norm::Rows;

#[test]
fn rounded_products_are_near_the_exact_ones_backward_too() {
    let dev = Cpu::seed_from_u64(8);
    let given = [(); 3].map(|()| {
        let rows: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(3 * PATCHES, Const));
        rows
    });
    rounded_is_near([2e-2, 3e-3], || {
        let out = attend(given.each_ref().map(Tensor::leaky_trace)).unwrap();
        let values = out.as_vec();
        let grads = out.square().sum::<Rank0, _>().backward();
        let gradients = given.each_ref().map(|rows| grads.get(rows).as_vec());
        [values].into_iter().chain(gradients).collect()
    });
}
