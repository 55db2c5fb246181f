//! Each law on each device, for both kernels that are right.

use crate::clients;
use cube::{
    check::{Random, Shape, wrong},
    product::{Kernel, is_software, product},
};

/// Small shapes at and around the edges of tiles, then random ones.
fn shapes(seed: u64) -> Vec<Shape> {
    let mut random = Random(seed);
    let mut shapes = vec![[1; 3], [16; 3], [17, 15, 33], [3, 129, 64], [130; 3]];
    shapes.extend((0..12).map(|_| [(); 3].map(|()| 1 + random.bits() as usize % 130)));
    shapes
}

/// Runs `law` with a product of each kernel on each device, for each shape.
fn holds(seed: u64, law: impl Fn(&dyn Fn([&[f32]; 2], Shape) -> Vec<f32>, &mut Random, Shape)) {
    for client in clients(|_| true) {
        for kernel in Kernel::RIGHT {
            println!("{kernel:?} on {}", client.properties().identity.name);
            let multiply = |ab: [&[f32]; 2], shape| product(&client, kernel, ab, shape).unwrap();
            for shape in shapes(seed) {
                law(&multiply, &mut Random(seed), shape);
            }
        }
    }
}

#[test]
fn is_right_for_odd_sizes() {
    holds(1, |multiply, random, shape| {
        let [a, b] = random.matrices(shape);
        let wrong = wrong(&multiply([&a, &b], shape), &a, &b, shape);
        assert_eq!(wrong, 0, "{shape:?}");
    });
}

#[test]
fn the_identity_changes_nothing() {
    holds(2, |multiply, random, [m, n, _]| {
        let a = random.numbers(m * n);
        let mut one = vec![0.0; n * n];
        one.iter_mut().step_by(n + 1).for_each(|element| *element = 1.0);
        assert!(multiply([&a, &one], [m, n, n]) == a, "{m}×{n}");
    });
}

#[test]
fn rows_do_not_depend_on_their_place() {
    let reversed = |rows: &[f32], columns: usize| -> Vec<f32> {
        rows.chunks(columns).rev().flatten().copied().collect()
    };
    holds(3, |multiply, random, shape @ [_, n, k]| {
        let [a, b] = random.matrices(shape);
        let c = multiply([&a, &b], shape);
        assert!(multiply([&reversed(&a, k), &b], shape) == reversed(&c, n), "{shape:?}");
    });
}

#[test]
fn an_empty_sum_is_zero_and_an_empty_product_is_empty() {
    for client in clients(|_| true) {
        for kernel in Kernel::RIGHT {
            let zeros = product(&client, kernel, [&[], &[]], [17, 5, 0]).unwrap();
            assert_eq!(zeros, [0.0; 17 * 5], "{kernel:?}");
            for shape @ [m, n, k] in [[0, 5, 3], [5, 0, 3], [0; 3]] {
                let (a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
                assert!(product(&client, kernel, [&a, &b], shape).unwrap().is_empty());
            }
        }
    }
}

#[test]
fn a_wrong_element_is_counted() {
    let shape = [3, 4, 5];
    let [a, b] = Random(5).matrices(shape);
    let mut c = vec![0.0; 12];
    for (at, element) in c.iter_mut().enumerate() {
        *element = (0..5).map(|p| a[at / 4 * 5 + p] * b[p * 4 + at % 4]).sum();
    }
    assert_eq!(wrong(&c, &a, &b, shape), 0);
    (c[0], c[7]) = (c[0] + 1e-4, f32::NAN);
    assert_eq!(wrong(&c, &a, &b, shape), 2);
}

/// lavapipe computes eight threads up to a barrier, or as many as the CPU's vectors hold, then the next eight. All but the last
/// of a block find tiles that are not whole. A GPU may happen to be right.
#[test]
fn a_software_device_shows_a_missing_barrier() {
    for client in clients(is_software) {
        let [a, b] = Random(6).matrices([64; 3]);
        let c = product(&client, Kernel::NoBarrierBefore, [&a, &b], [64; 3]).unwrap();
        let wrong = wrong(&c, &a, &b, [64; 3]);
        assert!(wrong > c.len() / 2, "{wrong}");
    }
}
