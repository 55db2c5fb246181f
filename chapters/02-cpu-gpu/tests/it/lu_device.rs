//! LU decomposition with the matrix on a device: the same pivots as on the CPU, PA = LU up to rounding, and the
//! same refusals.

use crate::lu::{assert_decomposes, shapes};
use cpu_gpu::{
    gpu::testing,
    lu::{
        Lu, check,
        device::{self, OnDevice},
    },
};
use lab::testing::refused;

#[test]
fn the_device_decomposes_every_shape_with_the_same_pivots() {
    let Some(gpu) = testing::opencl() else { return };
    let on_device = OnDevice::new(&*gpu).unwrap();
    for (rows, cols) in shapes([0, 1, 5, 16, 29, 200]).chain([(263, 263)]) {
        let a = check::random(rows, cols, 1);
        let reference = Lu::unblocked(a.clone(), rows, cols).unwrap();
        for block in [0, 5, 16, 33, 128] {
            let what = format!("{rows}×{cols} in blocks of {block}");
            let lu =
                on_device.factor(&a, rows, cols, block).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(lu.swaps(), reference.swaps(), "{what}");
            assert_decomposes(&a, &lu, &what);
        }
    }
}

#[test]
fn the_device_refuses_what_the_cpu_refuses() {
    let Some(gpu) = testing::opencl() else { return };
    let n = 50;
    let mut a = check::random(n, n, 2);
    (0..n).for_each(|i| a[i * n + 21] = 0.0);
    refused(device::factor(&*gpu, &a, n, n), ["singular", "21"]);
    let mut a = check::random(n, 2 * n, 3);
    a[3 * 2 * n + 70] = f32::NAN;
    refused(device::factor(&*gpu, &a, n, 2 * n), ["column 70", "NaN"]);
    refused(device::factor(&*gpu, &a, n, n), ["2500 values"]);
}

#[test]
fn the_device_solves_a_system() {
    let Some(gpu) = testing::opencl() else { return };
    let n = 150;
    let (a, b) = (check::random(n, n, 4), check::random(n, 1, 5));
    let x = device::factor(&*gpu, &a, n, n).unwrap().solve(&b, 1).unwrap();
    assert!(check::residual(&a, &x, &b).unwrap() < 1.0);
    let seconds = OnDevice::new(&*gpu).unwrap().seconds(&a, n, 64).unwrap();
    assert!(seconds > 0.0 && seconds.is_finite());
}
