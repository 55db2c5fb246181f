//! What to run a job on, with a deadline.

use hardware::{Report, calculator::Estimate};

/// Where to run it.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice<'r> {
    /// On the computer that is there.
    Home,
    /// On this card, rented.
    Rent(&'r Estimate),
}

/// What costs least and is surely done in `deadline` hours: the computer that is there, which takes `home` hours, or the
/// card of the report with the least cost at worst. A rented card is paid for `start` hours before the run begins.
pub fn choose(report: &Report, home: f64, start: f64, deadline: f64) -> Option<Choice<'_>> {
    // EXERCISE: begin
    if home <= deadline {
        return Some(Choice::Home);
    }
    let cost = |line: &Estimate| {
        let hours = start + line.hours.high;
        let price = line.rent?.high / line.hours.high;
        (hours <= deadline).then_some(price * hours)
    };
    let possible = report.lines.iter().filter_map(|line| Some((cost(line)?, line)));
    possible.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, line)| Choice::Rent(line))
    // EXERCISE: instead
    // let _ = (home, start);
    // let possible = report.lines.iter().filter(|line| line.hours.low <= deadline);
    // let cost = |line: &Estimate| line.rent.map_or(0.0, |rent| rent.low);
    // let cheapest = possible.min_by(|a, b| cost(a).total_cmp(&cost(b)));
    // Some(cheapest.map_or(Choice::Home, Choice::Rent))
    // EXERCISE: end
}
