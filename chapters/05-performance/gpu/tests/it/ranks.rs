//! Several devices that take one step together, each with a part of the batch.

use crate::steps::{BATCH, batch, error, models, step_of};
use cpu_gpu::gpu::{open, testing::opencl};
use engine::{
    backend::{Backend as _, Form},
    model::{self, Model},
    program::{Call, Collective, Numbers, Program, What},
    ranks::{Failed, Ranks},
    record::Pass,
    rule::Rule,
    step::{Split, Step, program},
    tensor::{Place, Tensor},
};
use engine_gpu::Gpu;
use std::{
    collections::VecDeque,
    sync::{Arc, Barrier, Mutex},
    thread,
};

/// A rank that is a thread. A sum that begins is made where it ends.
struct Peer {
    rank: usize,
    all: Arc<(Barrier, Mutex<Vec<Vec<f32>>>)>,
    begun: VecDeque<Vec<f32>>,
}

impl Ranks for Peer {
    fn meet(
        &mut self,
        what: What,
        _: usize,
        given: &[f32],
        numbers: &mut [f32],
    ) -> Result<(), Failed> {
        if what == What::Begin {
            self.begun.push_back(given.to_vec());
            return Ok(());
        }
        let own = if what == What::End { self.begun.pop_front() } else { Some(numbers.to_vec()) };
        let (barrier, all) = &*self.all;
        all.lock().unwrap()[self.rank] = own.ok_or("no sum has begun")?;
        barrier.wait();
        numbers.fill(0.0);
        for other in &*all.lock().unwrap() {
            numbers.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
        }
        barrier.wait();
        Ok(())
    }
}

/// Sums the gradient over the ranks: whole, or in two buckets.
struct Summed {
    buckets: bool,
}

impl Split for Summed {
    fn pass(&self, model: &Model, pass: Pass, form: Form) -> Program {
        let (mut program, words) = (program(model, pass, form), model.params.words());
        let of = |start, len| Some(Tensor::new(Place::Gradient, start, 1, len));
        let mut sum = |what, given, result| {
            let sum = Collective { what, group: 0, given, result };
            program.calls.push(Call::collective("replicas", sum));
        };
        if self.buckets {
            let halves = [of(words / 2, words - words / 2), of(0, words / 2)];
            for half in &halves {
                sum(What::Begin, *half, None);
            }
            for half in &halves {
                sum(What::End, None, *half);
            }
        } else {
            sum(What::Sum, None, of(0, words));
        }
        program
    }
}

/// The last gradient and the parameters.
fn learned(step: &Step<Gpu>) -> [Vec<f32>; 2] {
    step.device.check().unwrap();
    let all = |place| step.device.read(step.model.params.all(place)).into_owned();
    [Place::Gradient, Place::Params].map(all)
}

/// What some steps of a rank come to.
fn replica(id: &str, peer: Peer, model: Model, ranks: usize) -> [Vec<f32>; 2] {
    let (gpu, rank) = (open(id).unwrap(), peer.rank);
    let split = Box::new(Summed { buckets: ranks.is_multiple_of(2) });
    let device = Gpu::new(&*gpu).with_ranks(peer);
    let mut step = Step::split(device, model, 1, Rule::adam(), split);
    let (mut cpu, rows) = (step_of(model::linear(3), 1), BATCH / ranks);
    let part = rank * rows..(rank + 1) * rows;
    for number in 0..2 {
        batch(number, &mut cpu);
        let (images, labels) = cpu.batch(BATCH);
        step.fill(rows, &images[part.start * 784..part.end * 784], &labels[part.clone()]);
        let pass = Pass { rows, training: true, numbers: Numbers::F32, adds: false };
        step.part(pass, part.start, 1.0 / BATCH as f32);
        step.skip(1);
        step.update(1e-3);
    }
    learned(&step)
}

/// The same of one device that takes the parts one after the other: a batch normalisation sees each alone.
fn one(gpu: &dyn cpu_gpu::gpu::Gpu, model: Model, ranks: usize) -> [Vec<f32>; 2] {
    let mut step = Step::on(Gpu::new(gpu), model, 1, Rule::adam());
    let mut cpu = step_of(model::linear(3), 1);
    for number in 0..2 {
        batch(number, &mut cpu);
        let (images, labels) = cpu.batch(BATCH);
        for part in engine::record::pieces(BATCH, BATCH / ranks) {
            let images = &images[part.start * 784..part.end * 784];
            step.fill(part.len(), images, &labels[part.clone()]);
            step.piece(part, BATCH, Numbers::F32);
        }
        step.update(1e-3);
    }
    learned(&step)
}

#[test]
fn replicas_take_the_steps_of_one_device() {
    let Some(gpu) = opencl() else { return };
    let id = &*gpu.about().id;
    for at in 0..models().len() {
        let ranks = 2 + at % 2;
        let [gradient, params] = one(&*gpu, models().remove(at), ranks);
        let all = Arc::new((Barrier::new(ranks), Mutex::new(vec![vec![]; ranks])));
        let peer = |rank| Peer { rank, all: Arc::clone(&all), begun: VecDeque::new() };
        let found: Vec<_> = thread::scope(|scope| {
            let start = |rank| {
                let peer = peer(rank);
                scope.spawn(move || replica(id, peer, models().remove(at), ranks))
            };
            let all: Vec<_> = (0..ranks).map(start).collect();
            all.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        assert!(found.iter().all(|other| *other == found[0]), "model {at}, {ranks} ranks");
        let far = error(&found[0][0], &gradient);
        assert!(far < 1e-3, "model {at}, {ranks} ranks: the gradient is {far} off");
        let far = error(&found[0][1], &params);
        assert!(far < 1e-3, "model {at}, {ranks} ranks: parameters {far}");
    }
}

#[test]
fn without_others_it_says_so_and_does_nothing_any_more() {
    let Some(gpu) = opencl() else { return };
    let split = Box::new(Summed { buckets: false });
    let mut step = Step::split(Gpu::new(&*gpu), model::linear(3), 1, Rule::adam(), split);
    step.fill(2, &[0.0; 2 * 784], &[0; 2]);
    step.gradient(2, Numbers::F32);
    let why = step.device.check().unwrap_err().to_string();
    assert_eq!(why, "this device has no other ranks to speak to");
    assert!(step.predict(2).is_empty());
}
