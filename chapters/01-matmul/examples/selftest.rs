//! Runs every rung and every path of the product that this CPU has against the f64 reference, and says PASS or FAIL for
//! each. It needs no file and no network, so that it runs in an emulator of a CPU that one does not have.
//!
//! ```text
//! cargo run --release -p matmul --example selftest
//! cargo run --release -p matmul --example selftest -- small   # quick shapes only, for emulators
//! ```

use matmul::{
    Epilogue, MatMut, MatRef, Options, Shape, Threads, Unit, bf16::bf16, bgemm_on, ladder,
    reference, sgemm_on, simd::Level,
};
use std::process::ExitCode;

/// Values between -1 and 1.
fn values(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

/// The same matrix, stored column after column.
fn turned<T: Copy>(data: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..rows * cols).map(|at| data[at % rows * cols + at / rows]).collect()
}

/// The largest error, as a fraction of what rounding may do to each element; NaN where C holds one.
/// With a bias, `ReLU` follows it.
fn error(
    c: &[f32],
    (sums, magnitudes): &(Vec<f64>, Vec<f64>),
    k: usize,
    bias: Option<&[f32]>,
) -> f64 {
    let mut worst = 0.0_f64;
    for (at, &c) in c.iter().enumerate() {
        let (bias, want) = match bias.map(|bias| f64::from(bias[at % bias.len()])) {
            Some(bias) => (bias, (sums[at] + bias).max(0.0)),
            None => (0.0, sums[at]),
        };
        let bound =
            (k + 3) as f64 * f64::from(f32::EPSILON) * (magnitudes[at] + bias.abs() + 1e-30);
        let error = (f64::from(c) - want).abs() / bound;
        worst = if error.is_nan() { f64::NAN } else { worst.max(error) };
        if worst.is_nan() {
            break;
        }
    }
    worst
}

fn main() -> ExitCode {
    let small = std::env::args().any(|word| word == "small");
    let mut shapes = vec![
        Shape::new(1, 1, 1),
        Shape::new(1, 0, 3),
        Shape::new(7, 9, 17),
        Shape::new(14, 20, 32),
        Shape::new(32, 64, 32),
        Shape::new(33, 65, 47),
        Shape::new(61, 100, 97),
    ];
    if !small {
        shapes.extend([
            Shape::new(257, 129, 511),
            Shape::new(3, 2100, 5),
            Shape::new(200, 1100, 130),
        ]);
    }
    let levels = Level::ALL.into_iter().filter(|level| level.available());
    let modelled = [(Unit::Pairs, Unit::PairsModel), (Unit::Tiles, Unit::Model)];
    let units = modelled.into_iter().flat_map(|(unit, model)| [unit, model]);
    let units = units.filter(|unit| unit.available());
    let mut failed = 0;
    let mut report = |what: &str, shape: Shape, form: usize, error: f64| {
        let good = error <= 1.0;
        failed += usize::from(!good);
        let verdict = if good { "PASS" } else { "FAIL" };
        let Shape { m, k, n } = shape;
        println!("{verdict} {what:10} {m}x{k}x{n} form {form}: {error:.3} of the bound");
    };
    for &shape in &shapes {
        let Shape { m, k, n } = shape;
        let (a, b, bias) = (values(m * k, 1), values(k * n, 2), values(n, 3));
        let half = |v: &[f32]| v.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>();
        let (a16, b16) = (half(&a), half(&b));
        let options = Options {
            epilogue: Epilogue::BiasRelu(&bias),
            threads: Threads::Count(2),
            accumulate: false,
        };
        let view = |data| MatRef::new(data, m, k).expect("made for it");
        let product = reference::multiply(view(&a), MatRef::new(&b, k, n).expect("made for it"));
        let rungs = |bf16| ladder().into_iter().filter(move |rung| rung.bf16 == bf16);
        for rung in rungs(false).filter(|rung| (rung.available)()) {
            let mut c = vec![f32::NAN; m * n];
            (rung.multiply)(&mut c, &a, &b, shape);
            report(rung.key, shape, 0, error(&c, &product, k, None));
        }
        for form in 0..4 {
            let (at, bt) = (turned(&a, m, k), turned(&b, k, n));
            let va = if form & 1 > 0 {
                MatRef::new(&at, k, m).map(MatRef::t)
            } else {
                MatRef::new(&a, m, k)
            };
            let vb = if form & 2 > 0 {
                MatRef::new(&bt, n, k).map(MatRef::t)
            } else {
                MatRef::new(&b, k, n)
            };
            let (va, vb) = (va.expect("made for it"), vb.expect("made for it"));
            for level in levels.clone() {
                let mut c = vec![f32::NAN; m * n];
                let view = MatMut::new(&mut c, m, n).expect("made for it");
                sgemm_on(level, view, va, vb, options).expect("the shapes fit");
                report(level.name(), shape, form, error(&c, &product, k, Some(&bias)));
            }
        }
        let product = reference::multiply(
            MatRef::new(&a16, m, k).expect("made for it"),
            MatRef::new(&b16, k, n).expect("made for it"),
        );
        for rung in rungs(true).filter(|rung| (rung.available)()) {
            let mut c = vec![f32::NAN; m * n];
            (rung.multiply)(&mut c, &a, &b, shape);
            report(rung.key, shape, 0, error(&c, &product, k, None));
        }
        for form in 0..4 {
            let (at, bt) = (turned(&a16, m, k), turned(&b16, k, n));
            let va = if form & 1 > 0 {
                MatRef::new(&at, k, m).map(MatRef::t)
            } else {
                MatRef::new(&a16, m, k)
            };
            let vb = if form & 2 > 0 {
                MatRef::new(&bt, n, k).map(MatRef::t)
            } else {
                MatRef::new(&b16, k, n)
            };
            let (va, vb) = (va.expect("made for it"), vb.expect("made for it"));
            let mut results = vec![];
            for unit in units.clone().chain(levels.clone().map(Unit::Vectors)) {
                let mut c = vec![f32::NAN; m * n];
                let view = MatMut::new(&mut c, m, n).expect("made for it");
                bgemm_on(unit, view, va, vb, options).expect("the shapes fit");
                report(
                    &format!("{}/bf16", unit.name()),
                    shape,
                    form,
                    error(&c, &product, k, Some(&bias)),
                );
                results.push((unit, c));
            }
            let result = |wanted: Unit| results.iter().find(|(unit, _)| *unit == wanted);
            for (unit, model) in modelled {
                if let (Some((_, c)), Some((_, expected))) = (result(unit), result(model)) {
                    // The model promises the hardware's bits.
                    let same = c.iter().zip(expected).all(|(x, y)| x.to_bits() == y.to_bits());
                    let what = format!("{}=model", unit.name());
                    report(&what, shape, form, if same { 0.0 } else { f64::INFINITY });
                }
            }
        }
    }
    let missing: Vec<&str> = Level::ALL
        .into_iter()
        .map(Unit::Vectors)
        .chain([Unit::Pairs, Unit::Tiles])
        .filter(|unit| !unit.available())
        .map(Unit::name)
        .collect();
    println!(
        "not on this CPU: {}",
        if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") }
    );
    println!("{}", if failed == 0 { "all passed".to_owned() } else { format!("{failed} failed") });
    ExitCode::from(u8::from(failed > 0))
}
