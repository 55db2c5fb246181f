//! Replicas on one machine, in the place of a trainer in a user's run: each a thread, on its part of the cores or on a device.

use super::{how::How, rank::Rank};
use crate::{
    Error, Model, Result, gpu,
    train::{
        Backend, Settings, Step, Trainer,
        adamw::Moments,
        batches::{self, Batch},
        trainer,
    },
};
use cpu_gpu::gpu::open;
use engine::{backend, cpu::Cpu, tensor::Place};
use engine_gpu::Gpu;
use lab::Device;
use matmul::parallel::available;
use mixed_precision::amp::scaler::Scaler;
use multi_gpu::{
    Communicator,
    comm::gpus::{Joined, over_nccl},
    replicas::run::device_of,
    threads::{self, Threads},
};
use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

/// The most replicas on one machine.
const MOST: usize = 64;

/// Refuses replicas that can't share a batch of so many sequences.
///
/// # Errors
/// [`Error::Config`] for none, or for more than `MOST` or than there are sequences.
pub fn can_share(replicas: usize, batch: usize) -> Result<()> {
    let most = MOST.min(batch.max(1));
    if (1..=most).contains(&replicas) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "{replicas} replicas can't share a batch of {batch} sequences on one machine; take 1 to {most}"
    )))
}

/// Parameters and their two means.
const STATE: [Place; 3] = [Place::Params, Place::Mean, Place::Square];

/// Replicas that train together, each in a thread of its own.
///
/// They take a trainer's place in its loop: they begin where it stands, and hand back what they came to, so that its
/// checkpoints, samples and validation go on as before. A thread that ends takes its communicator with it, so that the others
/// end at once.
pub struct Replicas {
    settings: Settings,
    step: u64,
    asks: Vec<Sender<Ask>>,
    threads: Vec<JoinHandle<multi_gpu::Result<()>>>,
    note: Option<String>,
}

/// What a replica is asked for.
enum Ask {
    /// A step on a batch, in a run of so many.
    Step(Arc<Batch>, u64, Sender<Step>),
    /// What it has come to.
    State(Sender<State>),
}

/// Parameters and both means, and the factor in f16.
type State = ([Vec<f32>; 3], Option<Scaler>);

/// Where all replicas begin.
struct Begin {
    model: Model,
    moments: Moments,
    scaler: Option<Scaler>,
    settings: Settings,
    step: u64,
    replicas: usize,
    /// The first one's.
    device: Option<Device>,
}

impl Replicas {
    /// So many replicas of a trainer, at its step, on the cores or on devices from this one on.
    ///
    /// # Errors
    /// As [`can_share`]; a sentence for more memory than a device has; what it or its compiler says.
    pub fn new(begun: &Trainer, replicas: usize, device: Option<Device>) -> Result<Self> {
        let Trainer { settings, step, scaler, .. } = *begun;
        can_share(replicas, settings.batch)?;
        let (model, moments) = (begun.model(), begun.moments());
        let begin = Arc::new(Begin { model, moments, scaler, settings, step, replicas, device });
        let (come, ready) = channel();
        let start = |comm| {
            let ((ask, asks), come) = (channel(), come.clone());
            let begin = Arc::clone(&begin);
            (ask, thread::spawn(move || Ok(begin.replica(comm, come, &asks)?)))
        };
        let (asks, threads) = Threads::ranks(replicas).into_iter().map(start).unzip();
        drop(come);
        let mut own = Self { settings, step, asks, threads, note: None };
        own.note = own.all(&ready, replicas)?.swap_remove(0);
        Ok(own)
    }

    /// What so many of them say; or why one has ended.
    fn all<T>(&mut self, said: &Receiver<T>, wanted: usize) -> Result<Vec<T>> {
        let all: Vec<T> = said.iter().collect();
        if all.len() == wanted.max(1) {
            return Ok(all); // none of none is an end that was told before
        }
        self.end()?;
        Err(Error::Config("the replicas have ended".to_owned()))
    }

    fn end(&mut self) -> Result<()> {
        self.asks.clear();
        threads::together(self.threads.drain(..).map(JoinHandle::join).collect())?;
        Ok(())
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        let _ = self.end(); // nobody asks for what they came to
    }
}

impl Begin {
    /// A replica, as long as it is asked for something.
    fn replica(
        &self,
        comm: Threads,
        come: Sender<Option<String>>,
        asks: &Receiver<Ask>,
    ) -> Result<()> {
        let Self { model, settings, replicas, .. } = self;
        let split = How::Data.split(settings, *replicas);
        let Some(first) = self.device else {
            let threads = (available() / replicas).max(1);
            let cores = |peers| Cpu::new(threads).with_ranks(peers);
            let rank = Rank::new(model, split, *settings, Arc::new(Mutex::new(comm)), cores)?;
            return self.serve(rank, (come, None), asks);
        };
        let device = device_of(first, comm.rank().0);
        let gpu = open(&device.id())?;
        let gpu = Gpu::new(&*gpu);
        let Joined { comm, told, here } = over_nccl(comm, device)?;
        let bytes = |batch| gpu::bytes(&model.config, settings, batch);
        gpu.fits(settings.batch, "sequences", [*replicas, here], bytes)?;
        let split = split.in_order(split.order.0, 1); // all of its sequences at once
        let rank = Rank::new(model, split, *settings, comm, |peers| gpu.with_ranks(peers))?;
        self.serve(rank, (come, told), asks)
    }

    fn serve<C: Communicator + ?Sized + 'static, B: backend::Backend>(
        &self,
        mut rank: Rank<C, B>,
        (come, told): (Sender<Option<String>>, Option<String>),
        asks: &Receiver<Ask>,
    ) -> Result<()> {
        let (parameters, moments) = (&self.model.parameters, &self.moments);
        let at = (self.step, self.scaler);
        trainer::restore(&mut rank.member.step, at, parameters, moments);
        (rank.step, rank.scaler) = at;
        rank.member.check()?;
        let _ = come.send(told); // who does not wait for it will ask for nothing
        drop(come);
        for ask in asks {
            match ask {
                Ask::Step(batch, steps, said) => {
                    rank.settings.steps = steps;
                    let _ = said.send(rank.step(&batch)?);
                }
                Ask::State(said) => {
                    let state = STATE.map(|place| rank.member.step.to_file(place));
                    rank.member.check()?;
                    let _ = said.send((state, rank.scaler));
                }
            }
        }
        Ok(())
    }
}

impl Backend for Replicas {
    fn step(&mut self, stream: &[u32]) -> Result<Step> {
        let batch = Arc::new(batches::batch(&self.settings, self.step, stream)?);
        let (say, said) = channel();
        for ask in &self.asks {
            let step = Ask::Step(Arc::clone(&batch), self.settings.steps, say.clone());
            let _ = ask.send(step); // one that has ended says nothing
        }
        drop(say);
        let step = self.all(&said, self.asks.len())?[0];
        self.step = step.step;
        Ok(step)
    }

    fn plan(&mut self, steps: u64) {
        self.settings.steps = steps;
    }

    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()> {
        let (say, said) = channel();
        if let Some(first) = self.asks.first() {
            let _ = first.send(Ask::State(say));
        }
        let ([parameters, m, v], scaler) = self.all(&said, 1)?.swap_remove(0);
        trainer.scaler = scaler;
        trainer.restore(self.step, &parameters, &Moments { m, v });
        Ok(())
    }

    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}
