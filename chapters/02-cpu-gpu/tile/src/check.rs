//! Every kernel against `f64`, for sizes that fit no tile as well: on a card, or one line after the other in the
//! interpreter. Outputs are NaN before, so that a number that was not written is found, and one that is NaN is wrong.

use crate::{
    catalog::{Kernel, tile_for},
    library::{Result, bf16},
    reference::{self, Near},
};

/// Numbers between -1 and 1 that bf16 has: the same for the same seed.
pub fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bf16::from_f32((state >> 40) as f32 / (1 << 23) as f32 - 1.0).to_f32()
    };
    std::iter::repeat_with(next).take(count).collect()
}

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

/// Says which number is wrong, if one is.
///
/// # Errors
/// For the first number that is too far off, or none.
pub fn compare(what: &str, got: &[f64], right: &[Near]) -> Result<()> {
    if got.len() != right.len() {
        return Err(format!("{what}: {} numbers instead of {}", got.len(), right.len()));
    }
    // What f32 can't tell from 0 may be off by that much.
    let off = |got: f64, near: &Near| (got - near.value).abs() <= near.within + 1e-30;
    match got.iter().zip(right).position(|(got, near)| !off(*got, near)) {
        None => Ok(()),
        Some(at) => {
            let Near { value, within } = right[at];
            let wrong = got.iter().zip(right).filter(|(got, near)| !off(**got, near)).count();
            Err(format!(
                "{what}: {wrong} of {} numbers are wrong; number {at} is {}, not {value} to within {within}",
                got.len(),
                got[at]
            ))
        }
    }
}

/// What runs a kernel: its inputs, and the scalar that some take, and the outputs that it makes.
pub type Launch<'m> = dyn Fn(&Kernel, &[Vec<f32>], Option<f32>) -> Result<Vec<Vec<f32>>> + 'm;

/// A machine, and the numbers that it is given.
pub struct Checker<'m> {
    launch: &'m Launch<'m>,
    target: &'m str,
    seed: u64,
}

impl<'m> Checker<'m> {
    /// For what runs kernels of a generation.
    pub fn new(target: &'m str, launch: &'m Launch<'m>) -> Self {
        Self { launch, target, seed: 0 }
    }

    fn random(&mut self, count: usize) -> Vec<f32> {
        self.seed += 1;
        numbers(count, self.seed)
    }

    /// Launches, and compares each output with what is right.
    fn compare(
        &self,
        kernel: &Kernel,
        inputs: &[Vec<f32>],
        scalar: Option<f32>,
        right: &[&[Near]],
    ) -> Result<()> {
        let outputs = (self.launch)(kernel, inputs, scalar)?;
        for ((argument, output), right) in kernel.arguments.iter().zip(&outputs).zip(right) {
            let what = format!("{kernel}, {} of {:?}", argument.name, argument.shape);
            compare(&what, &wide(output), right)?;
        }
        Ok(())
    }

    /// All layouts, in f32 and bf16.
    ///
    /// # Errors
    /// As all of these: if a number is wrong, or a launch fails.
    pub fn products(&mut self, sizes: [usize; 3]) -> Result<()> {
        let layouts = [
            ("product", [false, false]),
            ("product_nt", [false, true]),
            ("product_tn", [true, false]),
            ("product_tt", [true, true]),
        ];
        layouts.into_iter().try_for_each(|(name, turned)| self.product(name, turned, sizes))
    }

    /// One layout: whether A and B lie transposed.
    ///
    /// # Errors
    /// If a number is wrong.
    pub fn product(&mut self, name: &str, turned: [bool; 2], sizes: [usize; 3]) -> Result<()> {
        let [m, n, k] = sizes;
        for element in ["f32", "bf16"] {
            let tile = tile_for(self.target, element).map(|size| size.to_string());
            let kernel = Kernel::new(name, &[element, &tile[0], &tile[1], &tile[2]], sizes)?;
            let inputs = [self.random(m * k), self.random(k * n)];
            let [a, b] = inputs.each_ref().map(|input| wide(input));
            let right = reference::product(&a, &b, sizes, turned);
            self.compare(&kernel, &inputs, None, &[&right])?;
        }
        Ok(())
    }

