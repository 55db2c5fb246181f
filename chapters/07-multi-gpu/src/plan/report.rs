//! A plan in words.

use super::{
    cards::Card,
    model::Workload,
    search::{self, Plan, Question},
    split::Estimate,
};
use crate::Result;
use backprop::fits::Moves;
use lab::Unit;
use std::fmt::Write as _;

/// The best split of a model (see [`Workload::named`]) over so many cards of a name (see [`Card::named`]), with Adam,
/// for a person.
///
/// # Errors
/// As [`search::best`].
pub fn plan(model: &str, card: &str, cards: usize, batch: usize) -> Result<String> {
    let work = Workload::named(model, Moves::Adam)?;
    let question = Question { work, card: Card::named(card)?, cards, batch };
    Ok(text(&question, &search::best(&question)?))
}

/// The plan as text: the split, what it takes, and why the runner-up lost.
pub fn text(question: &Question, plan: &Plan) -> String {
    let Question { work, card, cards, batch } = question;
    let size = |bytes: f64| Unit::Bytes.format(bytes);
    let time = |seconds: f64| Unit::Seconds.format(seconds);
    let best = &plan.best;
    let used = best.split.cards();
    let mut text = format!(
        "{} ({} parameters), batch {batch}, {cards} × {} of {}\n\n",
        work.name,
        Unit::Count.format(work.parameters()),
        card.name,
        size(card.memory)
    );
    let _ = writeln!(text, "best split        {}", best.split);
    if used < *cards {
        let _ = writeln!(
            text,
            "                  {used} of {cards} cards: with more, the step takes no less"
        );
    }
    let seconds = best.terms.total();
    let _ = writeln!(
        text,
        "step              {}: {} examples/s (one example: {})",
        time(seconds),
        Unit::Count.format((*batch as f64 / seconds).round()),
        work.example
    );
    let share = |part: f64| format!("{:.1}%", 100.0 * part);
    let _ = writeln!(text, "bubble            {}", share(best.terms.bubble_share()));
    let _ = writeln!(text, "communication     {}", share(best.terms.communication_share()));
    let _ = writeln!(text, "\nmemory of the fullest card");
    let memory = &best.memory;
    for (name, bytes) in [
        ("weights", memory.weights),
        ("gradients", memory.gradients),
        ("optimizer", memory.optimizer),
        ("activations", memory.activations),
        ("scratch", memory.scratch),
        ("together", memory.total()),
    ] {
        let _ = writeln!(text, "  {name:14} {:>12}", size(bytes));
    }
    let _ = writeln!(text, "\ntime of a step");
    for (name, seconds) in best.terms.named().iter().filter(|(_, seconds)| *seconds > 0.0) {
        let _ = writeln!(text, "  {name:36} {:>10}", time(*seconds));
    }
    let _ = write!(text, "\n{}", runner_up(plan));
    let _ = write!(
        text,
        "\n{} splits looked at, {} fit. Rates: {:.0}% of the card's peak, and links at their data sheets', an upper bound.",
        Unit::Count.format(plan.tried as f64),
        Unit::Count.format(plan.fitting as f64),
        100.0 * card.attained
    );
    text
}

/// Why the second best lost, in a sentence.
fn runner_up(plan: &Plan) -> String {
    let Some(Estimate { split, terms, .. }) = &plan.runner_up else {
        return "No other way to cut the model fits.\n".to_owned();
    };
    let time = |seconds: f64| Unit::Seconds.format(seconds);
    let slower = terms.total() / plan.best.terms.total() - 1.0;
    let mut text = format!(
        "runner-up         {split}: {}, {:.1}% slower",
        time(terms.total()),
        100.0 * slower
    );
    if let Some((name, seconds)) = plan.lost_by {
        let _ = write!(text, "; it loses {} on {name}", time(seconds));
    }
    text + "\n"
}
