use backprop::count::Model;
use backprop::fits::{Bytes, Moves};
use lab::testing::refused;
use multi_gpu::plan::cards::Card;
use multi_gpu::plan::model::{Transformer, Workload};
use multi_gpu::plan::search::{MOST_EXAMPLES, Question, all, best, divisors, one};
use multi_gpu::plan::simulate::{Buckets, Job};
use multi_gpu::plan::split::{Estimate, Memory, Split};
use proptest::prelude::*;

fn question(name: &str, card: &str, cards: usize, batch: usize) -> Question {
    let work = Workload::named(name, Moves::Adam).unwrap();
    Question { work, card: Card::named(card).unwrap(), cards, batch }
}

#[test]
fn one_card_takes_what_chapter_3_counts() {
    for (name, moves) in
        [("vgg16", Moves::Adam), ("mlp", Moves::Sgd), ("784-512-10", Moves::Momentum)]
    {
        let counts = Model::named(name).unwrap().count().unwrap();
        for batch in [1, 32, 100] {
            let work = Workload::named(name, moves).unwrap();
            let question = Question { work, ..question("mlp", "h100", 1, batch) };
            let Estimate { memory: found, terms, .. } = one(&question, Split::ONE).unwrap();
            let Question { work, card, .. } = &question;
            let simulated = Job::of(work, card, batch as f64, Buckets::AtTheEnd).update;
            assert!(((simulated - card.kernel.start) / terms.update - 1.0).abs() < 1e-9);
            let Memory { weights, gradients, optimizer, activations, scratch } = found;
            let found = [weights, gradients, optimizer, activations, scratch];
            let wanted = Bytes::of(&counts, batch as u64, moves);
            let Bytes { weights, gradients, optimizer, activations, scratch } = wanted;
            let all = [weights, gradients, optimizer, activations, scratch];
            assert_eq!(found, all.map(|bytes| bytes as f64), "{name} {batch}");
        }
    }
}

#[test]
fn a_large_batch_takes_no_longer_and_a_silly_one_is_refused() {
    for n in [1_usize, 2, 12, 97, 360, 1024, 1025] {
        let slowly: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
        assert_eq!(divisors(n), slowly);
    }
    let begun = std::time::Instant::now();
    for batch in [1 << 28, MOST_EXAMPLES, MOST_EXAMPLES - 5] {
        // None fits, or one does: it is found out at once.
        let _ = best(&question("gpt-7b", "h100", 1, batch));
    }
    // Millions of splits, in a thousand stages.
    let deep = "gpt:layers=1000,width=7560,heads=1260,sequence=2048,vocabulary=50257";
    assert!(best(&question(deep, "h100", 15_120, 735_134_400)).unwrap().tried > 1_000_000);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    for batch in [MOST_EXAMPLES + 1, usize::MAX] {
        refused(best(&question("gpt-7b", "h100", 1, batch)), ["1 to 4294967296 examples"]);
    }
}

#[test]
fn what_does_not_fit_is_split_and_what_never_fits_says_so() {
    let plan = best(&question("gpt-7b", "h100", 8, 64)).unwrap();
    let Split { pipeline, tensor, zero, .. } = plan.best.split;
    assert!(pipeline * tensor > 1 || zero > 0, "{}", plan.best.split);
    assert_eq!(plan.best.split.cards(), 8);
    refused(best(&question("gpt-175b", "h100", 8, 64)), ["fits into none", "--cards"]);
    let tiny = Card { memory: 1e6, ..Card::named("t4").unwrap() };
    let never = Question { card: tiny, ..question("gpt-125m", "t4", 2, 4) };
    refused(best(&never), ["smaller model"]);
    for (cards, batch) in [(0, 4), (4, 0)] {
        assert!(all(&question("mlp", "t4", cards, batch)).is_err());
    }
}

