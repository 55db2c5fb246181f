//! Every portable rung on the CPU, through OpenCL, on shapes that fit no tile.

use cpu_gpu::{
    gpu::{Arg, Gpu, testing},
    ladder::{Compiled, LADDER, Rung, product, rung, wide},
    verify::{Problem, Verdict, verify},
};
use matmul::Shape;

/// m, k, n: one element, a row, a column, nothing to add, one more and one less than tiles, tall, wide, deep.
const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (1, 7, 130),
    (129, 9, 1),
    (5, 0, 6),
    (33, 31, 65),
    (64, 8, 64),
    (127, 17, 129),
    (131, 33, 66),
    (128, 16, 128),
    (257, 5, 40),
    (3, 500, 5),
    // Rows of multiples of four, so that four numbers are loaded at a time.
    (130, 12, 132),
    (17, 44, 260),
    (65, 4, 4),
];

fn run(gpu: &dyn Gpu, compiled: &Compiled, shape: Shape) -> Verdict {
    let problem = Problem::random(shape, 1);
    assert!(problem.compares_all());
    verify(gpu, &problem, |abc| compiled.launch(gpu, abc, shape)).unwrap_or_else(|e| panic!("{e}"))
}

/// All shapes that are wide, or all others, with one compilation.
fn check(gpu: &dyn Gpu, rung: &Rung, which: usize, four: bool) {
    let tiles = rung.candidates(gpu.about())[which];
    let compiled = rung.compile_with(gpu, tiles, four).unwrap_or_else(|e| panic!("{e}"));
    for (m, k, n) in SHAPES {
        let shape = Shape::new(m, k, n);
        // What loads one number at a time must also do for rows that would allow four.
        if four && !wide(shape) {
            continue;
        }
        match run(gpu, &compiled, shape) {
            Ok(passed) => assert!(passed.of_allowed <= 1.0, "{passed:?}"),
            Err(fault) => panic!("{} {} at {shape:?}: {fault}", rung.name, tiles.name),
        }
    }
}

fn loads_four(rung: &Rung) -> bool {
    rung.source.contains("load4")
}

#[test]
fn every_rung_computes_every_shape() {
    let Some(gpu) = testing::opencl() else { return };
    for rung in &LADDER {
        check(&*gpu, rung, 0, false);
        if loads_four(rung) {
            check(&*gpu, rung, 0, true);
        }
    }
}

#[test]
fn other_tiles_compute_the_same() {
    let Some(gpu) = testing::opencl() else { return };
    for rung in &LADDER {
        for which in 1..rung.candidates(gpu.about()).len() {
            check(&*gpu, rung, which, which % 2 == 0 && loads_four(rung));
        }
    }
}

#[test]
fn a_product_comes_back_in_order() {
    let Some(gpu) = testing::opencl() else { return };
    // Small whole numbers: nothing rounds.
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, -1.0, 0.0, 2.0, 3.0, 1.0]);
    let naive = rung("naive").unwrap();
    let c = product(&*gpu, naive, &a, &b, Shape::new(2, 3, 2)).unwrap();
    assert_eq!(c, [10.0, 6.0, 22.0, 12.0]);
    assert_eq!(product(&*gpu, naive, &[], &[], Shape::new(1, 0, 2)).unwrap(), [0.0, 0.0]);
    assert!(product(&*gpu, naive, &[], &[], Shape::new(0, 0, 2)).unwrap().is_empty());
}

#[test]
fn wrong_lengths_are_a_sentence() {
    let Some(gpu) = testing::opencl() else { return };
    let naive = rung("naive").unwrap();
    let error = product(&*gpu, naive, &[1.0], &[1.0], Shape::new(1, 2, 1)).unwrap_err();
    assert_eq!(error.to_string(), "A should have 1×2 elements and has 1");
    let warp_tiles = rung("warp_tiles").unwrap();
    let compiled = warp_tiles.compile(&*gpu, Shape::square(4)).unwrap();
    let buffer = gpu.alloc(64).unwrap();
    let abc = [Arg::Buffer(&buffer), Arg::Buffer(&buffer), Arg::Buffer(&buffer)];
    let error = compiled.launch(&*gpu, abc, Shape::square(3)).unwrap_err();
    assert!(error.to_string().contains("compile it again for k = 3 and n = 3"), "{error}");
    let error = compiled.launch(&*gpu, abc, Shape::square(1 << 16)).unwrap_err();
    assert!(error.to_string().contains("more than 2³² elements"), "{error}");
}
