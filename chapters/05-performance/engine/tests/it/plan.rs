//! What the plan makes of the calls: groups, memory, and the ledger.

use crate::steps::{BATCH, gradient, step_of};
use engine::{
    backend::Form,
    model::{self, Model},
    needs::Needs,
    ops::{Op, dense::Dense},
    plan::Slot,
    program::{BLOCKS, Numbers, ledger},
    record::Pass,
    state,
};

const PASS: Pass = Pass { rows: BATCH, training: true, numbers: Numbers::F32, adds: false };

fn of<R>(model: Model, work: impl FnOnce(&engine::cpu::Loaded) -> R) -> R {
    let mut step = step_of(model, 2);
    gradient(&mut step, Numbers::F32);
    work(&step.passes[&PASS])
}

#[test]
fn the_plan_shares_memory_and_fuses_the_convolutions() {
    of(model::cnn(3, 0.5), |loaded| {
        let (calls, plan) = (&loaded.calls, &loaded.plan);
        let fused = plan.slots.iter().filter(|slot| matches!(slot, Slot::Scratch(_))).count();
        assert!(fused >= 6 && plan.groups.len() < calls.len() - 8, "{fused}");
        // The outputs of the first convolution and their gradients alone would take more.
        let (arena, scratch) = (plan.arena, plan.scratch);
        assert!(arena < 2 * BATCH * 28 * 28 * 16 && 2 * scratch < arena, "{arena}, {scratch}");
        let flops: f64 = ledger(calls).iter().map(|entry| entry.flops).sum();
        let conv = 2 * 25 * 784 * 16 + 3 * 400 * 100 * 32;
        let products = conv + 3 * (800 * 128 + 128 * 10);
        assert!((0.9..1.3).contains(&(flops / (2 * BATCH * products) as f64)), "{flops}");
    });
}

/// A model's step in numbers: calls, groups of them, millions of operations, and KiB of operands.
type Ledger = (&'static str, fn() -> Model, [usize; 4]);

/// So that a forgotten copy, another pass over the numbers, or a group that is cut in two fails here.
#[test]
fn the_ledger_of_a_step_is_what_its_page_counts() {
    let all: [Ledger; 6] = [
        ("linear", || model::linear(3), [5, 4, 1, 366]),
        ("mlp", || model::mlp(3, 0.2), [10, 9, 19, 1314]),
        ("cnn", || model::cnn(3, 0.5), [29, 14, 460, 23851]),
        ("resnet", || model::resnet(3), [104, 44, 1253, 137_794]),
        ("rnn", || model::rnn(3), [23, 4, 462, 33296]),
        ("transformer", || model::transformer(3), [137, 6, 336, 51635]),
    ];
    for (name, model, wanted) in all {
        of(model(), |loaded| {
            let entries = ledger(&loaded.calls);
            let flops: f64 = entries.iter().map(|entry| entry.flops).sum();
            let bytes: usize = entries.iter().map(|entry| entry.bytes).sum();
            let found =
                [loaded.calls.len(), loaded.plan.groups.len(), (flops / 1e6) as usize, bytes >> 10];
            assert_eq!(found, wanted, "{name}");
        });
    }
}

/// No call makes the gradient of the images.
#[test]
fn the_calls_of_an_mlp_are_those_that_are_counted_by_hand() {
    let (b, x, h, y) = (BATCH, 784, 128, 10); // images, pixels, hidden units, scores
    let sums = |cols| BLOCKS * cols;
    // Operations, and numbers that are read or written.
    let wanted = [
        ("0.0", "product", 2 * b * x * h, b * x + x * h + h + b * h),
        ("2", "product", 2 * b * h * y, b * h + h * y + y + b * y),
        ("loss", "loss", 6 * b * y, 2 * b * y + b + state::WORDS + sums(2)),
        ("2 backward", "bias", b * y, b * y + sums(y)),
        ("2 backward", "product", 2 * b * y * h, b * y + y * h + b * h),
        ("2 backward", "product", 2 * h * b * y, h * b + b * y + h * y),
        ("0.0 backward", "relu", 2 * b * h, 3 * b * h + sums(h)),
        ("0.0 backward", "product", 2 * x * b * h, x * b + b * h + x * h),
        ("0.0 backward", "sum", 0, sums(h) + h),
        ("2 backward", "sum", 0, sums(y) + y),
    ];
    of(model::mlp(3, 0.2), |loaded| {
        let found = loaded.calls.iter();
        let found = found.map(|call| (&*call.op, call.name, call.flops as usize, call.bytes() / 4));
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    });
}

/// So that a call among the others that is not done block by block fails here: it would send all that is kept through memory.
#[test]
fn blocks_of_sequences_go_through_a_whole_step() {
    for (model, layers) in [(model::rnn(3), 1), (model::transformer(3), 10)] {
        let words = model.params.words();
        of(model, |loaded| {
            let longest = loaded.plan.groups.iter().map(std::ops::Range::len).max();
            assert!(longest > Some(7 * layers), "{longest:?}");
            // Gradients block by block, panels, and nothing that is as long as the batch.
            assert!(loaded.plan.arena < BLOCKS * words + 4 * words, "{}", loaded.plan.arena);
        });
    }
}

/// Segments keep what goes into them and nothing else; pieces have the temporaries of a smaller batch.
#[test]
fn segments_and_pieces_need_less() {
    let deep = || {
        Model::new(1, 784, |p| {
            let mut ops: Vec<Box<dyn Op>> = vec![Box::new(Dense::new(p, "first", 784, 64).relu())];
            let layer =
                |at| Box::new(Dense::new(p, &format!("{at}"), 64, 64).relu()) as Box<dyn Op>;
            ops.extend((0..23).map(layer));
            ops
        })
    };
    let arena = |segments| {
        Needs::of(&deep().recomputed(segments), &[Pass { rows: 2048, ..PASS }], Form::CPU, 2).arena
    };
    let [all, one, few, each] = [0, 1, 5, 24].map(arena);
    assert!(2 * few < all && few < each && few < one, "{all} {one} {few} {each}");
    for model in [model::mlp(3, 0.2), model::cnn(3, 0.5), model::resnet(3), model::transformer(3)] {
        let of = |rows| Needs::of(&model, &[Pass { rows, ..PASS }], Form::CPU, 2);
        let (whole, half) = (of(64), of(32));
        assert!(
            half.batch * 2 == whole.batch
                && half.arena + half.scratch < whole.arena + whole.scratch
        );
        assert!(half.parameters == whole.parameters && 2 * half.total() > whole.total());
    }
}
