//! Layer normalisation, forward and backward. Ba, Kiros and Hinton 2016.

use backprop::real::Real;

/// What the forward pass keeps of a row.
#[derive(Clone, Copy, Debug)]
pub struct Moments<T> {
    /// The mean of its values.
    pub mean: T,
    /// The mean square of their distances from the mean.
    pub variance: T,
}

/// y = gain·(x − mean) / √(variance + ε) + bias, and the moments of each row. The rows of `x`, one after the other, are as
/// long as `gain` and `bias`.
pub fn forward<T: Real>(x: &[T], gain: &[T], bias: &[T], epsilon: T) -> (Vec<T>, Vec<Moments<T>>) {
    let n = T::of(gain.len() as f64);
    let (mut y, mut moments) = (Vec::with_capacity(x.len()), Vec::new());
    for row in x.chunks_exact(gain.len()) {
        let mean = row.iter().copied().sum::<T>() / n;
        let variance = row.iter().map(|x| (*x - mean) * (*x - mean)).sum::<T>() / n;
        let scale = T::ONE / (variance + epsilon).sqrt();
        y.extend((0..row.len()).map(|j| gain[j] * (row[j] - mean) * scale + bias[j]));
        moments.push(Moments { mean, variance });
    }
    (y, moments)
}

/// The derivatives of the loss.
#[derive(Clone, Debug)]
pub struct Gradients<T> {
    /// With respect to x, row after row.
    pub input: Vec<T>,
    /// With respect to the gain, summed over the rows.
    pub gain: Vec<T>,
    /// With respect to the bias, summed over the rows.
    pub bias: Vec<T>,
}

/// The gradients, from `dy`, that of the output, and from what [`forward`] was given and kept.
pub fn backward<T: Real>(
    x: &[T],
    gain: &[T],
    epsilon: T,
    moments: &[Moments<T>],
    dy: &[T],
) -> Gradients<T> {
    let width = gain.len();
    let mut gradients = Gradients {
        input: vec![T::ZERO; x.len()],
        gain: vec![T::ZERO; width],
        bias: vec![T::ZERO; width],
    };
    let rows = x.chunks_exact(width).zip(dy.chunks_exact(width)).zip(moments);
    for (((x, dy), moments), dx) in rows.zip(gradients.input.chunks_exact_mut(width)) {
        let scale = T::ONE / (moments.variance + epsilon).sqrt();
        // EXERCISE: begin
        let normal = |j: usize| (x[j] - moments.mean) * scale;
        // First pass: the parameters' gradients, and two sums over the row.
        let (mut through_mean, mut through_variance) = (T::ZERO, T::ZERO);
        for j in 0..width {
            gradients.bias[j] += dy[j];
            gradients.gain[j] += dy[j] * normal(j);
            through_mean += dy[j] * gain[j];
            through_variance += dy[j] * gain[j] * normal(j);
        }
        let n = T::of(width as f64);
        let (through_mean, through_variance) = (through_mean / n, through_variance / n);
        // Second pass: each input, directly and through the two moments.
        for j in 0..width {
            dx[j] = scale * (dy[j] * gain[j] - through_mean - normal(j) * through_variance);
        }
        // EXERCISE: instead
        // // As if mean and variance were constants. The gradients of gain and bias, which need both of these, stay zero.
        // let _ = (x, moments.mean);
        // for j in 0..width {
        //     dx[j] = scale * gain[j] * dy[j];
        // }
        // EXERCISE: end
    }
    gradients
}
