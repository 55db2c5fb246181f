//! A program that asks other ranks who are not there. What they do together is chapter 7's matter.

use crate::steps::step_on;
use engine::{
    backend::{Backend as _, Form},
    cpu::Cpu,
    model,
    program::{Numbers, What},
    ranks::{Failed, Ranks},
    record::Recorder,
    rule::{ALONE, Rule},
    step::Step,
    tensor::{Place, Tensor},
};

/// All other ranks have failed.
struct Nobody;

impl Ranks for Nobody {
    fn meet(&mut self, _: What, _: usize, _: &[f32], _: &mut [f32]) -> Result<(), Failed> {
        Err("nobody is there".into())
    }
}

#[test]
fn nothing_is_done_after_a_failure() {
    for (cpu, why) in
        [(Cpu::new(2), "no other ranks"), (Cpu::new(2).with_ranks(Nobody), "nobody is there")]
    {
        let mut step = Step::on(cpu, model::mlp(3, 0.2), 1, Rule::adam());
        let before = step.all(Place::Params).to_vec();
        let mut cx = Recorder::new(ALONE, Form::CPU);
        cx.collective(What::Sum, 0, None, Some(step.model.params.all(Place::Gradient)));
        let loaded = step.device.load(cx.finish());
        for _ in 0..2 {
            step.device.run(&loaded);
            let said = step.device.told().unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
            step_on(0, Numbers::F32, &mut step);
            assert_eq!(step.all(Place::Params), before);
        }
    }
}

#[test]
fn a_ledger_has_both_sides_of_a_sum() {
    let mut cx = Recorder::new(ALONE, Form::CPU);
    let [from, to] = [Place::Input, Place::Labels].map(|place| Tensor::new(place, 0, 1, 3));
    cx.collective(What::Sum, 0, Some(from), Some(to));
    let program = cx.finish();
    assert_eq!((program.calls[0].bytes(), program.calls[0].name), (24, "all-reduce"));
}
