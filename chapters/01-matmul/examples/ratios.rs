//! This crate's product against the libraries: the same shapes, sampled in turn, medians and ratios.
//!
//! ```text
//! cargo run --release -p matmul --example ratios            # every shape, one thread, then all
//! cargo run --release -p matmul --example ratios -- 1 mlp   # one thread, the shapes of an MLP's step
//! ```

use lab::measure::{Plan, time_interleaved};
use matmul::{MatMut, MatRef, Options, Shape, Threads, bf16::bf16, bgemm, peers, sgemm};
use std::time::Duration;

/// Which operand is transposed in memory.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// A·B: forward.
    Plain,
    /// Aᵀ·B: a weight's gradient.
    LeftT,
    /// A·Bᵀ: an input's gradient.
    RightT,
}

/// The square sizes, and the products of an MLP's step: forward, weight gradient, input gradient.
fn shapes(which: &str) -> Vec<(Shape, Form)> {
    let mut list = Vec::new();
    if which != "mlp" {
        for n in [512, 1024, 2048, 4096] {
            if which == "all" || which == "square" || which == n.to_string() {
                list.push((Shape::square(n), Form::Plain));
            }
        }
    }
    if which == "all" || which == "mlp" {
        for (inputs, outputs) in [(784, 128), (784, 512), (512, 128)] {
            for batch in [32, 128] {
                list.push((Shape::new(batch, inputs, outputs), Form::Plain));
                list.push((Shape::new(inputs, batch, outputs), Form::LeftT));
                list.push((Shape::new(batch, outputs, inputs), Form::RightT));
            }
        }
    }
    list
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let which = words.iter().find(|w| !matches!(w.as_str(), "1" | "2")).map_or("all", |w| w);
    let Some(threads) = words.iter().find(|w| matches!(w.as_str(), "1" | "2")) else {
        // matrixmultiply has one number of threads for each process.
        let program = std::env::current_exe()?;
        for (mode, count) in [("1", "1"), ("2", "")] {
            let mut run = std::process::Command::new(&program);
            run.args([mode, which]).env("MATMUL_NUM_THREADS", count).status()?;
        }
        return Ok(());
    };
    if threads == "1" && peers::matrixmultiply_threads() != 1 {
        eprintln!("set MATMUL_NUM_THREADS=1 to have matrixmultiply in the comparison");
    }
    let all = threads == "2";
    let rivals = peers::peers(all);
    print!("{:>16} {:>5} {:>9}", "m×k×n", "form", "ours");
    for (name, _) in &rivals {
        print!(" {name:>14}");
    }
    println!(" {:>7} {:>9}   (GFLOP/s, {threads} thread(s))", "ratio", "bf16");
    for (shape, form) in shapes(which) {
        measure(shape, form, all, &rivals)?;
    }
    Ok(())
}

fn measure(
    shape: Shape,
    form: Form,
    all: bool,
    rivals: &[(&str, peers::Product)],
) -> Result<(), Box<dyn std::error::Error>> {
    let Shape { m, k, n } = shape;
    let values = |len: usize| -> Vec<f32> {
        (0..len).map(|i| ((i * 7919) % 1009) as f32 / 504.0 - 1.0).collect()
    };
    let (a, b) = (values(m * k), values(k * n));
    let half =
        |values: &[f32]| -> Vec<bf16> { values.iter().map(|&x| bf16::from_f32(x)).collect() };
    let (a16, b16) = (half(&a), half(&b));
    let (a, a16) = if form == Form::LeftT {
        (MatRef::new(&a, k, m)?.t(), MatRef::new(&a16, k, m)?.t())
    } else {
        (MatRef::new(&a, m, k)?, MatRef::new(&a16, m, k)?)
    };
    let (b, b16) = if form == Form::RightT {
        (MatRef::new(&b, n, k)?.t(), MatRef::new(&b16, n, k)?.t())
    } else {
        (MatRef::new(&b, k, n)?, MatRef::new(&b16, k, n)?)
    };
    let options =
        Options { threads: if all { Threads::All } else { Threads::One }, ..Options::default() };
    let mut outputs = vec![vec![0.0f32; m * n]; rivals.len() + 2];
    let mut contenders: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    for (index, c) in outputs.iter_mut().enumerate() {
        contenders.push(Box::new(move || {
            let c = MatMut::new(c, m, n).expect("C was made for it");
            match index {
                0 => sgemm(c, a, b, options),
                1 => bgemm(c, a16, b16, options),
                _ => rivals[index - 2].1(c, a, b),
            }
            .expect("the shapes fit");
        }));
    }
    let mut turns: Vec<&mut dyn FnMut()> = contenders.iter_mut().map(|c| &mut **c as _).collect();
    let plan = Plan {
        warm_up: Duration::from_millis(20),
        time: Duration::from_millis(300),
        min_samples: 5,
        max_samples: 2000,
    };
    let rates: Vec<f64> = time_interleaved(plan, &mut turns)
        .iter()
        .map(|samples| shape.operations() / samples.median() / 1e9)
        .collect();
    let best = rates[2..].iter().copied().fold(0.0, f64::max);
    let form = match form {
        Form::Plain => "A·B",
        Form::LeftT => "Aᵀ·B",
        Form::RightT => "A·Bᵀ",
    };
    print!("{:>16} {form:>5} {:>9.1}", format!("{m}×{k}×{n}"), rates[0]);
    for rate in &rates[2..] {
        print!(" {rate:>14.1}");
    }
    println!(" {:>7.3} {:>9.1}", rates[0] / best, rates[1]);
    Ok(())
}
