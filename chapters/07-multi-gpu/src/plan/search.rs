//! The best split of a model over a set of cards, by looking at all of them.

use super::{
    cards::Card,
    model::Workload,
    split::{self, Estimate, Split},
};
use crate::{Error, Result};
use serde::Serialize;

/// What to plan for.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// The model.
    pub work: Workload,
    /// One of the cards, and its links.
    pub card: Card,
    /// How many there are.
    pub cards: usize,
    /// Examples of a step, over all cards.
    pub batch: usize,
}

/// What to do.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The fastest split that fits.
    pub best: Estimate,
    /// The fastest one that cuts the model otherwise, if one fits.
    pub runner_up: Option<Estimate>,
    /// On what the runner-up loses most of its time, and the seconds.
    pub lost_by: Option<(&'static str, f64)>,
    /// Splits looked at.
    pub tried: usize,
    /// Those that fit.
    pub fitting: usize,
}

/// The most that is planned for.
pub const MOST_CARDS: usize = 16_384;

/// More cards than this are used all, or as a divisor of them.
const FEW: usize = 64;

/// The most examples of a step that are planned for.
pub const MOST_EXAMPLES: usize = 1 << 32;

/// What divides `n`, the least first, by looking up to its root alone.
fn divisors(n: usize) -> Vec<usize> {
    let low: Vec<usize> = (1..=n.isqrt()).filter(|d| n.is_multiple_of(*d)).collect();
    let high = low.iter().rev().map(|d| n / d).filter(|d| *d > n.isqrt());
    low.iter().copied().chain(high).collect()
}

/// Every split of the question's model over its cards, or over fewer of them, and what it comes to. The batch is cut
/// into equal parts, tensor parallel cards are in one island, and every stage has a block.
///
/// # Errors
/// [`Error::Config`] without cards or examples, or with more than [`MOST_CARDS`] and [`MOST_EXAMPLES`].
// ANCHOR: all
pub fn all(question: &Question) -> Result<Vec<Estimate>> {
    check(question)?;
    let Question { work, card, cards, batch } = question;
    let mut found = Vec::new();
    for pipeline in 1..=work.blocks.len().min(*cards) {
        let stages = split::stages(&work.blocks, pipeline);
        for cut in cuts(question, pipeline) {
            for split in variants(cut, batch / cut.data) {
                let stages = &stages;
                let one = split::estimate(work, stages, card, *batch, split);
                found.push(one);
            }
        }
    }
    Ok(found)
}
// ANCHOR_END: all

fn check(question: &Question) -> Result<()> {
    if !(1..=MOST_CARDS).contains(&question.cards) || !(1..=MOST_EXAMPLES).contains(&question.batch)
    {
        return Err(Error::Config(format!(
            "{} cards and {} examples can't be planned for; give 1 to {MOST_CARDS} cards and 1 to {MOST_EXAMPLES} examples",
            question.cards, question.batch
        )));
    }
    Ok(())
}

/// Every number of tensor parallel cards and of replicas that goes with so many stages.
fn cuts(question: &Question, pipeline: usize) -> Vec<Split> {
    let Question { work, card, cards, batch } = question;
    let used = |n: usize| n <= *cards && (*cards <= FEW || cards.is_multiple_of(n));
    let island = card.network.island;
    let tensor =
        |t: &usize| work.splits.is_multiple_of(*t) && (*t == 1 || island.is_multiple_of(*t));
    let shares = divisors(*batch);
    let mut found = Vec::new();
    for tensor in (1..=work.splits.min(*cards)).filter(tensor) {
        let fits = |d: &usize| used(d * pipeline * tensor);
        let all = shares.iter().copied().filter(fits);
        found.extend(all.map(|data| Split { data, pipeline, tensor, ..Split::ONE }));
    }
    found
}

/// `ZeRO`'s stages, numbers of micro-batches and recomputing, for a replica's part of the batch.
fn variants(cut: Split, share: usize) -> Vec<Split> {
    let stages = if cut.data > 1 { 0..=3 } else { 0..=0 };
    let mut found = Vec::new();
    for zero in stages {
        for micro_batches in divisors(share) {
            for recompute in [false, true] {
                found.push(Split { zero, micro_batches, recompute, ..cut });
            }
        }
    }
    found
}

/// What this very split comes to.
///
/// # Errors
/// As [`all`], and [`Error::Config`] if the split can't be: more stages than blocks, a batch that does not divide.
pub fn one(question: &Question, split: Split) -> Result<Estimate> {
    check(question)?;
    let Question { work, card, cards, batch } = question;
    let parts = split.data * split.micro_batches;
    if split.cards() > *cards
        || split.cards() == 0
        || split.pipeline > work.blocks.len()
        || parts == 0
        || !batch.is_multiple_of(parts)
    {
        return Err(Error::Config(format!(
            "{split} does not go with {cards} cards, {} blocks and {batch} examples; the batch is cut into equal parts, and each stage has a block",
            work.blocks.len()
        )));
    }
    let stages = split::stages(&work.blocks, split.pipeline);
    Ok(split::estimate(work, &stages, card, *batch, split))
}

