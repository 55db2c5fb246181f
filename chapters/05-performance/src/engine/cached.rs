//! A step in pieces that fit the cache. A model without batch normalisation treats each image by itself, so a batch may go
//! through it a few images at a time: forward and backward, while what they leave is still in the second-level cache, with
//! gradients that add up. Memory is read for the weights alone, and the cores share the pieces instead of each operation.
//!
//! It is the accumulation of [`crate::memory::accumulate`], for speed and not for room.

use backprop::random::key;
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::{iter, ops::Range, thread};
use training::{
    Error, Result, Settings,
    autocast::{autocast, operands},
    checkpoint::Checkpoint,
    cpu::numbers,
    model::{CLASSES, Images, Logits, Network, PIXELS, Targets},
    optimizer::State,
    step::{Full, Learner, Scores, Stepper},
};

/// Sums of gradients that are kept apart: piece i is added to sum i mod 4, and the sums in their order, so the result has the
/// same bits for any number of threads.
const SUMS: usize = 4;

/// A model that is trained in pieces.
pub struct Pieces<M> {
    /// The model and its optimizer, with the first sum.
    whole: Full<M, Cpu>,
    dev: Cpu,
    /// Images of a piece.
    images: usize,
    /// The other sums, all zero between steps.
    others: Vec<Gradients<f32, Cpu>>,
    /// One thread each: operations in it find no others to share with.
    pools: Vec<ThreadPool>,
}

/// A piece's place in the batch, and its scores.
type Scored = (Range<usize>, Vec<f32>);

impl<M: Network<Cpu> + Clone + Send + Sync> Pieces<M> {
    /// The model with the weights that the device's seed gives, and an optimizer that has seen nothing. A piece has this
    /// many images.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory, [`Error::Config`] if there are no threads.
    pub fn new(dev: &Cpu, settings: &Settings, images: usize) -> Result<Self> {
        let whole = Full::<M, Cpu>::new(dev, settings)?;
        let sum = || whole.model.try_alloc_grads().map_err(Error::device);
        let others = iter::repeat_with(sum).take(SUMS - 1).collect::<Result<_>>()?;
        let pool = |_| {
            ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| {
                Error::Config(format!(
                    "the system has no more threads ({error}); end other programs"
                ))
            })
        };
        let threads = rayon::current_num_threads().min(SUMS);
        let pools = (0..threads).map(pool).collect::<Result<_>>()?;
        Ok(Self { whole, dev: dev.clone(), images: images.max(1), others, pools })
    }

    /// Forward and backward, piece by piece. The scores of the batch, row by row; the gradients are in the first sum.
    fn passes(&mut self, images: &Images<Cpu>, targets: &Targets<Cpu>) -> Scores {
        // As many numbers as the whole batch would take; the last one is where the pieces' own begin.
        let seed = (0..M::DRAWS_PER_STEP).fold(0, |_, _| self.dev.random_u64());
        let (x, t) = (numbers(images), numbers(targets));
        let (x, t) = (x.map_err(Error::device)?, t.map_err(Error::device)?);
        let (rows, each, model) = (images.shape().0, self.images, &self.whole.model);
        let read = operands(); // the pieces' threads don't know it
        let piece = |grads: &mut Gradients<f32, Cpu>, number: usize| {
            let range = number * each..rows.min((number + 1) * each);
            // A device of its own: its masks depend on the step and the piece, and not on the threads.
            let dev = Cpu::seed_from_u64(key(&[seed, number as u64]));
            let of =
                |values: &[f32], width| values[range.start * width..range.end * width].to_vec();
            let images: Images<Cpu> =
                dev.try_tensor_from_vec(of(&x, PIXELS), (range.len(), Const))?;
            let targets: Targets<Cpu> =
                dev.try_tensor_from_vec(of(&t, CLASSES), (range.len(), Const))?;
            let lent = std::mem::replace(grads, Gradients::leaky());
            autocast(read, || {
                let scores = model.clone().learn(images.traced(lent))?;
                let values = scores.as_vec();
                let loss = cross_entropy_with_logits_loss(scores, targets);
                *grads = loss.try_mul(range.len() as f32 / rows as f32)?.try_backward()?;
                Ok::<Scored, CpuError>((range, values))
            })
        };
        let pieces = rows.div_ceil(each);
        let chain = |(first, grads): (usize, &mut Gradients<f32, Cpu>)| {
            (first..pieces).step_by(SUMS).map(|number| piece(grads, number)).collect::<Vec<_>>()
        };
        // Each thread takes some of the sums.
        let mut shares: Vec<Vec<_>> = self.pools.iter().map(|_| Vec::new()).collect();
        let sums = iter::once(&mut self.whole.grads).chain(&mut self.others);
        for (first, grads) in sums.enumerate() {
            let count = shares.len();
            shares[first % count].push((first, grads));
        }
        let done: Vec<_> = thread::scope(|scope| {
            let started: Vec<_> = (self.pools.iter().zip(shares))
                .map(|(pool, own)| {
                    let work = || own.into_iter().flat_map(chain).collect::<Vec<_>>();
                    scope.spawn(move || pool.install(work))
                })
                .collect();
            started.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let mut scores = vec![0.0; rows * CLASSES];
        for share in done {
            let share = share.map_err(|_| Error::Config("a thread of the step panicked".into()))?;
            for scored in share {
                let (range, values) = scored.map_err(Error::device)?;
                scores[range.start * CLASSES..range.end * CLASSES].copy_from_slice(&values);
            }
        }
        self.join()?;
        Ok(scores)
    }

    /// Adds all sums to the first one, and leaves zeros in the others.
    fn join(&mut self) -> Result<()> {
        let Full { model, grads, .. } = &mut self.whole;
        let mut join = Join { first: grads, rest: &mut self.others };
        M::iter_tensors(&mut RecursiveWalker { m: &*model, f: &mut join })
            .map_err(Error::device)?;
        Ok(())
    }
}

/// Adds gradients to the first ones.
struct Join<'g> {
    first: &'g mut Gradients<f32, Cpu>,
    rest: &'g mut [Gradients<f32, Cpu>],
}

