use cpu_gpu::gpu::{Arg, read_all, testing, write_all};
use cpu_gpu::verify::{Problem, UNWRITTEN, verify};
use matmul::Shape;
use performance::gpu::check::compare;
use performance::gpu::product::{Layout, Products};

const SHAPES: [[usize; 3]; 7] =
    [[1, 1, 1], [32, 16, 32], [33, 17, 31], [1, 100, 3], [65, 1, 10], [2, 0, 3], [40, 129, 70]];

#[test]
fn a_product_passes_chapter_twos_check() {
    let Some(gpu) = testing::opencl() else { return };
    let products = Products::new(&*gpu).unwrap();
    for [m, k, n] in SHAPES {
        let shape = Shape::new(m, k, n);
        let problem = Problem::random(shape, 3);
        let verdict =
            verify(&*gpu, &problem, |abc| products.launch(&*gpu, Layout::Plain, abc, shape));
        assert!(verdict.unwrap().is_ok(), "{m}×{k}×{n}");
    }
}

#[test]
fn transposed_operands_equal_the_reference() {
    let Some(gpu) = testing::opencl() else { return };
    let products = Products::new(&*gpu).unwrap();
    let turned = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
        (0..rows * cols).map(|at| x[at % rows * cols + at / rows]).collect()
    };
    for [m, k, n] in SHAPES {
        let problem = Problem::random(Shape::new(m, k, n), 4);
        for layout in [Layout::TransposedA, Layout::TransposedB] {
            let a = turned(&problem.a, m, k);
            let b = turned(&problem.b, k, n);
            let [a, b] = match layout {
                Layout::TransposedA => [&a, &problem.b],
                _ => [&problem.a, &b],
            };
            let buffer = |len: usize| gpu.alloc(4 * len.max(1)).unwrap();
            let (on_a, on_b, on_c) = (buffer(a.len()), buffer(b.len()), buffer(m * n));
            write_all(&*gpu, &on_a, a).unwrap();
            write_all(&*gpu, &on_b, b).unwrap();
            write_all(&*gpu, &on_c, &vec![UNWRITTEN; m * n]).unwrap();
            let abc = [Arg::Buffer(&on_a), Arg::Buffer(&on_b), Arg::Buffer(&on_c)];
            products.launch(&*gpu, layout, abc, problem.shape).unwrap();
            let c: Vec<f32> = read_all(&*gpu, &on_c, m * n).unwrap();
            let share = compare(&c, &problem.exact(), n, 1e-5);
            assert!(share.is_ok(), "{layout:?} {m}×{k}×{n}: {share:?}");
        }
    }
}
