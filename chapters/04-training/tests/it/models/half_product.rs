use dfdx::prelude::*;
use training::models::autocast::{Operands, autocast};
use training::models::half_product::{product_of_each, to_bf16};

type Three = Tensor<(usize, usize, usize), f32, Cpu>;

#[test]
fn it_is_the_product_and_its_gradients_within_a_rounding() {
    let dev = Cpu::seed_from_u64(3);
    let a: Three = dev.sample_normal_like(&(2, 5, 7));
    let b: Three = dev.sample_normal_like(&(2, 7, 3));
    let up: Three = dev.sample_normal_like(&(2, 5, 3)) * 1e-6; // most of it is nothing in f16
    // Each operand is used a second time, as between the layers of a model.
    let run = |read: Operands| {
        let [x, y] = [a.leaky_trace(), b.leaky_trace()];
        let product = autocast(read, || product_of_each(x, y)).unwrap();
        let values = product.as_vec();
        let both = (product * up.clone()).sum::<Rank0, _>();
        let grads = (both + (a.leaky_trace() * 1e-6).sum()).backward();
        [values, grads.get(&a).as_vec(), grads.get(&b).as_vec()]
    };
    let exact = run(Operands::F32);
    let error = |read: Operands| -> f64 {
        let narrow = run(read);
        let each = exact.iter().zip(&narrow);
        let errors = each.map(|(exact, narrow)| backprop::check::error_f32(narrow, exact));
        errors.fold(0.0, f64::max)
    };
    let [with, without] = [65536.0, 1.0].map(|scale| error(Operands::F16 { scale }));
    assert!(with > 0.0 && with < 2e-3, "{with}");
    assert!(without > 0.01, "{without}");
    let bf16 = error(Operands::Bf16);
    assert!(bf16 > 1e-4 && bf16 < 1e-2, "{bf16}");
}

#[test]
fn bf16_by_subtraction_is_bf16() {
    let dev = Cpu::seed_from_u64(5);
    let x: Tensor<Rank1<5000>, f32, _> = dev.sample_normal();
    for scale in [1.0, 1e-30, 1e30] {
        let x = x.clone() * scale;
        let rounded = to_bf16(x.clone()).unwrap().as_vec();
        for (x, rounded) in x.as_vec().into_iter().zip(rounded) {
            // A tie may go the other way, and there are few.
            let wanted = half::bf16::from_f32(x).to_f32();
            assert!(rounded.to_bits() == wanted.to_bits() || x.to_bits() & 0xffff == 0x8000);
        }
    }
}
