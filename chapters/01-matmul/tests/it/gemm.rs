//! The public products: transposes, strides, options, threads, errors, in f32 and with bf16 inputs.

#![allow(clippy::float_cmp, reason = "zeros, small whole numbers and equal bits are compared")]

use crate::common::{SHAPES, assert_product, case, halves, values};
use matmul::{
    Epilogue, Error, MatMut, MatRef, Options, Shape, Threads, Unit, bf16::bf16, bgemm, bgemm_on,
    reference, sgemm, sgemm_on, simd::Level,
};
use proptest::prelude::*;

/// The levels that this CPU has.
fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| level.available())
}

/// The units that this CPU has, the models among them.
fn units() -> impl Iterator<Item = Unit> {
    let of_bf16 = [Unit::Pairs, Unit::PairsModel, Unit::Tiles, Unit::Model];
    let all = Level::ALL.map(Unit::Vectors).into_iter().chain(of_bf16);
    all.filter(|unit| unit.available())
}

/// The pairs of a unit and its model that both run here.
fn modelled() -> impl Iterator<Item = (Unit, Unit)> {
    let pairs = [(Unit::Pairs, Unit::PairsModel), (Unit::Tiles, Unit::Model)];
    pairs.into_iter().filter(|(unit, _)| unit.available())
}

/// The same matrix, stored column after column.
fn turned<T: Copy>(data: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..rows * cols).map(|at| data[at % rows * cols + at / rows]).collect()
}

/// How A, B and C are stored, and what is done at the end.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a way of its own")]
struct Way {
    a_turned: bool,
    b_turned: bool,
    c_turned: bool,
    accumulate: bool,
    /// 0: nothing, 1: bias, 2: bias and `ReLU`.
    end: usize,
    threads: usize,
}

/// Computes a product in a way, with what C holds in the end and what it should hold.
fn check<T: Copy + Into<f64>>(
    shape: Shape,
    way: Way,
    (a, b): (&[T], &[T]),
    what: &str,
    multiply: impl Fn(MatMut<f32>, MatRef<T>, MatRef<T>, Options) -> matmul::Result<()>,
) {
    let Shape { m, k, n } = shape;
    let view_a = MatRef::new(a, m, k).unwrap();
    let view_b = MatRef::new(b, k, n).unwrap();
    let product = reference::multiply(view_a, view_b);
    let (a_t, b_t) = (turned(a, m, k), turned(b, k, n));
    let view_a = if way.a_turned { MatRef::new(&a_t, k, m).unwrap().t() } else { view_a };
    let view_b = if way.b_turned { MatRef::new(&b_t, n, k).unwrap().t() } else { view_b };
    let old = values(m * n, 3);
    let bias = values(n, 4);
    let mut c = if way.accumulate { old.clone() } else { vec![f32::NAN; m * n] };
    if way.c_turned {
        c = turned(&c, m, n);
    }
    let options = Options {
        accumulate: way.accumulate,
        epilogue: [Epilogue::None, Epilogue::Bias(&bias), Epilogue::BiasRelu(&bias)][way.end],
        threads: Threads::Count(way.threads),
    };
    let view_c = if way.c_turned {
        MatMut::new(&mut c, n, m).unwrap().t()
    } else {
        MatMut::new(&mut c, m, n).unwrap()
    };
    multiply(view_c, view_a, view_b, options).unwrap();
    let view_c = if way.c_turned {
        MatRef::new(&c, n, m).unwrap().t()
    } else {
        MatRef::new(&c, m, n).unwrap()
    };
    assert_product(
        view_c,
        &product,
        k,
        way.accumulate.then_some(&old),
        (way.end > 0).then_some(&bias),
        way.end == 2,
        &format!("{what} {shape:?} {way:?}"),
    );
}

/// Every combination of storage and end, with a number of threads that changes from one to the next.
fn ways() -> impl Iterator<Item = Way> {
    (0..48).map(|i| Way {
        a_turned: i & 1 > 0,
        b_turned: i & 2 > 0,
        c_turned: i & 4 > 0,
        accumulate: i & 8 > 0,
        end: i / 16,
        threads: [1, 2, 3, 8][(i / 4 + i) % 4],
    })
}

