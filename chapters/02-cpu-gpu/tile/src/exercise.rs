//! A reader's kernel, out of its file: the interpreter runs it for sizes that fit no tile, and where it differs from `f64`, the
//! mistake is named, if it is one that people make.

use crate::{
    catalog::Kernel,
    check::{Checker, Launch, wide},
    interpreter,
    library::Result,
    reference::{self, Near},
};
use std::cell::RefCell;

/// The generation for which it is compiled.
pub const TARGET: &str = "sm_90";

/// The words for the compiler's, which are many.
const UNPROVED: &str = "the compiler can't prove an index: a counter that goes through `num_tiles(&tiles, axis)` belongs at \
                        that axis of those tiles";

/// What an output is if a mistake was made.
struct Mistake {
    says: &'static str,
    output: usize,
    is: Vec<f64>,
}

/// A launch: the kernel, what it was given, and what it made of it.
struct Run {
    kernel: Kernel,
    inputs: Vec<Vec<f64>>,
    outputs: Vec<Vec<f64>>,
    scalar: f64,
}

impl Run {
    fn generic(&self, at: usize) -> usize {
        self.kernel.generics[at].parse().unwrap_or_default()
    }

    /// The sizes of an input.
    fn shape(&self, at: usize) -> &[usize] {
        &self.kernel.arguments[self.outputs.len() + at].shape
    }

    /// What is wrong, if it is known.
    fn mistake(&self, known: fn(&Self) -> Vec<Mistake>) -> Option<String> {
        for (argument, output) in self.kernel.arguments.iter().zip(&self.outputs) {
            if output.iter().any(|number| number.is_nan()) {
                return Some(format!("numbers of `{}` are not stored, or NaN", argument.name));
            }
        }
        let found = known(self)
            .into_iter()
            .find(|mistake| alike(&self.outputs[mistake.output], &mistake.is));
        found.map(|mistake| mistake.says.to_owned())
    }
}

/// Whether the numbers are the same but for what bf16 rounds away.
fn alike(found: &[f64], other: &[f64]) -> bool {
    let largest = other.iter().fold(0.0_f64, |largest, number| largest.max(number.abs()));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= b.abs() / 32.0 + largest / 256.0;
    found.len() == other.len() && found.iter().zip(other).all(near)
}

fn values(near: Vec<Near>) -> Vec<f64> {
    near.into_iter().map(|near| near.value).collect()
}

