//! A convolution by its definition, in f64. Tests of later chapters use this file by `#[path]`.

/// A convolution of an image with filters (k, k, ci, co) and a bias.
pub fn convolve(
    x: &[f64],
    [filters, b]: [&[f64]; 2],
    [h, w, ci]: [usize; 3],
    [k, pad]: [usize; 2],
) -> Vec<f64> {
    let pixel = |y: usize, x_at: usize, c: usize| {
        let inside = (pad..h + pad).contains(&y) && (pad..w + pad).contains(&x_at);
        if inside { x[((y - pad) * w + x_at - pad) * ci + c] } else { 0.0 }
    };
    let (oh, ow, co) = (h + 2 * pad + 1 - k, w + 2 * pad + 1 - k, b.len());
    let mut out = Vec::new();
    for (y, x, o) in (0..oh * ow * co).map(|i| (i / co / ow, i / co % ow, i % co)) {
        let terms = (0..k * k * ci).map(|t| (t / ci / k, t / ci % k, t % ci));
        let sum = terms
            .enumerate()
            .map(|(t, (dy, dx, c))| pixel(y + dy, x + dx, c) * filters[t * co + o]);
        out.push(b[o] + sum.sum::<f64>());
    }
    out
}
