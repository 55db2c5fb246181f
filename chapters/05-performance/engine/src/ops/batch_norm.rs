//! Batch normalisation: each channel with mean 0 and variance 1 over all pixels of the batch, then scaled and shifted as
//! learned; predictions take the running mean and variance. Ioffe and Szegedy 2015, algorithms 1 and 2.
//!
//! The sums of a block of images are made while its pixels are in the cache. Then all blocks have to be done: what follows is
//! another pass over them, forward and backward. `ReLU` is part of that pass.

use crate::{
    device::Launch,
    ops::{
        Backward, Op,
        channels::{fold, repeated, sums},
        relu::{at_least, through},
    },
    params::Params,
    program::block_of,
    record::Recorder,
    tensor::Tensor,
};

/// `batch_norm.cl`.
const BATCH_NORM: &str =
    concat!(include_str!("../../kernels/down.h"), include_str!("../../kernels/batch_norm.cl"));
const EPSILON: f32 = 1e-5;
/// What a batch adds to the running statistics.
const MOMENTUM: f32 = 0.1;

/// A batch normalisation, and `ReLU` behind it if it is asked for.
pub struct BatchNorm {
    name: String,
    scale: Tensor,
    bias: Tensor,
    running: [Tensor; 2],
    relu: bool,
}

impl BatchNorm {
    /// For images of so many channels.
    pub fn new(params: &mut Params, name: &str, channels: usize) -> Self {
        Self {
            name: name.to_owned(),
            scale: params.constant(&format!("{name}.scale"), channels, 1.0),
            bias: params.constant(&format!("{name}.bias"), channels, 0.0),
            running: [("mean", 0.0), ("var", 1.0)]
                .map(|(of, value)| params.keep(&format!("{name}.running_{of}"), channels, value)),
            relu: false,
        }
    }

    /// With `ReLU` behind it.
    #[must_use]
    pub fn relu(self) -> Self {
        Self { relu: true, ..self }
    }
}

impl Op for BatchNorm {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let Self { scale, bias, running, relu, .. } = *self;
        let (units, x) = (cx.pass.rows, cx.rows_of(x, scale.cols));
        let y = cx.like(x);
        let each = move |entry| {
            let launch = Launch::each(BATCH_NORM, entry, x.words());
            launch.with(&[scale.cols, usize::from(relu)])
        };
        let moments =
            if cx.pass.training { of_batch(cx, x, running) } else { of_record(cx, running) };
        let reads = [x.by_rows(), moments.whole(), scale.whole(), bias.whole()];
        cx.rows("norm", units, reads, [y.by_rows()], move |_, [x, moments, scale, bias], [y]| {
            normalise(x, moments, [scale, bias], relu, y);
        })
        .costs(4 * x.words())
        .launches(each("normalise"));
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let [down, along] = sums_backward(cx, [dy, y, x, moments], relu);
            cx.sum(bias.gradient(), down);
            cx.sum(scale.gradient(), along);
            let (dx, means) = (cx.like(x), means(cx, [down, along], x.rows));
            let [dy, y, images] = [dy, y, x].map(Tensor::by_rows);
            let [moments, scale, means] = [moments, scale, means].map(Tensor::whole);
            let reads = [dy, y, images, moments, scale, means];
            cx.rows("norm", units, reads, [dx.by_rows()], move |_, reads, [dx]| {
                let [dy, y, x, moments, scale, means] = reads;
                images_backward([dy, y, x], [moments, scale, means], relu, dx);
            })
            .costs(6 * x.words())
            .launches(each("images_backward"));
            Some(dx)
        };
        (y, Box::new(backward))
    }
}

/// (x − mean) / deviation · scale + bias, then `ReLU`.
fn normalise(x: &[f32], moments: &[f32], [scale, bias]: [&[f32]; 2], relu: bool, y: &mut [f32]) {
    let (mean, inverse) = moments.split_at(scale.len());
    let times: Vec<f32> = scale.iter().zip(inverse).map(|(s, i)| s * i).collect();
    let [mean, times, bias] = [mean, &times, bias].map(repeated);
    let floor = if relu { 0.0 } else { f32::NEG_INFINITY };
    lab::wide!(|| for (x, y) in x.chunks(mean.len()).zip(y.chunks_mut(mean.len())) {
        let each = mean.iter().zip(&times).zip(&bias).zip(x);
        for (y, (((mean, times), bias), x)) in y.iter_mut().zip(each) {
            *y = at_least(floor, (x - mean) * times + bias);
        }
    });
}