/// An exercise: its kernel, what it is held to, and the known mistakes.
pub struct Exercise {
    /// As the folder is called.
    pub name: &'static str,
    kernel: &'static str,
    check: fn(&mut Checker<'_>) -> Result<()>,
    mistakes: fn(&Run) -> Vec<Mistake>,
}

/// The first size of each lets every mistake be made without leaving a tensor.
pub const EXERCISES: [Exercise; 3] = [
    Exercise {
        name: "product-tn",
        kernel: "product_tn",
        check: |checker| {
            let mut sizes = [[150, 70, 150], [1, 1, 1], [7, 3, 50], [129, 255, 65]].into_iter();
            sizes.try_for_each(|sizes| checker.product("product_tn", [true, false], sizes))
        },
        mistakes: of_product,
    },
    Exercise {
        name: "epilogue",
        kernel: "linear",
        check: |checker| {
            let mut sizes = [[150, 150, 70], [1, 1, 1], [7, 3, 50], [129, 255, 65]].into_iter();
            sizes.try_for_each(|sizes| checker.linear(sizes))
        },
        mistakes: of_epilogue,
    },
    Exercise {
        name: "attention-dq",
        kernel: "attention_dq",
        check: |checker| {
            let mut sizes = [[1, 150], [1, 1], [2, 65]].into_iter();
            sizes.try_for_each(|sizes| checker.attention_dq(sizes))
        },
        mistakes: of_dq,
    },
];

fn of_product(run: &Run) -> Vec<Mistake> {
    let (k, m, n) = (run.shape(0)[0], run.shape(0)[1], run.shape(1)[1]);
    let (bm, bk) = (run.generic(1), run.generic(3));
    let (a, b) = (&run.inputs[0], &run.inputs[1]);
    let mistake = |says, a: &[f64], turned| Mistake {
        says,
        output: 0,
        is: values(reference::product(a, b, [m, n, k], [turned, false])),
    };
    // Each tile of A in its order, as rows of BK numbers.
    let mut reshaped = vec![0.0; k * m];
    for (at, number) in reshaped.iter_mut().enumerate() {
        let (row, column) = (at / m, at % m);
        let place = column % bm * bk + row % bk;
        let (row, column) = (row / bk * bk + place / bm, column / bm * bm + place % bm);
        *number = if row < k && column < m { a[row * m + column] } else { 0.0 };
    }
    let mut all = vec![mistake(
        "a tile of A is only reshaped, which leaves its numbers in their order: `transpose` turns it",
        &reshaped,
        true,
    )];
    if m == k {
        let says = "this is A·B: A lies as k×m, so its tiles are BK×BM, are taken at [i, row], and have to be turned";
        all.push(mistake(says, a, false));
    }
    all
}

fn of_epilogue(run: &Run) -> Vec<Mistake> {
    let (m, k, n) = (run.shape(0)[0], run.shape(0)[1], run.shape(1)[0]);
    let [x, w, bias] = [0, 1, 2].map(|at| &run.inputs[at][..]);
    let (steps, with_gelu) = (k.div_ceil(run.generic(2)) as f64, run.generic(3) == 1);
    let sums = values(reference::product(x, w, [m, n, k], [false, true]));
    let act = |gelu: bool, z: f64| if gelu { reference::gelu(z) } else { z.max(0.0) };
    let mistake = |says, output, of: &dyn Fn(f64, f64) -> f64| Mistake {
        says,
        output,
        is: sums.iter().enumerate().map(|(at, sum)| of(*sum, bias[at % n])).collect(),
    };
    let mut all = vec![
        mistake("`before` is x·Wᵀ without the bias", 1, &|sum, _| sum),
        mistake("`before` has passed through the activation: store it before", 1, &|sum, bias| {
            act(with_gelu, sum + bias)
        }),
        mistake(
            "the bias is added in each step along k: add it once, behind the loop",
            1,
            &|sum, bias| sum + steps * bias,
        ),
        mistake("y has not passed through the activation", 0, &|sum, bias| sum + bias),
        mistake(
            if with_gelu { "`GELU` is 1, and y is ReLU's" } else { "`GELU` is 0, and y is GELU's" },
            0,
            &|sum, bias| act(!with_gelu, sum + bias),
        ),
    ];
    if m == n {
        all.push(Mistake {
            says: "the bias has a number for each column of y, and is added by rows: reshape it to [1, BN]",
            output: 1,
            is: sums.iter().enumerate().map(|(at, sum)| sum + bias[at / n]).collect(),
        });
    }
    all
}

/// What the gradient of a score is made of.
struct Score {
    value: f64,
    scale: f64,
    log_sum: f64,
    dsoftmax: f64,
    dot: f64,
    /// The dot that would stand in its column if they lay along the keys.
    along: f64,
    /// By how many keys it is behind the query.
    behind: i64,
}

impl Score {
    fn softmax(&self) -> f64 {
        if self.behind > 0 { 0.0 } else { (self.value - self.log_sum).exp() }
    }
}

fn of_dq(run: &Run) -> Vec<Mistake> {
    let (length, d) = (run.shape(0)[1], run.shape(0)[2]);
    let (height, width, scale) = (run.generic(0), run.generic(1), run.scalar);
    let [q, k, v, dout] = [0, 1, 2, 3].map(|at| &run.inputs[at]);
    let (log_sums, dots) = (&run.inputs[4], &run.inputs[5]);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mistake = |says, times: &[f64], of: &dyn Fn(&Score) -> f64| {
        let mut is = vec![0.0; q.len()];
        for row in 0..q.len() / d {
            let (head, i) = (row / length * length, row % length);
            // The tiles that are not passed over.
            let below = (i / height + 1) * height;
            for j in (0..length).filter(|j| j / width * width < below) {
                let at = |x: &[f64], row: usize| x[row * d..][..d].to_vec();
                let score = Score {
                    value: dot(&at(q, row), &at(k, head + j)) * scale,
                    scale,
                    log_sum: log_sums[row],
                    dsoftmax: dot(&at(dout, row), &at(v, head + j)),
                    dot: dots[row],
                    along: dots[head..head + length]
                        .get(i / height * height + j % width)
                        .copied()
                        .unwrap_or_default(),
                    behind: j as i64 - i as i64,
                };
                let dscore = of(&score);
                is[row * d..][..d]
                    .iter_mut()
                    .zip(at(times, head + j))
                    .for_each(|(sum, x)| *sum += dscore * x);
            }
        }
        Mistake { says, output: 0, is }
    };
    let right = |s: &Score| s.softmax() * (s.dsoftmax - s.dot) * s.scale;
    vec![
        mistake("these are the scores times K: their gradient is still to be written", k, &|s| {
            s.value
        }),
        mistake("no key is masked: a query sees the keys behind it in its tile", k, &|s| {
            right(&Score { behind: 0, ..*s })
        }),
        mistake("the mask is the wrong way round: a query sees the keys up to its own", k, &|s| {
            right(&Score { behind: -s.behind, ..*s })
        }),
        mistake(
            "the softmax is not normalised: `log_sum` is subtracted in the exponent",
            k,
            &|s| right(&Score { log_sum: 0.0, ..*s }),
        ),
        mistake("`dot` is not subtracted from the softmax's gradient", k, &|s| {
            right(&Score { dot: 0.0, ..*s })
        }),
        mistake("the scale is missing: scores are scaled, and so is their gradient", k, &|s| {
            right(&Score { scale: 1.0, ..*s })
        }),
        mistake("the scale is there twice: `scores` have theirs already", k, &|s| {
            right(&Score { value: s.value * s.scale, ..*s })
        }),
        mistake("the dots lie along the keys: there is one for each query, so [BM, 1]", k, &|s| {
            right(&Score { dot: s.along, ..*s })
        }),
        mistake("the sum of `dscores` is over V: the scores are Q·Kᵀ, so it is over K", v, &right),
    ]
}

/// Runs the kernel in `text` against `f64`, and returns it for tensors that are large.
///
/// # Errors
/// If it does not compile, does what it must not, or is wrong: which mistake that is, if it is known.
pub fn judge(name: &str, text: &str) -> Result<Kernel> {
    let exercise = EXERCISES.iter().find(|exercise| exercise.name == name);
    let exercise = exercise.ok_or_else(|| {
        format!("there is no exercise `{name}`, only {}", EXERCISES.map(|e| e.name).join(", "))
    })?;
    let own = |kernel: &Kernel| Kernel { text: Some(text.to_owned()), ..kernel.clone() };
    let last = RefCell::new(None);
    let launch: &Launch<'_> = &|kernel, inputs, scalar| {
        last.take();
        let kernel = own(kernel);
        let outputs = interpreter::launch(&kernel, TARGET, inputs, scalar)?;
        let [inputs, seen] = [inputs, &outputs].map(|all| all.iter().map(|x| wide(x)).collect());
        let scalar = f64::from(scalar.unwrap_or_default());
        *last.borrow_mut() = Some(Run { kernel, inputs, outputs: seen, scalar });
        Ok(outputs)
    };
    (exercise.check)(&mut Checker::new(TARGET, launch)).map_err(|why| {
        if why.contains("deny_in_kernel_checks") {
            return format!("{UNPROVED}\n{}", why.lines().last().unwrap_or_default().trim());
        }
        let known = last.take().and_then(|run| run.mistake(exercise.mistakes));
        known.map_or(why.clone(), |mistake| format!("{mistake}\n({why})"))
    })?;
    let large = Kernel::all(TARGET, 1024).filter(|kernel| kernel.name == exercise.kernel).last();
    Ok(own(&large.ok_or("the table lacks it")?))
}