#[test]
fn f32_in_every_way_on_every_shape() {
    for shape in SHAPES {
        let (a, b, _) = case(shape);
        for way in ways() {
            // The large shapes once for each storage, the small ones in every way.
            if shape.operations() > 1e6 && (way.end + usize::from(way.accumulate)) % 2 == 1 {
                continue;
            }
            for level in levels() {
                check(shape, way, (&a[..], &b[..]), level.name(), |c, a, b, options| {
                    sgemm_on(level, c, a, b, options)
                });
            }
        }
    }
}

#[test]
fn bf16_in_every_way_on_every_shape() {
    for shape in SHAPES {
        let (a, b, _) = case(shape);
        let (a, b) = (halves(&a), halves(&b));
        for (index, way) in ways().enumerate() {
            if shape.operations() > 1e6 && index % 7 != 0 {
                continue;
            }
            // The models are slow: with large shapes, they take one way.
            let model = |unit| matches!(unit, Unit::Model | Unit::PairsModel);
            let slow = |unit| model(unit) && shape.operations() > 1e7 && index > 7;
            for unit in units().filter(|&unit| !slow(unit)) {
                check(shape, way, (&a[..], &b[..]), unit.name(), |c, a, b, options| {
                    bgemm_on(unit, c, a, b, options)
                });
            }
        }
    }
}

#[test]
fn f32_inputs_of_bgemm_are_rounded_to_bf16() {
    let Shape { m, k, n } = Shape::new(45, 70, 38);
    let (a, b) = (values(m * k, 1), values(k * n, 2));
    let (a16, b16) = (halves(&a), halves(&b));
    for unit in units() {
        let mut results = vec![];
        for (a_t, b_t) in [(false, false), (true, false), (false, true)] {
            let (mut from_f32, mut from_bf16) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
            let (at, a16t) = (turned(&a, m, k), turned(&a16, m, k));
            let (bt, b16t) = (turned(&b, k, n), turned(&b16, k, n));
            let c = MatMut::new(&mut from_f32, m, n).unwrap();
            let va = if a_t {
                MatRef::new(&at, k, m).unwrap().t()
            } else {
                MatRef::new(&a, m, k).unwrap()
            };
            let vb = if b_t {
                MatRef::new(&bt, n, k).unwrap().t()
            } else {
                MatRef::new(&b, k, n).unwrap()
            };
            bgemm_on(unit, c, va, vb, Options::default()).unwrap();
            let c = MatMut::new(&mut from_bf16, m, n).unwrap();
            let va = if a_t {
                MatRef::new(&a16t, k, m).unwrap().t()
            } else {
                MatRef::new(&a16, m, k).unwrap()
            };
            let vb = if b_t {
                MatRef::new(&b16t, n, k).unwrap().t()
            } else {
                MatRef::new(&b16, k, n).unwrap()
            };
            bgemm_on(unit, c, va, vb, Options::default()).unwrap();
            assert_eq!(from_f32, from_bf16, "{}", unit.name());
            results.push(from_f32);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{}", unit.name());
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for shape in [Shape::new(70, 1100, 90), Shape::new(257, 64, 130), Shape::new(9, 2100, 200)] {
        let Shape { m, k, n } = shape;
        let (a, b) = (values(m * k, 1), values(k * n, 2));
        let (va, vb) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
        for level in levels() {
            let run = |threads| {
                let mut c = vec![f32::NAN; m * n];
                let options = Options { threads, ..Options::default() };
                sgemm_on(level, MatMut::new(&mut c, m, n).unwrap(), va, vb, options).unwrap();
                c
            };
            let one = run(Threads::One);
            for threads in [Threads::All, Threads::Count(2), Threads::Count(3), Threads::Count(8)] {
                assert_eq!(run(threads), one, "{} {threads:?}", level.name());
            }
        }
    }
}

#[test]
fn many_callers_at_once_each_get_their_product() {
    let Shape { m, k, n } = Shape::square(150);
    let (a, b) = (values(m * k, 1), values(k * n, 2));
    let (va, vb) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
    let run = || {
        let mut c = vec![f32::NAN; m * n];
        let options = Options { threads: Threads::Count(4), ..Options::default() };
        sgemm(MatMut::new(&mut c, m, n).unwrap(), va, vb, options).unwrap();
        c
    };
    let alone = run();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(run(), alone)));
        }
    });
}

