//! How parameters move: an optimizer's code for a CPU, its kernel for a GPU, and the programs that a step makes of them.

use crate::{
    device::Launch,
    params::{ALIGN, WHOLE},
    program::Numbers,
    record::{Pass, Recorder},
    state,
    sums::dot,
    tensor::{Place, Tensor},
    words::whole,
};
use backprop::adam::{Adam, Factors, fused};
use std::{ops::Range, sync::Arc};

/// `update.cl`: optimizers' rules, and the squares of a gradient.
pub const UPDATE: &str =
    concat!(include_str!("../kernels/rows.h"), include_str!("../kernels/update.cl"));

/// An optimizer: its code for a CPU, and its kernel for a GPU.
#[derive(Clone)]
pub struct Rule {
    code: Arc<dyn Fn(Update) + Send + Sync>,
    /// Which of `update.cl`'s rules, and the fraction of itself that a parameter loses, before the learning rate.
    kernel: Option<(Kernel, f32)>,
    /// What Adam's kernels take of its constants.
    pub(crate) means: Adam,
    /// Parameters that lose nothing.
    spared: Vec<Range<usize>>,
}

/// A rule of `update.cl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Stochastic gradient descent.
    Sgd = 0,
    /// With a velocity.
    Momentum = 1,
    /// Over the root of the mean square.
    RmsProp = 2,
    /// Kingma and Ba 2015.
    Adam = 3,
    /// Adam whose decay is no part of the gradient.
    AdamW = 4,
}

/// What each of them does for a parameter that loses nothing: Adam's are [`backprop::adam::OPERATIONS`].
const OPERATIONS: [usize; 5] = [2, 4, 9, 12, 12];

impl Rule {
    /// For both.
    pub fn new(
        code: impl Fn(Update) + Send + Sync + 'static,
        kernel: Option<(Kernel, f32)>,
    ) -> Self {
        Self { code: Arc::new(code), kernel, means: Adam::default(), spared: Vec::new() }
    }

    /// On a GPU with other means than Adam's paper has, and without decay of some tensors.
    #[must_use]
    pub fn with(self, means: Adam, spared: Vec<Range<usize>>) -> Self {
        Self { means, spared, ..self }
    }

    /// [`adam`] on both.
    pub fn adam() -> Self {
        Self::new(adam, Some((Kernel::Adam, 0.0)))
    }
}

/// What an optimizer gets of some parameters: all of one length.
pub struct Update<'a> {
    /// The number of the step, from 1.
    pub step: i32,
    /// The learning rate.
    pub rate: f32,
    /// What the gradient is multiplied with.
    pub clip: f32,
    /// Where these parameters begin in their buffer.
    pub first: usize,
    /// The parameters.
    pub p: &'a mut [f32],
    /// A memory of the gradients, and one of their squares. Both start with zeros.
    pub means: [&'a mut [f32]; 2],
    /// The gradient. The next pass writes over it.
    pub g: &'a mut [f32],
}

/// Adam with its paper's defaults, by chapter 3.
pub fn adam(update: Update) {
    let Update { step, rate, clip, p, means: [m, v], g, .. } = update;
    let rule = Adam { lr: f64::from(rate), ..Adam::default() };
    fused(Factors::new(&rule, step).clipped(clip), p, m, v, g);
}

/// A pass over all parameters.
pub const ALONE: Pass = Pass { rows: 1, training: true, numbers: Numbers::F32, adds: false };

/// The squares of so many words of a gradient, a sum for each row of them.
pub(crate) fn squares(cx: &mut Recorder, words: usize) -> Tensor {
    let gradient = Tensor::new(Place::Gradient, 0, words / WHOLE, WHOLE);
    let squares = cx.tensor(words / WHOLE, 1);
    cx.of("norm", |cx| {
        let (reads, writes) = ([gradient.by_rows()], [squares.by_rows()]);
        cx.rows("squares", words / WHOLE, reads, writes, |_, [gradient], [squares]| {
            lab::wide!(|| for (row, square) in gradient.chunks_exact(WHOLE).zip(squares) {
                *square = dot(row, row);
            });
        })
        .costs(2 * words)
        .launches(Launch::of_rows(UPDATE, "squares", words / WHOLE, WHOLE));
    });
    squares
}

