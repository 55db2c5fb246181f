//! Products of all layouts and sizes against f64.

use cpu_gpu::gpu::testing::opencl;
use engine::{
    backend::Backend,
    cpu::{Cpu, Ways},
    philox::Dropout,
    program::{Epilogue, Numbers},
    record::{Pass, Recorder},
    state,
    tensor::{Matrix, Place, Tensor},
};
use engine_gpu::{Gpu, kernels::Cut};
use lab::random::numbers;

/// relu(A·B + bias) on a device, of operands that begin somewhere in a buffer; `turned` are stored with rows as columns. With a
/// mask, if there are images before these, or none, in the program.
fn product<B: Backend>(
    mut device: B,
    [m, k, n]: [usize; 3],
    turned: [bool; 2],
    [a, b, row]: [&[f32]; 3],
    before: Option<usize>,
) -> Vec<f32> {
    let pass = Pass { rows: m, training: true, numbers: Numbers::F32, adds: false };
    let mut cx = Recorder::new(pass, device.form());
    cx.first = before.unwrap_or(0);
    let shape = |turn: bool, rows, cols| if turn { [cols, rows] } else { [rows, cols] };
    let ([ar, ac], [br, bc]) = (shape(turned[0], m, k), shape(turned[1], k, n));
    let x = Tensor::new(Place::Data, 64, ar, ac);
    let w = Tensor::new(Place::Params, 128, br, bc);
    let bias = Tensor::new(Place::Truth, 0, 1, row.len());
    for (tensor, values) in [(x, a), (w, b), (bias, row)] {
        device.allocate(tensor.place, tensor.start + values.len());
        device.write(tensor, values);
    }
    device.allocate(Place::State, state::WORDS);
    let c = cx.tensor(m, n);
    let of = |tensor: Tensor, turn| if turn { tensor.t() } else { Matrix::from(tensor) };
    let bias = Some(bias).filter(|_| !row.is_empty());
    let dropout = before.map(|_| Dropout::new(0.5, 7));
    let epilogue = Epilogue { bias, relu: true, dropout };
    cx.product(c, of(x, turned[0]), of(w, turned[1]), epilogue);
    cx.program.outputs.push(c);
    let loaded = device.load(cx.finish());
    device.run(&loaded);
    let fetching = device.fetch(&loaded, 0);
    let found = device.fetched(fetching);
    device.told().unwrap();
    found
}

#[test]
fn products_of_all_layouts_are_right_at_odd_sizes_and_when_their_sums_are_cut() {
    let (gpu, mut cuts) = (opencl(), Vec::new());
    for shape in [[1, 1, 1], [33, 17, 65], [5, 700, 3], [70, 40, 70], [16, 300, 10], [130, 20, 129]]
    {
        let [m, k, n] = shape;
        // Even ones have no bias.
        let (a, b, row) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n * (m % 2), 3));
        for turned in [[false, false], [true, false], [false, true]] {
            let mut cut = Cpu::new(2);
            cut.ways = Ways { fused: false, ..Ways::default() };
            let given = [&a[..], &b, &row];
            let mut all = vec![
                product(Cpu::new(2), shape, turned, given, None),
                product(cut, shape, turned, given, None),
            ];
            all.extend(
                gpu.as_ref().map(|gpu| product(Gpu::new(&**gpu), shape, turned, given, None)),
            );
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let left = |p: usize| if turned[0] { a[p * m + i] } else { a[i * k + p] };
                let right = |p: usize| if turned[1] { b[j * k + p] } else { b[p * n + j] };
                let sum: f64 = (0..k).map(|p| f64::from(left(p)) * f64::from(right(p))).sum();
                let wanted = (sum + f64::from(row.get(j).copied().unwrap_or(0.0))).max(0.0);
                for (device, found) in all.iter().enumerate() {
                    let far = (f64::from(found[i * n + j]) - wanted).abs();
                    let near = far < 1e-5 * (k as f64).sqrt();
                    assert!(near, "device {device}, {shape:?} {turned:?}: {i}, {j}: {far}");
                }
            }
        }
        cuts.push(Cut::of(shape).slices > 1);
    }
    assert!(cuts.contains(&true) && cuts.contains(&false));
    // Large ones have large tiles, and are not cut.
    assert_eq!(Cut::of([4096; 3]), Cut { each: 8, slice: 4096, slices: 1 });
}

#[test]
fn a_micro_batch_has_the_masks_of_its_images() {
    let Some(gpu) = opencl() else { return };
    let of = |k, rows, before| {
        let (shape, turned, ones) = ([rows, k, 48], [false; 2], vec![1.0; 48 * k]);
        let given = [&ones[..rows * k], &ones, &[]];
        let wanted = product(Cpu::new(2), shape, turned, given, Some(before));
        assert_eq!(product(Gpu::new(&*gpu), shape, turned, given, Some(before)), wanted);
        wanted
    };
    for k in [8, 700] {
        let all = of(k, 7, 0);
        assert!(all.contains(&0.0) && all[3 * 48..] == of(k, 4, 3));
    }
}