#[test]
fn nan_and_infinity_are_passed_on() {
    let Shape { m, k, n } = Shape::new(40, 50, 45);
    let mut a = values(m * k, 1);
    a[3 * k + 7] = f32::NAN;
    let mut b = values(k * n, 2);
    b[11 * n + 13] = f32::INFINITY;
    let check = |c: &[f32], what: &str| {
        for (at, value) in c.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            assert_eq!(value.is_finite(), i != 3 && j != 13, "{what}: C({i}, {j}) is {value}");
            assert_eq!(value.is_nan(), i == 3, "{what}: C({i}, {j}) is {value}");
        }
    };
    let (va, vb) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
    for unit in units() {
        let mut c = vec![0.0; m * n];
        let options = Options::default();
        bgemm_on(unit, MatMut::new(&mut c, m, n).unwrap(), va, vb, options).unwrap();
        check(&c, unit.name());
    }
    for level in levels() {
        let mut c = vec![0.0; m * n];
        let options = Options::default();
        sgemm_on(level, MatMut::new(&mut c, m, n).unwrap(), va, vb, options).unwrap();
        check(&c, level.name());
    }
}

#[test]
fn relu_keeps_nan() {
    let bias = [0.0; 20];
    for level in levels() {
        let options = Options { epilogue: Epilogue::BiasRelu(&bias), ..Options::default() };
        let (a, b) = ([f32::NAN], [-1.0; 20]);
        let mut c = [0.0; 20];
        let (a, b) = (MatRef::new(&a, 1, 1).unwrap(), MatRef::new(&b, 1, 20).unwrap());
        sgemm_on(level, MatMut::new(&mut c, 1, 20).unwrap(), a, b, options).unwrap();
        assert!(c.iter().all(|x| x.is_nan()), "{}: {c:?}", level.name());
    }
}

