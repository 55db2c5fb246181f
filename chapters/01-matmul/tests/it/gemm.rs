//! The public products: transposes, strides, options, threads, errors, in f32 and with bf16 inputs.

#![allow(clippy::float_cmp, reason = "zeros, small whole numbers and equal bits are compared")]

use crate::common::{Case, MODELLED, Path, SHAPES, Way, paths, ways};
use lab::random::numbers;
use matmul::{
    Epilogue, Error, MatMut, MatRef, Options, Shape, Unit, bf16::bf16, bgemm, parallel, sgemm,
    sgemm_on, simd::Level,
};
use proptest::prelude::*;

/// Fails unless a path's product is off by no more than rounding.
fn check(case: &Case, path: Path, way: Way) {
    let off = case.off_by(path, way);
    assert!(off <= 1.0, "{} {:?} {way:?}: {off} of the bound", path.name(), case.shape);
}

#[test]
fn every_way_on_every_shape() {
    for shape in SHAPES {
        let case = Case::new(shape, 1);
        for (index, way) in ways().enumerate() {
            for path in paths() {
                // The large shapes once for each storage or less, and in a few ways where a model is slow; the small ones
                // in every way.
                let left_out = match path {
                    Path::F32(_) => (way.end + usize::from(way.accumulate)) % 2 == 1,
                    Path::Bf16(Unit::Model | Unit::PairsModel) if index > 7 => {
                        shape.operations() > 1e7 || index % 7 != 0
                    }
                    Path::Bf16(_) => index % 7 != 0,
                };
                if shape.operations() <= 1e6 || !left_out {
                    check(&case, path, way);
                }
            }
        }
    }
}

#[test]
fn f32_inputs_of_bgemm_are_rounded_to_bf16() {
    let case = Case::new(Shape::new(45, 70, 38), 1);
    for path in paths().filter(|path| matches!(path, Path::Bf16(_))) {
        let plain = case.product(path, Way::default());
        for way in [(false, false), (true, false), (false, true)] {
            for wide in [true, false] {
                let way = Way { a_turned: way.0, b_turned: way.1, wide, ..Way::default() };
                assert!(case.product(path, way) == plain, "{} {way:?}", path.name());
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for shape in [Shape::new(70, 1100, 90), Shape::new(257, 64, 130), Shape::new(9, 2100, 200)] {
        let case = Case::new(shape, 1);
        for path in paths().filter(|path| matches!(path, Path::F32(_))) {
            let run = |threads| case.product(path, Way { threads, ..Way::default() });
            let one = run(1);
            for threads in [parallel::available(), 2, 3, 8] {
                assert!(run(threads) == one, "{} {threads}", path.name());
            }
        }
    }
}

#[test]
fn many_callers_at_once_each_get_their_product() {
    let case = Case::new(Shape::square(150), 1);
    let run = || case.product(Path::F32(Level::best()), Way { threads: 4, ..Way::default() });
    let alone = run();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert!(run() == alone)));
        }
    });
}

#[test]
fn relu_keeps_nan() {
    let case = Case::of(Shape::new(1, 1, 20), vec![f32::NAN], vec![-1.0; 20]);
    for path in paths() {
        let c = case.product(path, Way { end: 2, ..Way::default() }).values;
        assert!(c.iter().all(|x| x.is_nan()), "{}: {c:?}", path.name());
    }
}

