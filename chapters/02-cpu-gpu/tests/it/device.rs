//! What every device does, whatever drives it, and what the libraries and rungs of CUDA do on every GPU: held for this
//! machine's devices here, and by `fake_cuda.rs` for a stand-in.

use cpu_gpu::{
    devices::Precision,
    gpu::{
        Arg, Element, Gpu, Kernel, Launch,
        cublas::{self, Cublas},
        cuda::Cuda,
        read_all, testing, upload, write_all,
    },
    tensor_cores::{self, CudaInputs, CudaRung, CudaTiles},
    verify::Problem,
};
use half::bf16;
use lab::testing::{Tool, need, refused};
use matmul::Shape;

const MAP: &str =
    concat!(include_str!("../../kernels/portable.h"), include_str!("../../kernels/map.cl"));

pub fn map(gpu: &dyn Gpu, steps: u32) -> Kernel {
    gpu.compile(MAP, &[("STEPS", steps.to_string())], "map").unwrap()
}

/// Blocks of 256 threads for so many numbers.
fn blocks(count: usize) -> Launch {
    Launch::new([count.div_ceil(256), 1], [256, 1])
}

/// The contract of the trait `Gpu`.
pub fn does_what_every_device_does(gpu: &dyn Gpu) {
    numbers_go_there_and_back(gpu);
    kernels_run_in_order_on_any_count(gpu);
    what_is_fetched_is_what_was_there(gpu);
    parts_of_buffers_are_arguments_too(gpu);
    mistakes_get_a_sentence(gpu);
    let count = 1 << 16;
    let (x, y) = (upload(gpu, &vec![1.0_f32; count]).unwrap(), gpu.alloc(4 * count).unwrap());
    let many = map(gpu, 4000);
    let args = [Arg::Buffer(&x), Arg::Buffer(&y), Arg::U32(count as u32)];
    let seconds = gpu.seconds(&mut || gpu.launch(&many, blocks(count), &args)).unwrap();
    // 260 million steps take no CPU less than a millisecond.
    assert!((1e-3..60.0).contains(&seconds), "{seconds}");
}

fn numbers_go_there_and_back(gpu: &dyn Gpu) {
    let none = gpu.alloc(0).unwrap();
    let values: Vec<f32> = (0..1000).map(|i| i as f32 / 7.0).collect();
    let x = upload(gpu, &values).unwrap();
    assert_eq!(read_all::<f32>(gpu, &x, 1000).unwrap(), values);
    assert_eq!(read_all::<u16>(gpu, &none, 0).unwrap(), [0_u16; 0]);
    refused(write_all(gpu, &none, &[1_u32]), ["4 bytes do not fit a buffer of 0 bytes"]);
    assert!(read_all::<f32>(gpu, &x, 1001).is_err());
    // A part moves within the device.
    let y = upload(gpu, &[0.0_f32; 1001]).unwrap();
    gpu.copy(&x, &y, 36).unwrap();
    gpu.copy(&x, &y, 0).unwrap();
    let got: Vec<f32> = read_all(gpu, &y, 1001).unwrap();
    assert!(got[..9] == values[..9] && got[9..].iter().all(|y| *y == 0.0), "{got:?}");
    refused(gpu.copy(&y, &x, 4004), ["4004 bytes do not fit a buffer of 4000 bytes"]);
}

fn what_is_fetched_is_what_was_there(gpu: &dyn Gpu) {
    let once = map(gpu, 1);
    let (x, y) = (upload(gpu, &[4.0_f32; 4]).unwrap(), gpu.alloc(16).unwrap());
    let go = |from, to| {
        gpu.launch(&once, blocks(4), &[Arg::Buffer(from), Arg::Buffer(to), Arg::U32(4)]).unwrap();
    };
    // 3, 2.5, 2.25: each is fetched before the next kernel changes it, and none is waited for yet.
    let fetching: Vec<_> = [(&x, &y), (&y, &x), (&x, &y)]
        .into_iter()
        .map(|(from, to)| {
            go(from, to);
            gpu.fetch(to, 16).unwrap()
        })
        .collect();
    go(&y, &x);
    for (fetching, wanted) in fetching.into_iter().zip([3.0, 2.5, 2.25]) {
        assert_eq!(f32::values(&gpu.fetched(fetching).unwrap()), [wanted; 4]);
    }
    drop(gpu.fetch(&x, 16).unwrap()); // nobody wants it any more
    assert!(gpu.fetched(gpu.fetch(&x, 0).unwrap()).unwrap().is_empty());
    refused(gpu.fetch(&x, 20).map(drop), ["20 bytes do not fit a buffer of 16 bytes"]);
}