#[test]
fn without_terms_c_is_zero_or_stays() {
    let none: [f32; 0] = [];
    let bias = [1.0, -2.0];
    let run = |options: Options, start: f32| {
        let mut c = [start; 6];
        let (a, b) = (MatRef::new(&none, 3, 0).unwrap(), MatRef::new(&none, 0, 2).unwrap());
        sgemm(MatMut::new(&mut c, 3, 2).unwrap(), a, b, options).unwrap();
        let mut again = [start; 6];
        for unit in units() {
            again.fill(start);
            bgemm_on(unit, MatMut::new(&mut again, 3, 2).unwrap(), a, b, options).unwrap();
            assert_eq!(c, again, "{}", unit.name());
        }
        c
    };
    let plain = Options::default();
    assert_eq!(run(plain, f32::NAN), [0.0; 6]);
    assert_eq!(run(Options { accumulate: true, ..plain }, 7.0), [7.0; 6]);
    let with_bias = Options { epilogue: Epilogue::Bias(&bias), ..plain };
    assert_eq!(run(with_bias, f32::NAN), [1.0, -2.0, 1.0, -2.0, 1.0, -2.0]);
    let with_relu = Options { epilogue: Epilogue::BiasRelu(&bias), ..plain };
    assert_eq!(run(with_relu, f32::NAN), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn strided_views_leave_the_rest_alone() {
    let Shape { m, k, n } = Shape::new(21, 34, 40);
    let (a, b) = (values(m * 3 * (k + 5), 1), values((k + 2) * (2 * n + 1), 2));
    // Every third row of A; every second column of B.
    let va = MatRef::strided(&a, m, k, 3 * (k + 5), 1).unwrap();
    let vb = MatRef::strided(&b, k, n, 2 * n + 1, 2).unwrap();
    let product = reference::multiply(va, vb);
    for (row_stride, col_stride) in [(n + 3, 1), (2 * n + 3, 2), (3, 3 * m + 1)] {
        for level in levels() {
            let len = (m - 1) * row_stride + (n - 1) * col_stride + 1;
            let mut c = vec![-77.0; len + 9];
            let view = MatMut::strided(&mut c, m, n, row_stride, col_stride).unwrap();
            sgemm_on(level, view, va, vb, Options::default()).unwrap();
            let view = MatRef::strided(&c, m, n, row_stride, col_stride).unwrap();
            assert_product(view, &product, k, None, None, false, level.name());
            let inside = |at: usize| {
                (0..m).any(|i| {
                    at >= i * row_stride
                        && (at - i * row_stride).is_multiple_of(col_stride)
                        && (at - i * row_stride) / col_stride < n
                })
            };
            for (at, value) in c.iter().enumerate().filter(|&(at, _)| !inside(at)) {
                assert!((value + 77.0).abs() < 1e-6, "{}: element {at} was written", level.name());
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
fn a_read_matrix_may_repeat_its_rows() {
    // With a stride of 0 one row of A is used for all of them.
    let (row, b) = (values(30, 1), values(30 * 20, 2));
    let a = MatRef::strided(&row, 9, 30, 0, 1).unwrap();
    let b = MatRef::new(&b, 30, 20).unwrap();
    let mut c = vec![f32::NAN; 180];
    sgemm(MatMut::new(&mut c, 9, 20).unwrap(), a, b, Options::default()).unwrap();
    let product = reference::multiply(a, b);
    assert_product(
        MatRef::new(&c, 9, 20).unwrap(),
        &product,
        30,
        None,
        None,
        false,
        "row stride 0",
    );
}

#[test]
fn denormal_inputs_count_as_zero_on_units_of_bf16() {
    let tiny = bf16::from_bits(1);
    let (a, b) = ([tiny; 32], [bf16::from_f32(1e20); 32]);
    let (a, b) = (MatRef::new(&a, 1, 32).unwrap(), MatRef::new(&b, 32, 1).unwrap());
    for unit in units().filter(|unit| !matches!(unit, Unit::Vectors(_))) {
        let mut c = [f32::NAN];
        bgemm_on(unit, MatMut::new(&mut c, 1, 1).unwrap(), a, b, Options::default()).unwrap();
        assert_eq!(c[0].to_bits(), 0, "{}", unit.name());
    }
}

#[test]
fn a_unit_gives_the_bits_of_its_model() {
    for (unit, model) in modelled() {
        for shape in [Shape::new(33, 65, 47), Shape::new(61, 100, 97), Shape::new(20, 2100, 40)] {
            let Shape { m, k, n } = shape;
            let (a, b) = (values(m * k, 1), values(k * n, 2));
            let run = |unit| {
                let mut c = vec![f32::NAN; m * n];
                let (a, b) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
                let view = MatMut::new(&mut c, m, n).unwrap();
                bgemm_on(unit, view, a, b, Options::default()).unwrap();
                c
            };
            assert!(run(unit) == run(model), "{} {shape:?}", unit.name());
        }
    }
}

#[test]
fn bf16_takes_the_fastest_unit_that_there_is() {
    let order = [Unit::Tiles, Unit::Pairs, Unit::Vectors(Level::best())];
    let pays = |unit: &Unit| *unit != Unit::Pairs || lab::peak::pairs_pay();
    let fastest = order.into_iter().find(|unit| unit.available() && pays(unit));
    assert_eq!(Some(Unit::best()), fastest);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_in_any_way(
        m in 0_usize..70, k in 0_usize..140, n in 0_usize..90, way in 0_usize..48, seed in 0_u64..1000,
    ) {
        let shape = Shape::new(m, k, n);
        let (a, b) = (values(m * k, seed), values(k * n, seed + 1));
        let way = ways().nth(way).unwrap();
        for level in levels() {
            check(shape, way, (&a[..], &b[..]), level.name(), |c, a, b, options| {
                sgemm_on(level, c, a, b, options)
            });
        }
        let (a, b) = (halves(&a), halves(&b));
        for unit in units() {
            check(shape, way, (&a[..], &b[..]), unit.name(), |c, a, b, options| {
                bgemm_on(unit, c, a, b, options)
            });
        }
    }
}
