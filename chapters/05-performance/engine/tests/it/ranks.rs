//! A program that asks other ranks, and what becomes of it when these fail.

use crate::steps::{BATCH, batch, error};
use engine::{
    backend::{Backend as _, Form},
    cpu::Cpu,
    model::{self, Model},
    program::{Call, Collective, Numbers, Program, What},
    ranks::{Failed, Ranks},
    record::{Pass, Recorder},
    rule::Rule,
    step::{Split, Step, program},
    tensor::{Place, Tensor},
};

/// As many ranks as this, all of which have the same numbers; none at all fails.
struct Alike(usize);

impl Ranks for Alike {
    fn meet(&mut self, _: What, _: usize, _: &[f32], numbers: &mut [f32]) -> Result<(), Failed> {
        let Self(ranks) = *self;
        for number in numbers {
            *number *= ranks as f32;
        }
        if ranks == 0 { Err("nobody is there".into()) } else { Ok(()) }
    }
}

/// Sums the gradient over the ranks.
struct Summed;

impl Split for Summed {
    fn pass(&self, model: &Model, pass: Pass, form: Form) -> Program {
        let mut program = program(model, pass, form);
        let result = Some(model.params.all(Place::Gradient));
        let sum = Collective { what: What::Sum, group: 0, given: None, result };
        program.calls.push(Call::collective("ranks", sum));
        program
    }
}

fn step(cpu: Cpu) -> Step {
    Step::split(cpu, model::mlp(3, 0.2), 1, Rule::adam(), Box::new(Summed))
}

fn gradient(step: &mut Step) -> Vec<f32> {
    batch(0, step);
    step.gradient(BATCH, Numbers::F32);
    step.all(Place::Gradient).to_vec()
}

#[test]
fn the_sum_of_equal_ranks_is_a_longer_gradient() {
    let [one, three] =
        [1, 3].map(|ranks| gradient(&mut step(Cpu::new(2).with_ranks(Alike(ranks)))));
    let longer: Vec<f32> = one.iter().map(|g| 3.0 * g).collect();
    assert!(error(&three, &longer) < 1e-6);
}

#[test]
fn nothing_is_done_after_a_failure() {
    let mut alone = step(Cpu::new(2));
    gradient(&mut alone);
    assert!(alone.device.told().unwrap_err().to_string().contains("no other ranks"));

    let mut step = step(Cpu::new(2).with_ranks(Alike(0)));
    let before = step.all(Place::Params).to_vec();
    gradient(&mut step);
    step.update(1e-3);
    assert_eq!(step.all(Place::Params), before);
    for _ in 0..2 {
        assert_eq!(step.device.told().unwrap_err().to_string(), "nobody is there");
        gradient(&mut step);
    }
}

#[test]
fn a_ledger_has_both_sides_of_a_sum() {
    let pass = Pass { rows: 1, training: true, numbers: Numbers::F32, adds: false };
    let mut cx = Recorder::new(pass, Form::CPU);
    let [from, to] = [Place::Input, Place::Labels].map(|place| Tensor::new(place, 0, 1, 3));
    cx.collective(What::Sum, 0, Some(from), Some(to));
    let program = cx.finish();
    assert_eq!((program.calls[0].bytes(), program.calls[0].name), (24, "all-reduce"));
}
