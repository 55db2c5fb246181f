//! Sums over a row that the compiler may turn into vectors: the same bits on every CPU.

/// Sums that do not wait for each other: a register of AVX-512.
const LANES: usize = 16;

/// Adds up the lanes in pairs.
#[inline(always)]
pub(crate) fn folded<const N: usize>(mut sums: [f32; N], with: impl Fn(f32, f32) -> f32) -> f32 {
    let mut half = N / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] = with(sums[lane], sums[lane + half]);
        }
        half /= 2;
    }
    sums[0]
}

/// Σ x·y in sixteen sums: the same bits on every CPU.
#[inline(always)]
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    for (sum, (x, y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *sum += x * y;
    }
    folded(sums, |a, b| a + b)
}

/// Σ x·y·z.
#[inline(always)]
pub fn triple(x: &[f32], y: &[f32], z: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let (zs, z_rest) = z.as_chunks::<LANES>();
    for ((x, y), z) in xs.iter().zip(ys).zip(zs) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane] * z[lane];
        }
    }
    for (sum, ((x, y), z)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest).zip(z_rest)) {
        *sum += x * y * z;
    }
    folded(sums, |a, b| a + b)
}

/// The largest value; -∞ of none. NaN is passed over.
#[inline(always)]
pub fn largest(x: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut most = [f32::NEG_INFINITY; LANES];
    let (xs, rest) = x.as_chunks::<LANES>();
    for x in xs {
        for lane in 0..LANES {
            most[lane] = larger(most[lane], x[lane]);
        }
    }
    for (most, x) in most.iter_mut().zip(rest) {
        *most = larger(*most, *x);
    }
    folded(most, larger)
}

/// Replaces each value by `power(value)` and returns the sum of these.
#[inline(always)]
pub fn replace_and_sum(x: &mut [f32], power: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (xs, rest) = x.as_chunks_mut::<LANES>();
    for x in xs {
        for lane in 0..LANES {
            x[lane] = power(x[lane]);
            sums[lane] += x[lane];
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *x = power(*x);
        *sum += *x;
    }
    folded(sums, |a, b| a + b)
}
