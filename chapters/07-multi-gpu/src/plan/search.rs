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
pub fn divisors(n: usize) -> Vec<usize> {
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
pub fn all(question: &Question) -> Result<impl Iterator<Item = Estimate>> {
    check(question)?;
    let Question { work, card, cards, batch } = question;
    let pipelines = 1..=work.blocks.len().min(*cards);
    Ok(pipelines.flat_map(move |pipeline| {
        let stages = split::stages(&work.blocks, pipeline);
        let cuts = cuts(question, pipeline).into_iter();
        let splits = cuts.flat_map(move |cut| variants(cut, batch / cut.data));
        let of = move |one| split::estimate(work, &stages, card, *batch, one);
        splits.map(of)
    }))
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
    let (pieces, mut found) = (divisors(share), Vec::new());
    for zero in stages {
        for &micro_batches in &pieces {
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
    // Of those that are as fast to a millionth, the one with fewer micro-batches, for small products reach less of the
    // peak; then the one with less machinery, and with less memory.
    let key = |e: &Estimate| {
        let Split { zero, micro_batches, recompute, .. } = e.split;
        let time = (e.terms.total().ln() * 1e6).round() as i64;
        (time, micro_batches, recompute, zero, e.split.cards(), e.memory.total() as u64)
    };
    let cut = |e: &Estimate| (e.split.data, e.split.pipeline, e.split.tensor);
    let (mut tried, mut fitting) = (0, 0);
    let mut found: Vec<Estimate> = Vec::new(); // the best of each cut
    for one in all(question)? {
        tried += 1;
        if one.memory.total() > question.card.memory {
            continue;
        }
        fitting += 1;
        match found.last_mut().filter(|last| cut(last) == cut(&one)) {
            Some(last) if key(&one) < key(last) => *last = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found.sort_by_cached_key(key);
    let Some(best) = found.first().copied() else {
        return Err(nothing_fits(question, tried));
    };
    let runner_up = found.get(1).copied();
    let lost_by = runner_up.and_then(|other| {
        let terms = other.terms.named().into_iter().zip(best.terms.named());
        let more = terms.map(|((name, its), (_, ours))| (name, its - ours));
        more.max_by(|x, y| x.1.total_cmp(&y.1)).filter(|(_, seconds)| *seconds > 0.0)
    });
    Ok(Plan { best, runner_up, lost_by, tried, fitting })
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
        if all(&wanted)?.any(|e| e.memory.total() <= question.card.memory) {
            return Ok(Some(cards));
        }
        cards *= 2;
    }
    Ok(None)
}

fn nothing_fits(question: &Question, tried: usize) -> Error {
    let size = |bytes: f64| lab::Unit::Bytes.format(bytes);
    let least = all(question)
        .ok()
        .and_then(|found| found.min_by(|x, y| x.memory.total().total_cmp(&y.memory.total())));
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