/// Calls `work` with what comes to each line of the normalised pixels, and with the pixels.
#[inline(always)]
fn each_line(
    [dy, y, x]: [&[f32]; 3],
    line: usize,
    relu: bool,
    mut work: impl FnMut(usize, &[f32], &[f32]),
) {
    let mut room = vec![0.0; line];
    let given = dy.chunks(line).zip(y.chunks(line)).zip(x.chunks(line));
    for (number, ((dy, y), x)) in given.enumerate() {
        let room = &mut room[..dy.len()];
        if relu {
            room.iter_mut().zip(dy.iter().zip(y)).for_each(|(to, (dy, y))| *to = through(*y, *dy));
        }
        work(number * line, if relu { room } else { dy }, x);
    }
}

/// With g what comes to the normalised pixels x̂ and t = scale / deviation:
/// dx = t·(g − mean of g − x̂·mean of g·x̂) = t·g − steep·(x − mean) − flat.
fn images_backward(
    reads: [&[f32]; 3],
    [moments, scale, means]: [&[f32]; 3],
    relu: bool,
    dx: &mut [f32],
) {
    let (mean, inverse) = moments.split_at(scale.len());
    let rows: Vec<[f32; 3]> = (0..scale.len())
        .map(|c| {
            let t = scale[c] * inverse[c];
            [t, t * inverse[c] * means[scale.len() + c], t * means[c]]
        })
        .collect();
    let row = |of: usize| repeated(&rows.iter().map(|row| row[of]).collect::<Vec<_>>());
    let (mean, [times, steep, flat]) = (repeated(mean), [0, 1, 2].map(row));
    lab::wide!(|| each_line(reads, mean.len(), relu, |at, g, x| {
        let rows = mean.iter().zip(&times).zip(steep.iter().zip(&flat));
        let dx = dx[at..].iter_mut().zip(g.iter().zip(x).zip(rows));
        for (dx, ((g, x), ((mean, times), (steep, flat)))) in dx {
            *dx = g * times - (x - mean) * steep - flat;
        }
    }));
}

/// The sums of all rows of both, over a count of pixels.
fn means(cx: &mut Recorder, sums: [Tensor; 2], pixels: usize) -> Tensor {
    let Tensor { rows: parts, cols: channels, .. } = sums[0];
    let (means, reads) = (cx.tensor(2, channels), sums.map(Tensor::whole));
    cx.rows("means", 1, reads, [means.by_rows()], move |_, sums, [means]| {
        for (sums, means) in sums.iter().zip(means.chunks_exact_mut(channels)) {
            for (c, mean) in means.iter_mut().enumerate() {
                let own = sums[c..].iter().step_by(channels).copied().map(f64::from);
                *mean = (own.sum::<f64>() / pixels as f64) as f32;
            }
        }
    })
    .launches(Launch::each(BATCH_NORM, "means", channels).with(&[parts, pixels]));
    means
}

/// Mean and one over the deviation of each channel; the running ones move towards those of the batch.
fn of_batch(cx: &mut Recorder, x: Tensor, running: [Tensor; 2]) -> Tensor {
    let (units, channels) = (cx.pass.rows, running[0].cols);
    let pixels = x.rows / units;
    let down = cx.down(BATCH_NORM, "moments_of_parts", x);
    let each = cx.block() * pixels;
    // A mean for each block, and the sum of the squares around it.
    let parts = cx.parts(2 * channels);
    cx.rows("moments", units, [x.by_rows()], [parts.part()], move |_, [x], [parts]| {
        block_moments(x, parts);
    })
    .costs(4 * x.words())
    .launches(down);
    let (moments, reads) = (cx.tensor(2, channels), [parts.whole()]);
    let towards = if cx.is_again() { 0.0 } else { MOMENTUM }; // a batch counts once
    let launch = Launch::each(BATCH_NORM, "moments", channels);
    let writes = [moments, running[0], running[1]].map(Tensor::by_rows);
    cx.rows("moments", 1, reads, writes, move |_, [parts], [moments, mean, variance]| {
        let size = |block: usize| (block_of(units).min(units - block * block_of(units))) * pixels;
        let count = (units * pixels) as f64;
        for c in 0..channels {
            // Chan, Golub and LeVeque 1983, section 2.
            let of = |which: usize| {
                let own = parts[which * channels + c..].iter().step_by(2 * channels);
                own.enumerate().map(|(block, own)| (size(block) as f64, f64::from(*own)))
            };
            let all = of(0).map(|(size, own)| size * own).sum::<f64>() / count;
            let between: f64 = of(0).map(|(size, own)| size * (own - all) * (own - all)).sum();
            let within: f64 = of(1).map(|(_, own)| own).sum();
            let own = ((within + between) / count) as f32;
            moments[c] = all as f32;
            moments[channels + c] = 1.0 / (own + EPSILON).sqrt();
            let unbiased = (count / (count - 1.0).max(1.0)) as f32;
            mean[c] = (1.0 - towards) * mean[c] + towards * all as f32;
            variance[c] = (1.0 - towards) * variance[c] + towards * unbiased * own;
        }
    })
    .launches(launch.with(&[units * pixels, each]).real(towards));
    moments
}