fn kernels_run_in_order_on_any_count(gpu: &dyn Gpu) {
    let once = map(gpu, 1);
    for count in [0, 1, 255, 256, 257, 1000] {
        let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let x = upload(gpu, &values).unwrap();
        let y = upload(gpu, &vec![-1.0_f32; count + 1]).unwrap();
        // There, back and there again: each launch takes what the one before has left.
        for (from, to) in [(&x, &y), (&y, &x), (&x, &y)] {
            let args = [Arg::Buffer(from), Arg::Buffer(to), Arg::U32(count as u32)];
            gpu.launch(&once, blocks(count), &args).unwrap();
        }
        let got: Vec<f32> = read_all(gpu, &y, count + 1).unwrap();
        assert!(got[count] < 0.0, "it writes beyond {count}");
        for (got, x) in got.iter().zip(&values) {
            let wanted = (0..3).fold(*x, |v, _| v * 0.5 + 1.0);
            assert!((got - wanted).abs() <= 1e-6 * wanted.abs(), "{got} is not {wanted}");
        }
    }
}

fn parts_of_buffers_are_arguments_too(gpu: &dyn Gpu) {
    let x = upload(gpu, &(0..128).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let y = upload(gpu, &[0.0_f32; 128]).unwrap();
    let same = map(gpu, 0);
    let launch = |offset| {
        let args = [Arg::Part { buffer: &x, offset }, Arg::Buffer(&y), Arg::U32(2)];
        gpu.launch(&same, blocks(2), &args)
    };
    launch(256).unwrap();
    assert_eq!(read_all::<f32>(gpu, &y, 3).unwrap(), [64.0, 65.0, 0.0]);
    for offset in [3, 512, 1024] {
        assert!(launch(offset).is_err(), "{offset}");
    }
}

fn mistakes_get_a_sentence(gpu: &dyn Gpu) {
    refused(gpu.compile("KERNEL oops", &[], "wrong"), ["`wrong` does not compile for"]);
    refused(gpu.compile(MAP, &[], "other"), ["no kernel `other`"]);
    let kernel = map(gpu, 1);
    refused(gpu.launch(&kernel, blocks(1), &[Arg::U32(1)]), ["`map` takes 3 arguments, not 1"]);
    let x = gpu.alloc(4).unwrap();
    let args = [Arg::Buffer(&x), Arg::Buffer(&x), Arg::U32(1)];
    let block = [gpu.about().max_block + 1, 1];
    refused(gpu.launch(&kernel, Launch::new([1, 1], block), &args), ["it takes from 1 to"]);
    refused(gpu.alloc(usize::MAX / 4), ["out of memory"]);
    gpu.launch(&kernel, blocks(1), &args).unwrap(); // and it still works
    gpu.finish().unwrap();
}

/// Both of cuBLAS's products against the sums of small whole numbers, which are exact in bf16 and in f32.
pub fn cublas_multiplies(gpu: &dyn Gpu, shapes: &[[usize; 3]]) {
    let cublas = Cublas::new(gpu.as_cuda().unwrap()).unwrap();
    for &[m, k, n] in shapes {
        let shape = Shape::new(m, k, n);
        let a: Vec<f32> = (0..m * k).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
        let wanted: Vec<f32> = (0..m * n)
            .map(|at| (0..k).map(|p| a[at / n * k + p] * b[p * n + at % n]).sum())
            .collect();
        let [on_a, on_b, on_c] = [m * k, k * n, m * n].map(|count| gpu.alloc(4 * count).unwrap());
        for inputs in [Precision::F32, Precision::Bf16] {
            write_all(gpu, &on_c, &vec![f32::NAN; m * n]).unwrap();
            for (on, x) in [(&on_a, &a), (&on_b, &b)] {
                let bits = x.iter().map(|&x| bf16::from_f32(x).to_bits()).collect::<Vec<_>>();
                let short = inputs == Precision::Bf16;
                if short { write_all(gpu, on, &bits) } else { write_all(gpu, on, x) }.unwrap();
            }
            cublas.gemm([&on_a, &on_b], &on_c, shape, inputs).unwrap();
            assert_eq!(read_all::<f32>(gpu, &on_c, m * n).unwrap(), wanted, "{shape:?}");
        }
        if m > 0 {
            let longer = Shape::new(m, k.max(1), n + 1);
            refused(cublas.gemm([&on_a, &on_b], &on_c, longer, Precision::F32), [" needs "]);
        }
    }
}

pub fn problem(rung: CudaRung, shape: Shape) -> Problem {
    if rung.bf16() { Problem::random_bf16(shape, 7) } else { Problem::random(shape, 7) }
}

/// Every rung of CUDA alone that this GPU has on these shapes, and `async_copy` with all of its tiles on `of_tiles`.
pub fn rungs_are_right(cuda: &Cuda, shapes: &[[usize; 3]], of_tiles: Shape) {
    let shared = cuda.about().shared_memory;
    let here = CudaRung::ALL.map(|rung| rung.fitting(shared));
    for rung in here.into_iter().filter(|rung| rung.runs_on(cuda.capability()).is_ok()) {
        for &[m, k, n] in shapes {
            let shape = Shape::new(m, k, n);
            let problem = problem(rung, shape);
            let checked = tensor_cores::check(cuda, rung, &problem).unwrap();
            checked.unwrap_or_else(|fault| panic!("{} {shape:?}: {fault}", rung.name()));
            let c = tensor_cores::product(cuda, rung, &problem.a, &problem.b, shape).unwrap();
            let checked = problem.check(&c);
            checked.unwrap_or_else(|fault| panic!("{} {shape:?} by itself: {fault}", rung.name()));
        }
        let product = |a, shape| tensor_cores::product(cuda, rung, a, &[], shape);
        assert!(product(&[], Shape::new(0, 0, 5)).unwrap().is_empty());
        refused(product(&[1.0], Shape::new(1, 2, 0)), ["A should have 1×2"]);
    }
    let problem = Problem::random(of_tiles, 3);
    for tiles in CudaTiles::fitting(shared) {
        let verdict = tensor_cores::check(cuda, CudaRung::AsyncCopy(tiles), &problem).unwrap();
        verdict.unwrap_or_else(|fault| panic!("{}: {fault}", tiles.name()));
    }
    let inputs = CudaInputs::new(cuda, here[0], &problem.a, &problem.b, of_tiles).unwrap();
    let timed = tensor_cores::tune(cuda, &inputs, of_tiles).unwrap();
    assert_eq!(timed.len(), CudaTiles::fitting(shared).count());
    assert!(timed.is_sorted_by(|x, y| x.1 <= y.1) && timed[0].1 > 0.0);
}

#[test]
fn an_opencl_device_does_what_every_device_does() {
    let Some(gpu) = testing::opencl() else { return };
    does_what_every_device_does(&*gpu);
}

#[test]
fn cublas_equals_the_reference_where_there_is_a_gpu() {
    let Some(cuda) = testing::cuda() else { return };
    let Some(()) = need(Tool::Cublas, cublas::available()) else { return };
    cublas_multiplies(&*cuda, &[[1, 1, 1], [3, 5, 7], [130, 67, 201], [0, 3, 2], [64, 256, 128]]);
}

#[test]
fn the_rungs_of_cuda_are_right_where_there_is_a_gpu() {
    let Some(gpu) = testing::cuda() else { return };
    let shapes = [
        [1, 1, 1],
        [5, 0, 7],
        [128, 64, 256],
        [132, 36, 260],
        [131, 77, 259],
        [257, 100, 8],
        [129, 400, 9],
        [1000, 1000, 1000],
        [1023, 1025, 1027],
        [2, 8192, 3],
        [3000, 5, 2500],
        [2048, 2048, 2048],
    ];
    rungs_are_right(gpu.as_cuda().unwrap(), &shapes, Shape::new(517, 260, 1028));
}
