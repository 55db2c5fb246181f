//! With a card: every kernel against `f64`, for sizes that fit no tile as well. Outputs are NaN before, so that a number
//! that was not written is found, and one that is NaN is wrong.

use crate::{
    catalog::{Kernel, tile_for},
    library::{self, Card, OnCard, Result, To, bf16},
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

fn short(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|value| bf16::from_f32(*value)).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
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

/// Numbers on the card in bf16, and as they are.
struct Both {
    host: Vec<f64>,
    card: OnCard<bf16>,
}

/// What a check needs: the card, and where launches go.
struct Checker<'c> {
    card: &'c Card,
    to: To<'c>,
    seed: u64,
}

impl Checker<'_> {
    fn random(&mut self, shape: &[usize]) -> Result<Both> {
        self.seed += 1;
        let values = numbers(shape.iter().product(), self.seed);
        Ok(Both { host: wide(&values), card: self.card.put(short(&values), shape)? })
    }

    fn random_f32(&mut self, shape: &[usize]) -> Result<(Vec<f64>, OnCard<f32>)> {
        self.seed += 1;
        let values = numbers(shape.iter().product(), self.seed);
        Ok((wide(&values), self.card.put(values, shape)?))
    }

    fn unwritten(&self, shape: &[usize]) -> Result<OnCard<bf16>> {
        self.card.put(vec![bf16::NAN; shape.iter().product()], shape)
    }

    fn unwritten_f32(&self, shape: &[usize]) -> Result<OnCard<f32>> {
        self.card.put(vec![f32::NAN; shape.iter().product()], shape)
    }

    fn read(&self, from: &OnCard<bf16>) -> Result<Vec<f64>> {
        Ok(self.card.get(from)?.into_iter().map(bf16::to_f64).collect())
    }

    fn read_f32(&self, from: &OnCard<f32>) -> Result<Vec<f64>> {
        Ok(wide(&self.card.get(from)?))
    }

    fn products(&mut self, sizes: [usize; 3]) -> Result<()> {
        let layouts = [
            ("product", [false, false]),
            ("product_nt", [false, true]),
            ("product_tn", [true, false]),
            ("product_tt", [true, true]),
        ];
        for (name, turned) in layouts {
            for element in ["f32", "bf16"] {
                let tile = tile_for(&self.card.target, element).map(|size| size.to_string());
                let generics = [element, &tile[0], &tile[1], &tile[2]];
                let kernel = Kernel::new(name, &generics, sizes)?;
                let [c, a, b] = &kernel.arguments[..] else { continue };
                let mut out = self.unwritten_f32(&c.shape)?;
                let (a_host, b_host);
                if element == "f32" {
                    let (a, b) = (self.random_f32(&a.shape)?, self.random_f32(&b.shape)?);
                    library::product(self.to, &kernel, &mut out, &a.1, &b.1)?;
                    (a_host, b_host) = (a.0, b.0);
                } else {
                    let (a, b) = (self.random(&a.shape)?, self.random(&b.shape)?);
                    library::product(self.to, &kernel, &mut out, &a.card, &b.card)?;
                    (a_host, b_host) = (a.host, b.host);
                }
                let right = reference::product(&a_host, &b_host, sizes, turned);
                compare(&format!("{kernel}, {sizes:?}"), &self.read_f32(&out)?, &right)?;
            }
        }
        Ok(())
    }

    fn linear(&mut self, sizes: [usize; 3]) -> Result<()> {
        let [m, n, k] = sizes;
        let tile = tile_for(&self.card.target, "bf16").map(|size| size.to_string());
        for gelu in ["0", "1"] {
            let kernel = Kernel::new("linear", &[&tile[0], &tile[1], &tile[2], gelu], sizes)?;
            let (mut y, mut before) = (self.unwritten(&[m, n])?, self.unwritten(&[m, n])?);
            let (x, w, bias) = (self.random(&[m, k])?, self.random(&[n, k])?, self.random(&[n])?);
            let inputs = [&x.card, &w.card, &bias.card];
            library::linear(self.to, &kernel, [&mut y, &mut before], inputs)?;
            let right = reference::linear([&x.host, &w.host, &bias.host], sizes, gelu == "1");
            compare(&format!("{kernel}, {sizes:?}"), &self.read(&y)?, &right.0)?;
            compare(&format!("{kernel}, {sizes:?}, before"), &self.read(&before)?, &right.1)?;
        }
        Ok(())
    }

    fn cross_entropy(&mut self, rows: usize, columns: usize) -> Result<()> {
        let kernel =
            Kernel::new("cross_entropy", &["4", "1024", &columns.to_string()], [rows, 0, 0])?;
        let (mut loss, mut gradient) =
            (self.unwritten_f32(&[rows])?, self.unwritten(&[rows, columns])?);
        let logits = self.random(&[rows, columns])?;
        // The first label is the last column, and the last row's is the first.
        let labels: Vec<i32> =
            (1..=rows).map(|row| ((columns * row - 1) % columns) as i32).collect();
        let on_card = self.card.put(labels.clone(), &[rows])?;
        let (scale, inputs) = (1.0 / rows as f32, (&logits.card, &on_card));
        library::cross_entropy(self.to, &kernel, &mut loss, &mut gradient, inputs, scale)?;
        let right = reference::cross_entropy(&logits.host, &labels, columns, f64::from(scale));
        compare(&format!("{kernel}, {rows} rows, losses"), &self.read_f32(&loss)?, &right.0)?;
        compare(&format!("{kernel}, {rows} rows"), &self.read(&gradient)?, &right.1)
    }

    fn rms_norm(&mut self, rows: usize, columns: usize) -> Result<()> {
        let (shape, epsilon, tile) = ([rows, columns], 1e-5_f32, ["4", "1024"]);
        let kernel = Kernel::new("rms_norm", &tile, [rows, columns, 0])?;
        let what = format!("{kernel}, {rows}×{columns}");
        let (mut y, mut factor) = (self.unwritten(&shape)?, self.unwritten_f32(&[rows])?);
        let (x, (gain, gain_card)) = (self.random(&shape)?, self.random_f32(&[columns])?);
        let inputs = (&x.card, &gain_card);
        library::rms_norm(self.to, &kernel, &mut y, &mut factor, inputs, epsilon)?;
        let right = reference::rms_norm(&x.host, &gain, f64::from(epsilon));
        let factors = self.read_f32(&factor)?;
        compare(&what, &self.read(&y)?, &right.0)?;
        compare(&format!("{what}, factors"), &factors, &right.1)?;

        let kernel = Kernel::new("rms_norm_backward", &tile, [rows, columns, 0])?;
        let dy = self.random(&shape)?;
        let parts_shape = kernel.arguments[1].shape.clone();
        let (mut dx, mut parts) = (self.unwritten(&shape)?, self.unwritten_f32(&parts_shape)?);
        let (short, long) = ((&x.card, &dy.card), (&gain_card, &factor));
        library::rms_norm_backward(self.to, &kernel, &mut dx, &mut parts, short, long)?;
        let right = reference::rms_norm_backward([&x.host, &gain, &factors, &dy.host]);
        compare(&format!("{what}, backward"), &self.read(&dx)?, &right.0)?;

        let kernel = Kernel::new("column_sums", &["32", "64"], [parts_shape[0], columns, 0])?;
        let mut dgain = self.unwritten_f32(&[columns])?;
        library::column_sums(self.to, &kernel, &mut dgain, &parts)?;
        compare(&format!("{what}, gain's gradient"), &self.read_f32(&dgain)?, &right.1)
    }

    fn attention(&mut self, heads: usize, length: usize) -> Result<()> {
        const D: usize = 64;
        let (shape, sizes, scale) = ([heads, length, D], [heads, length, 0], 0.125_f32);
        let [q, k, v, dout] = [
            self.random(&shape)?,
            self.random(&shape)?,
            self.random(&shape)?,
            self.random(&shape)?,
        ];
        let host = [&q.host[..], &k.host, &v.host];
        let of = |name: &str| format!("{name}, {heads} heads of {length}");

        let kernel = Kernel::new("attention", &["128", "64", "64"], sizes)?;
        let (mut out, mut log_sums) = (self.unwritten(&shape)?, self.unwritten_f32(&shape[..2])?);
        let inputs = [&q.card, &k.card, &v.card];
        library::attention(self.to, &kernel, &mut out, &mut log_sums, inputs, scale)?;
        let right = reference::attention(host, [length, D], f64::from(scale));
        let (out_host, log_sums_host) = (self.read(&out)?, self.read_f32(&log_sums)?);
        compare(&of("attention"), &out_host, &right.0)?;
        compare(&of("attention's sums"), &log_sums_host, &right.1)?;

        let kernel = Kernel::new("attention_dots", &["64", "64"], sizes)?;
        let mut dots = self.unwritten_f32(&shape[..2])?;
        library::attention_dots(self.to, &kernel, &mut dots, [&out, &dout.card])?;
        let dots_host = self.read_f32(&dots)?;
        let right = reference::attention_dots(&out_host, &dout.host, D);
        compare(&of("attention_dots"), &dots_host, &right)?;

        let inputs = ([&q.card, &k.card, &v.card, &dout.card], [&log_sums, &dots]);
        let (mut dq, mut dk, mut dv) =
            (self.unwritten(&shape)?, self.unwritten(&shape)?, self.unwritten(&shape)?);
        let kernel = Kernel::new("attention_dkdv", &["64", "64", "64"], sizes)?;
        library::attention_dkdv(self.to, &kernel, [&mut dk, &mut dv], inputs, scale)?;
        let kernel = Kernel::new("attention_dq", &["64", "64", "64"], sizes)?;
        library::attention_dq(self.to, &kernel, &mut dq, inputs, scale)?;
        let host = [&q.host[..], &k.host, &v.host, &dout.host];
        let before = [&log_sums_host[..], &dots_host];
        let right = reference::attention_backward(host, before, [length, D], f64::from(scale));
        for ((name, got), right) in [("dq", &dq), ("dk", &dk), ("dv", &dv)].into_iter().zip(&right)
        {
            compare(&of(name), &self.read(got)?, right)?;
        }
        Ok(())
    }
}

