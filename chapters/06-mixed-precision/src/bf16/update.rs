//! Adam on the f32 weights, and their copy in bf16 for the next products, in one pass over memory.

use super::{number::Number, pass::part};
use backprop::adam::{self, Factors, Moments};
use matmul::team::share;

/// Values that are updated and then converted: four rows of f32 and one of bf16 fit into the first-level cache.
const BLOCK: usize = 1024;

/// Bytes that the update reads and writes for each parameter: gradient, moments and master weight are read, the last
/// three are written.
pub const BYTES: f64 = 16.0 + 12.0;

/// One step, whose factors are `f`, of the master weights `p` with the gradient `g`. `copy` gets the new weights as the products read them; it
/// is empty where they read the master weights.
pub fn update<E: Number>(
    f: Factors,
    p: &mut [f32],
    moments: &mut Moments<f32>,
    g: &[f32],
    copy: &mut [E],
    threads: usize,
) {
    let size = part(p.len(), BLOCK, threads);
    let mut copies = copy.chunks_mut(size);
    let moments = moments.m.chunks_mut(size).zip(moments.v.chunks_mut(size));
    let parts = p.chunks_mut(size).zip(g.chunks(size)).zip(moments);
    let parts = parts.map(|(here, moments)| (here, moments, copies.next().unwrap_or_default()));
    share(parts, |((p, g), (m, v), copy)| walk(f, p, (m, v), g, copy));
}

/// [`update`] in one thread.
// ANCHOR: update
fn walk<E: Number>(
    f: Factors, // of this step
    p: &mut [f32],
    (m, v): (&mut [f32], &mut [f32]),
    g: &[f32],
    copy: &mut [E],
) {
    for (at, p) in p.chunks_mut(BLOCK).enumerate() {
        let here = at * BLOCK..at * BLOCK + p.len();
        let (m, v) = (&mut m[here.clone()], &mut v[here.clone()]);
        adam::fused(f, p, m, v, &g[here.clone()]);
        if let Some(copy) = copy.get_mut(here) {
            E::convert(p, copy); // still in the first-level cache
        }
    }
}
// ANCHOR_END: update

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::{adam::Adam, random::SplitMix64};
    use half::bf16;

    #[test]
    fn is_adam_and_then_a_rounding_on_any_number_of_threads() {
        let mut random = SplitMix64::new(1);
        for len in [0, 1, 1023, 1024, 1025, 200_000] {
            let start: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
            let g: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
            let f = Factors::new(&Adam::default(), 1);
            let (mut wanted, mut known) = (start.clone(), Moments::zeros(len));
            adam::fused(f, &mut wanted, &mut known.m, &mut known.v, &g);
            let rounded: Vec<bf16> = wanted.iter().map(|p| bf16::from_f32(*p)).collect();
            for threads in [1, 2, 5] {
                let (mut p, mut moments) = (start.clone(), Moments::zeros(len));
                let mut copy = vec![bf16::NAN; len];
                update(f, &mut p, &mut moments, &g, &mut copy, threads);
                assert_eq!((&p, &moments, &copy), (&wanted, &known, &rounded));
                let (mut p, mut moments) = (start.clone(), Moments::zeros(len));
                update::<f32>(f, &mut p, &mut moments, &g, &mut [], threads);
                assert_eq!((p, moments), (wanted.clone(), known.clone()));
            }
        }
    }

    #[test]
    fn the_master_weight_keeps_what_the_copy_is_too_coarse_for() {
        // Next to 1, bf16 has a step of 2⁻⁷; each update is 0.0001.
        let (mut p, mut moments) = ([1.0_f32], Moments::zeros(1));
        let mut copy = [bf16::ONE];
        let rule = Adam { lr: 1e-4, ..Adam::default() };
        for t in 1..=100 {
            update(Factors::new(&rule, t), &mut p, &mut moments, &[1.0], &mut copy, 1);
            let still = p[0] > 1.0 - 2.0_f32.powi(-9);
            assert_eq!(copy[0] == bf16::ONE, still, "{t}: {} {}", p[0], copy[0]);
        }
        assert!((p[0] - 0.99).abs() < 1e-4 && copy[0] < bf16::ONE);
    }
}