#[test]
fn a_pipeline_has_its_bubble_and_tensor_parallel_its_sums() {
    let question = question("gpt-7b", "h100", 8, 64);
    let cut = |data, pipeline, tensor, micro_batches| {
        one(&question, Split { data, pipeline, tensor, micro_batches, ..Split::ONE }).unwrap()
    };
    // p − 1 of m + p − 1 slots are empty (Huang et al. 2019).
    let pipeline = cut(1, 4, 1, 16).terms;
    let bubble = pipeline.bubble / (pipeline.bubble + pipeline.compute);
    assert!((bubble - 3.0 / 19.0).abs() < 1e-12);
    assert!(pipeline.tensor == 0.0 && pipeline.stages > 0.0 && pipeline.data == 0.0);
    let tensor = cut(1, 1, 8, 8).terms;
    assert!(tensor.bubble == 0.0 && tensor.tensor > 0.0 && tensor.data == 0.0);
    let data = cut(8, 1, 1, 8).terms;
    assert!(data.data > 0.0 && data.tensor == 0.0 && data.bubble == 0.0);
    // Each split divides the same work, and starts as many kernels in as many micro-batches.
    assert!((data.compute / tensor.compute - 1.0).abs() < 1e-9);
    let one_again = one(&question, Split { recompute: true, tensor: 8, ..Split::ONE }).unwrap();
    assert!(one_again.terms.recompute > 0.3 * one_again.terms.compute);
    assert!(one(&question, Split { data: 3, ..Split::ONE }).is_err());
    assert!(one(&question, Split { pipeline: 40, ..Split::ONE }).is_err());
}

#[test]
fn zero_divides_what_it_says_it_divides() {
    let question = question("gpt-7b", "h100", 8, 64);
    let of = |zero| {
        one(&question, Split { data: 8, zero, micro_batches: 8, ..Split::ONE }).unwrap().memory
    };
    let [zero, one, two, three] = [0, 1, 2, 3].map(of);
    let eighth = |whole: f64, part: f64| (whole / part - 8.0).abs() < 1e-9;
    assert!(eighth(zero.optimizer, one.optimizer) && one.gradients == zero.gradients);
    assert!(eighth(zero.gradients, two.gradients) && two.weights == zero.weights);
    assert!(eighth(zero.weights, three.weights));
    assert!([zero, one, two, three].is_sorted_by(|a, b| a.total() > b.total()));
    // 16 bytes a parameter.
    let fixed = zero.weights + zero.gradients + zero.optimizer;
    assert!((fixed / (16.0 * question.work.parameters()) - 1.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn the_best_is_the_least_of_all_that_fit_and_more_memory_never_hurts(
        layers in 1_u32..6, heads in 1_u32..5, cards in 1_usize..13, batch in 1_usize..17,
        memory in 5e7_f64..4e9,
    ) {
        let transformer = Transformer { layers, width: 64 * heads, heads, sequence: 128, vocabulary: 1000 };
        let work = transformer.workload("t", Moves::Adam).unwrap();
        let card = Card { memory, ..Card::named("rtx4090").unwrap() };
        let asked = Question { work, card, cards, batch };
        // All of them again, the long way: every product of three numbers up to the number of cards.
        let mut least = f64::INFINITY;
        let mut count = 0;
        for data in 1..=cards { for pipeline in 1..=cards { for tensor in 1..=cards {
            if data * pipeline * tensor > cards || batch % data != 0
                || !(heads as usize).is_multiple_of(tensor) || (tensor > 1 && 4 % tensor != 0)
                || pipeline > asked.work.blocks.len() { continue; }
            for zero in 0..4 { for micro_batches in 1..=batch / data { for recompute in [false, true] {
                if (batch / data) % micro_batches != 0 || (data == 1 && zero > 0) { continue; }
                let found = one(&asked, Split { data, pipeline, tensor, zero, micro_batches, recompute }).unwrap();
                prop_assert!((found.memory.total()).is_finite() && found.terms.total() > 0.0);
                count += 1;
                if found.memory.total() <= memory { least = least.min(found.terms.total()); }
            }}}
        }}}
        match best(&asked) {
            Ok(plan) => {
                prop_assert!((plan.best.terms.total() / least - 1.0).abs() < 2e-6);
                prop_assert_eq!(plan.tried, count);
                prop_assert!(plan.best.memory.total() <= memory);
                if let Some(other) = plan.runner_up {
                    prop_assert!(other.terms.total() >= least);
                    prop_assert!(other.memory.total() <= memory);
                }
                let more = Card { memory: 2.0 * memory, ..asked.card.clone() };
                let again = best(&Question { card: more, ..asked }).unwrap();
                prop_assert!(again.best.terms.total() <= least * (1.0 + 2e-6));
            }
            Err(_) => prop_assert!(least.is_infinite()),
        }
    }
}