#[test]
fn strided_views_leave_the_rest_alone() {
    let Shape { m, k, n } = Shape::new(21, 34, 40);
    let (a, b) = (numbers(m * 3 * (k + 5), 1), numbers((k + 2) * (2 * n + 1), 2));
    // Every third row of A, or one row for all of them; every second column of B.
    for a_stride in [3 * (k + 5), 0] {
        let va = MatRef::strided(&a, m, k, a_stride, 1).unwrap();
        let vb = MatRef::strided(&b, k, n, 2 * n + 1, 2).unwrap();
        let dense = |view: MatRef<f32>| -> Vec<f32> {
            let (rows, cols) = (view.rows(), view.cols());
            (0..rows * cols).map(|at| *view.at(at / cols, at % cols)).collect()
        };
        let case = Case::of(Shape::new(m, k, n), dense(va), dense(vb));
        for (row_stride, col_stride) in [(n + 3, 1), (2 * n + 3, 2), (3, 3 * m + 1)] {
            for level in Level::ALL.into_iter().filter(|level| level.available()) {
                let len = (m - 1) * row_stride + (n - 1) * col_stride + 1;
                let mut c = vec![-77.0; len + 9];
                let view = MatMut::strided(&mut c, m, n, row_stride, col_stride).unwrap();
                sgemm_on(level, view, va, vb, Options::default()).unwrap();
                let view = MatRef::strided(&c, m, n, row_stride, col_stride).unwrap();
                let off = case.off(view, false, Way::default());
                assert!(off <= 1.0, "{}: {off} of the bound", level.name());
                for place in (0..m * n).map(|at| at / n * row_stride + at % n * col_stride) {
                    c[place] = -77.0;
                }
                assert!(c.iter().all(|x| *x == -77.0), "{} wrote beside C", level.name());
            }
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_explained() {
    let data = [0.0; 6];
    let mut c = [0.0; 4];
    let a = MatRef::new(&data, 2, 3).unwrap();
    let b = MatRef::new(&data, 3, 2).unwrap();
    let mut run = |a, b, rows, cols, epilogue| {
        let options = Options { epilogue, ..Options::default() };
        let view = MatMut::new(&mut c[..rows * cols], rows, cols).unwrap();
        let first = sgemm(view, a, b, options).unwrap_err();
        let view = MatMut::new(&mut c[..rows * cols], rows, cols).unwrap();
        let second = bgemm(view, a, b, options).unwrap_err();
        assert_eq!(first, second);
        first.to_string()
    };
    assert_eq!(
        run(a, a, 2, 2, Epilogue::None),
        "A is 2×3 and B is 2×3: A·B needs as many columns in A as rows in B"
    );
    assert_eq!(run(a, b, 1, 4, Epilogue::None), "A·B is 2×2, but C is 1×4");
    assert_eq!(
        run(a, b, 2, 2, Epilogue::Bias(&[1.0])),
        "the bias has 1 values, but C has 2 columns"
    );
    assert_eq!(
        run(a, b, 2, 2, Epilogue::BiasRelu(&[1.0; 3])),
        "the bias has 3 values, but C has 2 columns"
    );
    let missing = Level::ALL.into_iter().find(|level| !level.available());
    if let Some(level) = missing {
        let c = MatMut::new(&mut c, 2, 2).unwrap();
        let error = sgemm_on(level, c, a, b, Options::default()).unwrap_err();
        assert_eq!(error, Error::Unavailable(level.name()));
    }
}

#[test]
fn views_that_leave_their_slice_are_refused() {
    let data = [0.0_f32; 12];
    assert_eq!(
        MatRef::new(&data, 3, 5).unwrap_err().to_string(),
        "a 3×5 matrix has 15 values, but the slice holds 12"
    );
    assert!(MatRef::new(&data, usize::MAX, 2).is_err());
    assert_eq!(
        MatRef::strided(&data, 3, 4, 5, 1).unwrap_err().to_string(),
        "a 3×4 matrix with a row every 5 values and a column every 1 reaches past the slice, which holds 12"
    );
    assert!(MatRef::strided(&data, 3, 2, 5, 1).is_ok());
    assert!(MatRef::strided(&data, usize::MAX, 2, usize::MAX, 1).is_err());
    let matrix = MatRef::new(&data, 3, 4).unwrap();
    assert_eq!(
        matrix.block(1, 2, 2, 3).unwrap_err().to_string(),
        "a 2×3 block at row 1, column 2 does not fit in a 3×4 matrix"
    );
    assert!(matrix.block(usize::MAX, 0, 2, 1).is_err());
    let block = matrix.block(1, 2, 2, 2).unwrap();
    assert_eq!((block.rows(), block.cols(), block.row_stride(), block.col_stride()), (2, 2, 4, 1));
    assert_eq!(block.as_ptr(), &raw const data[6]);
    assert_eq!(block.t().at(1, 0), matrix.at(1, 3));
    assert!(matrix.block(3, 4, 0, 0).is_ok());

    let mut data = [0.0_f32; 12];
    assert_eq!(
        MatMut::strided(&mut data, 3, 4, 2, 1).unwrap_err().to_string(),
        "a 3×4 matrix with a row every 2 values and a column every 1 has elements that overlap, so it \
         cannot be written to"
    );
    assert!(MatMut::strided(&mut data, 2, 2, 0, 1).is_err());
    assert!(MatMut::strided(&mut data, 1, 4, 0, 1).is_ok());
    assert!(MatMut::strided(&mut data, 4, 3, 1, 4).is_ok());
    assert!(MatMut::new(&mut data, 5, 3).is_err());
    let turned = MatMut::new(&mut data, 3, 4).unwrap().t();
    assert_eq!((turned.rows(), turned.cols()), (4, 3));
    assert_eq!((turned.row_stride(), turned.col_stride()), (1, 4));
}

#[test]
fn denormal_inputs_count_as_zero_on_units_of_bf16() {
    let tiny = bf16::from_bits(1).to_f32();
    let case = Case::of(Shape::new(1, 32, 1), vec![tiny; 32], vec![1e20; 32]);
    for path in paths().filter(|path| !matches!(path, Path::F32(_) | Path::Bf16(Unit::Vectors(_))))
    {
        let c = case.product(path, Way::default()).values;
        assert_eq!(c[0].to_bits(), 0, "{}", path.name());
    }
}

#[test]
fn a_unit_gives_the_bits_of_its_model() {
    for (unit, model) in MODELLED.into_iter().filter(|(unit, _)| unit.available()) {
        for shape in [Shape::new(33, 65, 47), Shape::new(61, 100, 97), Shape::new(20, 2100, 40)] {
            let run = |path| Case::new(shape, 1).product(path, Way::default());
            assert!(run(unit) == run(model), "{} {shape:?}", unit.name());
        }
    }
}

#[test]
fn bf16_takes_the_fastest_unit_that_there_is() {
    let order = [Unit::Tiles, Unit::Pairs, Unit::Vectors(Level::best())];
    let pays = |unit: &Unit| *unit != Unit::Pairs || lab::machine::pairs_pay();
    let fastest = order.into_iter().find(|unit| unit.available() && pays(unit));
    assert_eq!(Some(Unit::best()), fastest);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_in_any_way(
        m in 0_usize..70, k in 0_usize..140, n in 0_usize..90, way in 0_usize..48, seed in 0_u64..1000,
    ) {
        let case = Case::new(Shape::new(m, k, n), seed);
        for path in paths() {
            check(&case, path, ways().nth(way).unwrap());
        }
    }
}
