//! Which product is the fastest at the shapes of a training step? dfdx brings gemm 0.15; gemm 0.19 has kernels for AVX-512;
//! chapter 1 has its own.

use dfdx::prelude::*;
use lab::{Key, Recorder, Result, Unit, peak, random::numbers};
use matmul::{MatMut, MatRef, Options, Shape, Threads, parallel, peers, sgemm};
use std::hint::black_box;

/// A product's name, and its shape for a batch.
type Pass = (&'static str, fn(usize) -> Shape);

/// The products of the first layer of 784-128-10.
const PASSES: [Pass; 3] = [
    ("forward", |batch| Shape::new(batch, 784, 128)),
    ("weights", |batch| Shape::new(784, batch, 128)),
    ("data", |batch| Shape::new(batch, 128, 784)),
];

/// The contenders.
const CONTENDERS: [&str; 3] = ["dfdx", "gemm", "chapter1"];

/// Operations a second, compared with the peak.
pub const RATE: Key =
    Key::measured("performance.products", Unit::FlopsPerSecond, &["who", "pass", "batch"]);

/// Each contender at each shape, on all cores.
///
/// # Errors
/// None that a user could cause.
pub fn measure(r: &mut Recorder) -> Result<()> {
    let threads = parallel::available();
    let peak = peak::fma_f32(threads);
    for batch in [128, 512] {
        for (pass, shape) in PASSES {
            let shape = shape(batch);
            let Shape { m, k, n } = shape;
            let (a, b, mut c) = (numbers(m * k, 1), numbers(k * n, 2), vec![0.0; m * n]);
            let dev = Cpu::default();
            let x = dev.tensor_from_vec(a.clone(), (m, k));
            let w = dev.tensor_from_vec(b.clone(), (k, n));
            let options = Options { threads: Threads::All, ..Options::default() };
            let at = |values, rows, cols| MatRef::<f32>::new(values, rows, cols);
            let views = at(&a[..], m, k).and_then(|a| Ok((a, at(&b[..], k, n)?)));
            let (a, b) = views.map_err(backprop::Error::from)?;
            for who in CONTENDERS {
                let mut work = || match who {
                    "dfdx" => drop(black_box(x.clone().matmul(w.clone()))),
                    "gemm" => {
                        let done = MatMut::new(&mut c, m, n).and_then(|c| peers::gemm_all(c, a, b));
                        black_box(done.is_ok());
                    }
                    _ => {
                        let done = MatMut::new(&mut c, m, n).and_then(|c| sgemm(c, a, b, options));
                        black_box(done.is_ok());
                    }
                };
                let rate = RATE.at(&[("who", &who), ("pass", &pass), ("batch", &batch)]);
                r.time_rate(rate.against(peak.clone()), shape.operations(), &mut work);
            }
        }
    }
    Ok(())
}