impl TensorVisitor<f32, Cpu> for Join<'_> {
    type Viewer = ViewTensorRef;
    type Err = CpuError;
    type E2 = f32;
    type D2 = Cpu;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, Cpu>,
        p: &Tensor<S, f32, Cpu>,
    ) -> Result<Option<Tensor<S, f32, Cpu>>, CpuError> {
        if options.do_gradient_update {
            let sum = self.first.get_or_alloc_mut(p)?;
            for other in &mut *self.rest {
                for (sum, more) in sum.iter_mut().zip(other.get_or_alloc_mut(p)?.iter_mut()) {
                    *sum += std::mem::take(more);
                }
            }
        }
        Ok(None)
    }
}

impl<M: Network<Cpu> + Clone + Send + Sync> Learner for Pieces<M> {
    fn skip(&self, dev: &Cpu, steps: usize) {
        self.whole.skip(dev, steps);
    }

    fn gradients(&mut self, images: Images<Cpu>, targets: Targets<Cpu>) -> Result<Logits<Cpu>> {
        let scores = self.passes(&images, &targets)?;
        self.dev.try_tensor_from_vec(scores, (images.shape().0, Const)).map_err(Error::device)
    }

    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        self.whole.pack(row)
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        self.whole.unpack(row)
    }

    fn update(&mut self, lr: f64) -> Result<()> {
        self.whole.update(lr)
    }

    fn discard(&mut self) -> Result<()> {
        self.whole.discard()
    }
}

impl<M: Network<Cpu> + Clone + Send + Sync> Stepper for Pieces<M> {
    type Device = Cpu;

    fn step(&mut self, lr: f64, images: Images<Cpu>, targets: Targets<Cpu>) -> Scores {
        let scores = self.passes(&images, &targets)?;
        self.update(lr)?;
        Ok(scores)
    }

    fn scores(&self, images: Images<Cpu>) -> Result<Vec<f32>> {
        self.whole.scores(images)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.whole.parameters()
    }

    fn learned(&self) -> usize {
        self.whole.learned()
    }

    fn state(&self) -> Result<State> {
        self.whole.state()
    }

    fn restore(&mut self, dev: &Cpu, saved: &Checkpoint) -> Result<()> {
        self.whole.restore(dev, saved)
    }
}
