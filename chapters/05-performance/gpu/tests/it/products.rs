//! Products of all layouts and sizes against f64.

use cpu_gpu::gpu::testing::opencl;
use engine::{
    backend::Backend,
    program::{Epilogue, Numbers},
    record::{Pass, Recorder},
    tensor::{Matrix, Place, Tensor},
};
use engine_gpu::{Gpu, kernels::Cut};

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 7 & 255) as f32 / 128.0 - 1.0)
        .collect()
}

#[test]
fn products_of_all_layouts_are_right_at_odd_sizes_and_when_their_sums_are_cut() {
    let Some(gpu) = opencl() else { return };
    let mut cuts = Vec::new();
    for [m, k, n] in
        [[1, 1, 1], [33, 17, 65], [5, 700, 3], [70, 40, 70], [16, 300, 10], [130, 20, 129]]
    {
        for (turn_a, turn_b) in [(false, false), (true, false), (false, true)] {
            let mut device = Gpu::new(&*gpu);
            let (a, b, row) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n, 3));
            let mut cx = Recorder::new(
                Pass { rows: 1, training: true, numbers: Numbers::F32, adds: false },
                device.form(),
            );
            let shape = |turn: bool, rows, cols| if turn { [cols, rows] } else { [rows, cols] };
            let ([ar, ac], [br, bc]) = (shape(turn_a, m, k), shape(turn_b, k, n));
            // Operands that begin somewhere in a buffer.
            let x = Tensor::new(Place::Data, 64, ar, ac);
            let w = Tensor::new(Place::Params, 128, br, bc);
            let bias = Tensor::new(Place::Truth, 0, 1, n);
            for (tensor, values) in [(x, &a), (w, &b), (bias, &row)] {
                device.allocate(tensor.place, tensor.start + values.len());
                device.write(tensor, values);
            }
            device.allocate(Place::State, 8);
            let c = cx.tensor(m, n);
            let of = |tensor: Tensor, turn| if turn { tensor.t() } else { Matrix::from(tensor) };
            let epilogue = Epilogue { bias: Some(bias), relu: true, dropout: None };
            cx.product(c, of(x, turn_a), of(w, turn_b), epilogue);
            cx.program.outputs.push(c);
            let loaded = device.load(cx.finish());
            device.run(&loaded);
            let fetching = device.fetch(&loaded, 0);
            let found = device.fetched(fetching);
            device.check().unwrap();
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let left = |p: usize| if turn_a { a[p * m + i] } else { a[i * k + p] };
                let right = |p: usize| if turn_b { b[j * k + p] } else { b[p * n + j] };
                let sum: f64 = (0..k).map(|p| f64::from(left(p)) * f64::from(right(p))).sum();
                let wanted = (sum + f64::from(row[j])).max(0.0);
                let far = (f64::from(found[i * n + j]) - wanted).abs();
                assert!(
                    far < 1e-5 * (k as f64).sqrt().max(1.0),
                    "{m}×{k}×{n} {turn_a} {turn_b}: {i}, {j}: {far}"
                );
            }
        }
        cuts.push(Cut::of([m, k, n]).slices > 1);
    }
    assert!(cuts.contains(&true) && cuts.contains(&false));
    // Large ones have large tiles, and are not cut.
    assert_eq!(Cut::of([4096; 3]), Cut { each: 8, slice: 4096, slices: 1 });
}
