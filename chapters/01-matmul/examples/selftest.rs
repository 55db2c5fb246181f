//! Runs every rung and every path of the product that this CPU has against the f64 reference, and says PASS or FAIL for
//! each. It needs no file and no network, so that it runs in an emulator of a CPU that one does not have.
//!
//! ```text
//! cargo run -p matmul --example selftest
//! cargo run -p matmul --example selftest -- small   # quick shapes only, for emulators
//! ```

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/common.rs"]
mod common;

use common::{Case, MODELLED, Way, paths};
use matmul::{Shape, Unit, ladder, simd::Level};
use std::process::ExitCode;

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
    let mut failed = 0;
    let mut report = |what: &str, shape: Shape, form: usize, error: f64| {
        let good = error <= 1.0;
        failed += usize::from(!good);
        let verdict = if good { "PASS" } else { "FAIL" };
        let Shape { m, k, n } = shape;
        println!("{verdict} {what:10} {m}x{k}x{n} form {form}: {error:.3} of the bound");
    };
    for shape in shapes {
        let case = Case::new(shape, 1);
        for rung in ladder().iter().filter(|rung| (rung.available)()) {
            report(rung.key, shape, 0, case.off_on(rung));
        }
        for form in 0..4 {
            let (a_turned, b_turned) = (form & 1 > 0, form & 2 > 0);
            let way = Way { a_turned, b_turned, end: 2, threads: 2, ..Way::default() };
            for path in paths() {
                report(&path.name(), shape, form, case.off_by(path, way));
            }
            for (unit, model) in MODELLED.into_iter().filter(|(unit, _)| unit.available()) {
                // The model promises the hardware's bits.
                let same = case.product(unit, way) == case.product(model, way);
                let what = format!("{}=model", unit.name());
                report(&what, shape, form, if same { 0.0 } else { f64::INFINITY });
            }
        }
    }
    let units = Level::ALL.map(Unit::Vectors).into_iter().chain([Unit::Pairs, Unit::Tiles]);
    let missing = units.filter(|unit| !unit.available()).map(Unit::name).collect::<Vec<_>>();
    println!(
        "not on this CPU: {}",
        if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") }
    );
    println!("{}", if failed == 0 { "all passed".to_owned() } else { format!("{failed} failed") });
    ExitCode::from(u8::from(failed > 0))
}
