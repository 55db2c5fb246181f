use backprop::check::{differences, error, error_f32, wide};
use lab::random::numbers;
use language_model::attention::{causal::Head, ladder::Rung};
use proptest::prelude::*;

struct Case {
    size: usize,
    /// Queries, keys, values, and the derivatives of the results.
    of: [Vec<f32>; 4],
}

impl Case {
    fn new(tokens: usize, size: usize, larger: f32) -> Self {
        let of = [1, 2, 3, 4].map(|seed| {
            let mut values = numbers(tokens * size, seed + 10 * tokens as u64);
            for x in &mut values {
                *x *= larger;
            }
            values
        });
        Self { size, of }
    }

    fn head(&self) -> Head<'_> {
        Head { q: &self.of[0], k: &self.of[1], v: &self.of[2], size: self.size }
    }

    /// Results, and the derivatives of queries, keys and values.
    fn run(&self, rung: Rung) -> [Vec<f32>; 4] {
        let nan = || vec![f32::NAN; self.of[0].len()];
        let (mut attention, mut out) = (rung.start(), nan());
        let [mut dq, mut dk, mut dv] = [nan(), nan(), nan()];
        for _ in 0..2 {
            attention.forward(&mut out, self.head()).unwrap();
            let d = [&mut dq[..], &mut dk[..], &mut dv[..]];
            attention.backward(d, (&self.of[3], &out), self.head()).unwrap();
        }
        assert_eq!(attention.bytes(), rung.bytes(self.head().tokens(), self.size), "{rung:?}");
        [out, dq, dk, dv]
    }
}

/// The formula in f64.
fn formula(qkv: &[f64], size: usize) -> Vec<f64> {
    let values = qkv.len() / 3;
    let row = |part: usize, i: usize| &qkv[part * values + i * size..][..size];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut out = vec![0.0; values];
    for (i, out) in out.chunks_exact_mut(size).enumerate() {
        let power = |j| (dot(row(0, i), row(1, j)) / (size as f64).sqrt()).exp();
        let powers: Vec<f64> = (0..=i).map(power).collect();
        let sum: f64 = powers.iter().sum();
        for (j, power) in powers.iter().enumerate() {
            out.iter_mut().zip(row(2, j)).for_each(|(out, v)| *out += power / sum * v);
        }
    }
    out
}

#[test]
fn each_rung_is_the_formula_and_its_finite_differences() {
    for (tokens, size) in [(1, 2), (5, 3), (17, 8)] {
        let case = Case::new(tokens, size, 1.5);
        let qkv: Vec<f64> = case.of[..3].iter().flat_map(|part| wide(part)).collect();
        let dout = wide(&case.of[3]);
        let wanted = differences(&qkv, |qkv| {
            formula(qkv, size).iter().zip(&dout).map(|(out, d)| out * d).sum()
        });
        for rung in Rung::ALL {
            let [out, dq, dk, dv] = case.run(rung);
            assert!(error(&wide(&out), &formula(&qkv, size)) < 1e-6, "{rung:?}");
            let found = wide(&[dq, dk, dv].concat());
            assert!(error(&found, &wanted) < 1e-5, "{rung:?} {tokens}×{size}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn rungs_are_equal_at_odd_sizes(tokens in 1_usize..600, size in 1_usize..40) {
        let case = Case::new(tokens, size, 2.0);
        let naive = case.run(Rung::Naive);
        for rung in [Rung::Fused, Rung::Tiled] {
            for (found, wanted) in case.run(rung).iter().zip(&naive) {
                // One token alone: the derivatives of query and key are zero, but for rounding.
                let off = if tokens == 1 {
                    found.iter().zip(wanted).map(|(f, w)| f64::from((f - w).abs())).fold(0.0, f64::max)
                } else {
                    error_f32(found, wanted)
                };
                prop_assert!(off < 2e-5, "{rung:?} {tokens}×{size}: {off}");
            }
        }
    }
}

#[test]
fn scores_of_any_size_leave_numbers() {
    // e to the power of these would be too large for a float.
    let case = Case::new(300, 8, 100.0);
    let naive = case.run(Rung::Naive);
    for rung in Rung::ALL {
        let all = case.run(rung);
        assert!(all.iter().flatten().all(|x| x.is_finite()), "{rung:?}");
        assert!(error_f32(&all[0], &naive[0]) < 1e-4, "{rung:?}");
    }
}

#[test]
fn tiles_need_memory_that_grows_with_the_tokens() {
    let grows = |rung: Rung| rung.bytes(1 << 16, 32) as f64 / rung.bytes(1 << 15, 32) as f64;
    assert!(grows(Rung::Naive) > 3.99 && grows(Rung::Fused) > 3.99 && grows(Rung::Tiled) < 2.0);
}