/// What an update multiplies a gradient with, from sums of its squares: it is written where the update finds it. The gradient's
/// length.
pub(crate) fn clip(cx: &mut Recorder, squares: Tensor) -> Tensor {
    let (state, norm) = (state::tensor(), cx.tensor(1, 1));
    cx.of("norm", |cx| {
        let (reads, writes) = ([squares.whole()], [state, norm].map(Tensor::by_rows));
        cx.rows("clip", 1, reads, writes, |_, [squares], [state, norm]| {
            let length = squares.iter().map(|x| f64::from(*x)).sum::<f64>().sqrt();
            norm[0] = length as f32;
            let (limit, clip) = (f64::from(state[state::LIMIT]), &mut state[state::CLIP]);
            *clip = match length {
                _ if *clip < 0.0 || !length.is_finite() => -1.0, // nothing moves
                _ if length > limit => (limit / length) as f32,
                _ => 1.0,
            };
        })
        .costs(squares.words())
        .launches(Launch::new(UPDATE, "clip", [1, 1], [32, 8]).with(&[squares.words()]));
    });
    norm
}

/// The update of some parameters, from their two means and their gradient, which are as long. `start` is where they begin in
/// the buffer of all, of which a rank may keep a part.
pub fn update(cx: &mut Recorder, rule: &Rule, start: usize, [p, m, v, g]: [Tensor; 4]) {
    let Rule { code, kernel, means, spared } = rule;
    let (state, words) = (state::tensor(), p.words());
    let row = if words.is_multiple_of(WHOLE) { WHOLE } else { 1 };
    cx.of("update", |cx| {
        let (code, units) = (Arc::clone(code), words / row);
        let writes = [p, m, v, g].map(Tensor::by_rows);
        let call =
            cx.rows("update", units, [state.whole()], writes, move |at, [state], [p, m, v, g]| {
                let (step, first) = (whole(state)[state::STEP] as i32, start + at * row);
                let (rate, clip) = (state[state::RATE], state[state::CLIP]);
                if clip < 0.0 {
                    return;
                }
                code(Update { step, rate, clip, first, p, means: [m, v], g });
            });
        let rule = kernel.map_or(Kernel::Adam, |(rule, _)| rule);
        call.costs(OPERATIONS[rule as usize] * words);
        if let Some((rule, decay)) = *kernel {
            let launch = Launch::each(UPDATE, "update", words).real(decay);
            let Adam { beta1, beta2, .. } = *means;
            let numbers = [beta1, 1.0 - beta1, beta2, 1.0 - beta2];
            let launch = numbers.into_iter().fold(launch, |launch, x| launch.real(x as f32));
            let some = usize::from(!spared.is_empty());
            let launch = launch.with(&[start % ALIGN]);
            let launch = launch.compiled(&[("RULE", rule as usize), ("SPARED", some)]);
            call.launches(launch.reading(bits(start..start + words, spared).into()));
        }
    });
}

/// A bit for each [`ALIGN`] of a buffer that some of these `words` lie in, which says whether they are among these; nothing for
/// none.
fn bits(words: Range<usize>, some: &[Range<usize>]) -> Vec<u32> {
    let all = words.start / ALIGN..words.end.div_ceil(ALIGN);
    let mut bits = vec![0; if some.is_empty() { 0 } else { all.len().div_ceil(32) }];
    for at in some.iter().flat_map(|some| some.start / ALIGN..some.end.div_ceil(ALIGN)) {
        if all.contains(&at) {
            let at = at - all.start;
            bits[at / 32] |= 1 << (at % 32);
        }
    }
    bits
}