    /// A layer with each activation.
    ///
    /// # Errors
    /// If a number is wrong.
    pub fn linear(&mut self, sizes: [usize; 3]) -> Result<()> {
        let [m, n, k] = sizes;
        let tile = tile_for(self.target, "bf16").map(|size| size.to_string());
        for gelu in ["0", "1"] {
            let kernel = Kernel::new("linear", &[&tile[0], &tile[1], &tile[2], gelu], sizes)?;
            let inputs = [self.random(m * k), self.random(n * k), self.random(n)];
            let [x, w, bias] = inputs.each_ref().map(|input| wide(input));
            let (y, before) = reference::linear([&x, &w, &bias], sizes, gelu == "1");
            self.compare(&kernel, &inputs, None, &[&y, &before])?;
        }
        Ok(())
    }

    /// The gradient of the queries of causal attention, for what the passes before it give.
    ///
    /// # Errors
    /// If a number is wrong.
    pub fn attention_dq(&mut self, [heads, length]: [usize; 2]) -> Result<()> {
        const D: usize = 64;
        let (sizes, scale) = ([length, D], 0.125_f32);
        let [q, k, v, dout] = [(); 4].map(|()| self.random(heads * length * D));
        let host = [&q, &k, &v, &dout].map(|values| wide(values));
        let host = host.each_ref().map(Vec::as_slice);
        let [q_wide, k_wide, v_wide, dout_wide] = host;
        let forward = [q_wide, k_wide, v_wide];
        let (out, log_sums) = reference::attention(forward, sizes, f64::from(scale));
        let dots = reference::attention_dots(&out, dout_wide, D);
        let [log_sums, dots] =
            [log_sums, dots].map(|x| x.into_iter().map(|x| x as f32).collect::<Vec<f32>>());
        let before = [&wide(&log_sums)[..], &wide(&dots)];
        let right = reference::attention_dq(host, before, sizes, f64::from(scale));
        let kernel = Kernel::new("attention_dq", &["64", "64", "64"], [heads, length, 0])?;
        self.compare(&kernel, &[q, k, v, dout, log_sums, dots], Some(scale), &[&right])
    }
}

/// The sizes that are tried: m, n, k of products and layers.
pub const PRODUCTS: [[usize; 3]; 5] =
    [[1, 1, 1], [7, 3, 50], [128, 256, 64], [129, 255, 65], [500, 300, 200]];
/// Heads, and the length of each.
pub const ATTENTION: [[usize; 2]; 6] = [[1, 1], [2, 63], [3, 64], [2, 65], [4, 256], [3, 333]];

/// A kind of kernels by its name, and what checks it.
pub type Kind = (&'static str, fn(&mut Checker<'_>) -> Result<()>);

/// All kinds.
pub const KINDS: [Kind; 3] = [
    ("products, f32 and bf16, four layouts", |c| PRODUCTS.iter().try_for_each(|s| c.products(*s))),
    ("linear with ReLU and GELU", |c| PRODUCTS.iter().try_for_each(|s| c.linear(*s))),
    ("attention's gradient of the queries", |c| {
        ATTENTION.iter().try_for_each(|s| c.attention_dq(*s))
    }),
];

/// Checks every kernel. Each kind that is wrong is told, and costs no other.
///
/// # Errors
/// If one was wrong.
pub fn all(target: &str, launch: &Launch<'_>) -> Result<()> {
    let mut wrong = 0;
    for (name, check) in KINDS {
        match check(&mut Checker::new(target, launch)) {
            Ok(()) => println!("right: {name}"),
            Err(why) => {
                println!("WRONG: {name}: {why}");
                wrong += 1;
            }
        }
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} kinds of kernels are wrong")) }
}