/// The fastest split that fits into the cards' memory.
///
/// # Errors
/// [`Error::Config`] if none fits, with what would; and as [`all`].
pub fn best(question: &Question) -> Result<Plan> {
    let mut found = all(question)?;
    let tried = found.len();
    found.retain(|e| e.memory.total() <= question.card.memory);
    // Of those that are as fast to a millionth, the one with fewer micro-batches, for small products reach less of the
    // peak; then the one with less machinery, and with less memory.
    found.sort_by_cached_key(|e| {
        let Split { zero, micro_batches, recompute, .. } = e.split;
        let time = (e.terms.total().ln() * 1e6).round() as i64;
        (time, micro_batches, recompute, zero, e.split.cards(), e.memory.total() as u64)
    });
    let Some(best) = found.first().copied() else {
        return Err(nothing_fits(question, tried));
    };
    let cut = |e: &Estimate| (e.split.data, e.split.pipeline, e.split.tensor);
    let runner_up = found.iter().find(|e| cut(e) != cut(&best)).copied();
    let lost_by = runner_up.and_then(|other| {
        let terms = other.terms.named().into_iter().zip(best.terms.named());
        let more = terms.map(|((name, its), (_, ours))| (name, its - ours));
        more.max_by(|x, y| x.1.total_cmp(&y.1)).filter(|(_, seconds)| *seconds > 0.0)
    });
    Ok(Plan { best, runner_up, lost_by, tried, fitting: found.len() })
}

/// The smallest number of cards, doubled again and again, over which the model fits; `None` if not even over
/// [`MOST_CARDS`].
///
/// # Errors
/// As [`all`].
pub fn cards_needed(question: &Question) -> Result<Option<usize>> {
    let mut cards = 1;
    while cards <= MOST_CARDS {
        let wanted = Question { cards, ..question.clone() };
        if all(&wanted)?.iter().any(|e| e.memory.total() <= question.card.memory) {
            return Ok(Some(cards));
        }
        cards *= 2;
    }
    Ok(None)
}

fn nothing_fits(question: &Question, tried: usize) -> Error {
    let size = |bytes: f64| lab::Unit::Bytes.format(bytes);
    let least = all(question).ok().and_then(|found| {
        found.into_iter().min_by(|x, y| x.memory.total().total_cmp(&y.memory.total()))
    });
    let closest = least.map_or(String::new(), |least| {
        format!(
            "; the leanest split ({}) takes {} on a card that has {}",
            least.split,
            size(least.memory.total()),
            size(question.card.memory)
        )
    });
    let way_out = match cards_needed(question) {
        Ok(Some(cards)) => format!("it fits over {cards} such cards (--cards {cards})"),
        _ => "not even thousands of them would do: take cards with more memory, or a smaller model"
            .to_owned(),
    };
    Error::Config(format!(
        "{} with a batch of {} fits into none of the {tried} splits over {} × {}{closest}; {way_out}",
        question.work.name, question.batch, question.cards, question.card.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{model::Transformer, split::Memory};
    use backprop::{
        count::Model,
        fits::{Bytes, Moves},
    };
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
                let found = one(&question, Split::ONE).unwrap().memory;
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
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
        for batch in [MOST_EXAMPLES + 1, usize::MAX] {
            let words = best(&question("gpt-7b", "h100", 1, batch)).unwrap_err().to_string();
            assert!(words.contains("1 to 4294967296 examples"), "{words}");
        }
    }

    #[test]
    fn a_network_for_digits_stays_on_one_card() {
        let plan = best(&question("mlp", "h100", 8, 32)).unwrap();
        assert_eq!(plan.best.split, Split::ONE, "{:?}", plan.best);
        assert!(plan.runner_up.is_some() && plan.lost_by.is_some());
    }

    #[test]
    fn what_does_not_fit_is_split_and_what_never_fits_says_so() {
        let plan = best(&question("gpt-7b", "h100", 8, 64)).unwrap();
        let Split { pipeline, tensor, zero, .. } = plan.best.split;
        assert!(pipeline * tensor > 1 || zero > 0, "{}", plan.best.split);
        assert_eq!(plan.best.split.cards(), 8);
        let words = best(&question("gpt-175b", "h100", 8, 64)).unwrap_err().to_string();
        assert!(words.contains("fits into none") && words.contains("--cards"), "{words}");
        let tiny = Card { memory: 1e6, ..Card::named("t4").unwrap() };
        let never = Question { card: tiny, ..question("gpt-125m", "t4", 2, 4) };
        let words = best(&never).unwrap_err().to_string();
        assert!(words.contains("smaller model"), "{words}");
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
        let tensor = cut(1, 1, 8, 16).terms;
        assert!(tensor.bubble == 0.0 && tensor.tensor > 0.0 && tensor.data == 0.0);
        let data = cut(8, 1, 1, 8).terms;
        assert!(data.data > 0.0 && data.tensor == 0.0 && data.bubble == 0.0);
        // Each split divides the same work.
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
}