/// Mean and one over the deviation that were noted in training.
fn of_record(cx: &mut Recorder, running: [Tensor; 2]) -> Tensor {
    let channels = running[0].cols;
    let moments = cx.tensor(2, channels);
    let reads = running.map(Tensor::whole);
    cx.rows("moments", 1, reads, [moments.by_rows()], move |_, [mean, variance], [moments]| {
        moments[..channels].copy_from_slice(mean);
        let inverse = variance.iter().map(|variance| 1.0 / (variance + EPSILON).sqrt());
        moments[channels..].iter_mut().zip(inverse).for_each(|(to, inverse)| *to = inverse);
    })
    .launches(Launch::each(BATCH_NORM, "of_record", channels));
    moments
}

/// The mean of each channel of some pixels, and the sum of squares around it. Around the first pixel the squares lose no
/// digits to a large mean.
fn block_moments(x: &[f32], parts: &mut [f32]) {
    let channels = parts.len() / 2;
    let (first, count) = (&x[..channels], (x.len() / channels) as f64);
    let (around, mut sum, mut squares) = (repeated(first), sums(channels), sums(channels));
    lab::wide!(|| for x in x.chunks(around.len()) {
        let both = sum.iter_mut().zip(&mut squares);
        for ((sum, square), (x, first)) in both.zip(x.iter().zip(&around)) {
            let apart = x - first;
            *sum += apart;
            *square += apart * apart;
        }
    });
    let (mean, around) = parts.split_at_mut(channels);
    fold(&sum, mean);
    fold(&squares, around);
    for ((mean, around), first) in mean.iter_mut().zip(around).zip(first) {
        let sum = f64::from(*mean);
        *around = (f64::from(*around) - sum * sum / count).max(0.0) as f32;
        *mean = (f64::from(*first) + sum / count) as f32;
    }
}

/// For each channel and block, the sum of what comes to the normalised pixels, and that times these.
fn sums_backward(cx: &mut Recorder, [dy, y, x, moments]: [Tensor; 4], relu: bool) -> [Tensor; 2] {
    let (units, channels) = (cx.pass.rows, moments.cols);
    let [down, along] = [(); 2].map(|()| cx.parts(channels));
    let launch = cx.down(BATCH_NORM, "sums_backward", x).with(&[usize::from(relu)]);
    let reads = [dy.by_rows(), y.by_rows(), x.by_rows(), moments.whole()];
    let writes = [down.part(), along.part()];
    cx.rows("norm sums", units, reads, writes, move |_, [dy, y, x, moments], [down, along]| {
        let [mean, inverse] = [0, 1].map(|row| repeated(&moments[row * channels..][..channels]));
        let (mut sum, mut product) = (sums(channels), sums(channels));
        lab::wide!(|| each_line([dy, y, x], mean.len(), relu, |_, g, x| {
            let both = sum.iter_mut().zip(&mut product);
            let given = g.iter().zip(x).zip(mean.iter().zip(&inverse));
            for ((sum, product), ((g, x), (mean, inverse))) in both.zip(given) {
                *sum += g;
                *product += g * ((x - mean) * inverse);
            }
        }));
        fold(&sum, down);
        fold(&product, along);
    })
    .costs(5 * x.words())
    .launches(launch);
    [down, along]
}
