//! What does not fit is refused by the name of the operation, in one sentence with a way out.

use crate::steps::{gradient, step_of};
use engine::{
    model::{self, Model},
    ops::{
        Op, attention::Attention, batch_norm::BatchNorm, conv::Conv, dense::Dense, gru::Gru,
        linear::Linear, mean::Mean, norm::Norm, patches::Patches, pool::ReluPool,
        position::Position, residual::Residual,
    },
    params::Params,
    program::Numbers,
    step::Step,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Ops = Vec<Box<dyn Op>>;
type Maker = fn(&mut Params) -> Ops;

/// Some operations, and another one.
fn with(mut ops: Ops, op: impl Op + 'static) -> Ops {
    ops.push(Box::new(op));
    ops
}

/// 1×128 numbers of each image.
fn hidden(p: &mut Params) -> Ops {
    with(vec![], Dense::new(p, "hidden", 784, 128))
}

/// 784×16: channels of 28×28 pixels.
fn pixels(p: &mut Params) -> Ops {
    with(vec![], Conv::new(p, "conv", [28, 28, 1], 16, [5, 2]))
}

/// 16×64.
fn tokens(p: &mut Params) -> Ops {
    with(with(vec![], Patches { image: 28, patch: 7 }), Dense::new(p, "embed", 49, 64))
}

/// With what the sentence says; most have numbers that could be cut into rows of the wanted length.
const WRONG: [(Maker, &str); 16] = [
    (|p| with(hidden(p), Dense::new(p, "x", 100, 10)), "x: it takes 1×100 given 1×128"),
    (
        |p| with(with(hidden(p), Dense::new(p, "x", 64, 10)), Mean(2)),
        "x: it takes 1×64 given 1×128",
    ),
    (|p| with(tokens(p), Dense::new(p, "x", 32, 10)), "x: it takes 16×32 given 16×64"),
    (|p| with(pixels(p), Linear::new(p, "x", [784, 10])), "x: it takes 784×784 given 784×16"),
    (
        |p| with(hidden(p), Conv::new(p, "x", [4, 4, 16], 8, [3, 1])),
        "x: it takes 16×16 given 1×128",
    ),
    (
        |p| with(pixels(p), Conv::new(p, "x", [14, 14, 64], 8, [3, 1])),
        "x: it takes 196×64 given 784×16",
    ),
    (|p| with(pixels(p), ReluPool::new("x", [14, 28, 32])), "x: it takes 392×32 given 784×16"),
    (|p| with(pixels(p), BatchNorm::new(p, "x", 8)), "x: it takes 784×8 given 784×16"),
    (|p| with(hidden(p), Norm::new(p, "x", 32)), "x: it takes 1×32 given 1×128"),
    (|p| with(tokens(p), Attention::new(p, "x", [32, 32], 4)), "x: it takes 32×32 given 16×64"),
    (|p| with(tokens(p), Position::new(p, "x", [32, 32])), "position: it takes 32×32 given 16×64"),
    (|p| with(tokens(p), Mean(8)), "mean: it takes 8×64 given 16×64"),
    (|p| with(tokens(p), Gru::new(p, "", [32, 32], 8)), "gru: it takes 32×32 given 16×64"),
    (|p| with(tokens(p), Residual(hidden(p))), "hidden: it takes 16×784 given 16×64"),
    (|p| with(vec![], Residual(hidden(p))), "residual: it takes 1×784 given 1×128"),
    (tokens, "loss: it takes 1×64 given 16×64"),
];

/// What a step says of what it can't do.
fn refusal(step: &mut Step, work: impl Fn(&mut Step)) -> String {
    let tried = catch_unwind(AssertUnwindSafe(|| work(step)));
    *tried.expect_err("it is wrong").downcast().unwrap()
}

/// What a step on the model says.
fn said(ops: Maker) -> String {
    let mut step = step_of(Model::new(1, 784, ops), 2);
    refusal(&mut step, |step| drop(gradient(step, Numbers::F32)))
}

#[test]
fn a_batch_beyond_the_order_is_refused() {
    let mut step = step_of(model::linear(1), 1);
    step.keep(&vec![0.5; 10 * 784], &[0; 10]);
    step.arrange(&[9; 10]);
    step.choose(5, 5);
    let beyond = "a batch ends at 15 of an order of 10";
    assert_eq!(refusal(&mut step, |step| step.choose(5, 10)), beyond);
    let entire = |step: &mut Step| _ = step.entire((5, 10), Numbers::F32, (1e-3, None));
    assert_eq!(refusal(&mut step, entire), beyond);
    assert_eq!(refusal(&mut step, |step| step.arrange(&[9, 10])), "a number beyond all 10");
    step.keep_stream(&[0; 30], 10);
    step.arrange(&[19]);
    assert_eq!(refusal(&mut step, |step| step.choose(0, 11)), "a batch ends at 2 of an order of 1");
    assert_eq!(refusal(&mut step, |step| step.arrange(&[20])), "a number beyond all 20");
}

#[test]
fn a_wrong_model_is_refused_by_the_name_of_the_operation() {
    for (ops, wanted) in WRONG {
        let wanted = wanted.replace(" given", " numbers of each image and is given");
        let said = said(ops);
        assert!(said.starts_with(&wanted) && said.contains("; make it for these, or"), "{said}");
    }
    let few = said(|p| with(vec![], Dense::new(p, "few", 784, 9)));
    assert!(few.starts_with("loss: label 9 is beyond 9 scores; make"), "{few}");
}