/// The sizes that are tried: m, n, k of products and layers.
pub const PRODUCTS: [[usize; 3]; 5] =
    [[1, 1, 1], [7, 3, 50], [128, 256, 64], [129, 255, 65], [500, 300, 200]];
/// Rows and columns.
pub const ROWS: [[usize; 2]; 5] = [[1, 1], [5, 7], [4, 1024], [130, 768], [67, 1000]];
/// Rows and columns of logits, which may be more than a tile has.
pub const LOGITS: [[usize; 2]; 5] = [[1, 1], [5, 10], [8, 2048], [66, 1025], [33, 5003]];
/// Heads, and the length of each.
pub const ATTENTION: [[usize; 2]; 6] = [[1, 1], [2, 63], [3, 64], [2, 65], [4, 256], [3, 333]];

/// A kind of kernel by its name, and what checks it.
type Group<'a> = (&'a str, &'a dyn Fn(&mut Checker<'_>) -> Result<()>);

/// Checks every kernel. Each kind that is wrong is told, and costs no other.
///
/// # Errors
/// If one was wrong.
pub fn all(card: &Card) -> Result<()> {
    let groups: [Group<'_>; 5] = [
        ("products, f32 and bf16, four layouts", &|c| {
            PRODUCTS.iter().try_for_each(|s| c.products(*s))
        }),
        ("linear with ReLU and GELU", &|c| PRODUCTS.iter().try_for_each(|s| c.linear(*s))),
        ("cross-entropy", &|c| LOGITS.iter().try_for_each(|[m, n]| c.cross_entropy(*m, *n))),
        ("RMS norm and its gradients", &|c| ROWS.iter().try_for_each(|[m, n]| c.rms_norm(*m, *n))),
        ("attention and its gradients", &|c| {
            ATTENTION.iter().try_for_each(|[h, l]| c.attention(*h, *l))
        }),
    ];
    let mut wrong = 0;
    for (name, check) in groups {
        let mut checker = Checker { card, to: To::Run(card), seed: 0 };
        match check(&mut checker) {
            Ok(()) => println!("right: {name}"),
            Err(why) => {
                println!("WRONG: {name}: {why}");
                wrong += 1;
            }
        }
    }
    if wrong == 0 {
        Ok(())
    } else {
        Err(format!("{wrong} kinds of kernels are wrong on {}", card.name))
    }
}
