//! The test of the exercise `in-time`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Choice, choose};
use hardware::{
    Market, Reader, Report, buy,
    calculator::{Estimate, Range},
};

/// What the calculator says to a reader.
fn report(reader: Reader) -> Report {
    let options = reader.options().expect("the readers' jobs are known");
    buy(&Market::load().expect("the table is part of the crate"), &options).expect("cards")
}

/// Cards with these hours and an hour's price, both from low to high.
fn cards(all: &[([f64; 2], Option<[f64; 2]>)]) -> Report {
    let mut report = report(Reader::Small);
    let line = report.lines[0].clone();
    let card = |(at, &(hours, price)): (usize, &([f64; 2], Option<[f64; 2]>))| Estimate {
        card: format!("card {at}"),
        hours: Range::new(hours[0], hours[1]),
        rent: price.map(|price| Range::new(price[0] * hours[0], price[1] * hours[1])),
        ..line.clone()
    };
    report.lines = all.iter().enumerate().map(card).collect();
    report
}

/// A choice in a word: the card's name, `home` or `none`.
fn word<'r>(choice: Option<&Choice<'r>>) -> &'r str {
    match choice {
        Some(Choice::Rent(line)) => &line.card,
        Some(Choice::Home) => "home",
        None => "none",
    }
}

#[track_caller]
fn takes(report: &Report, home: f64, start: f64, deadline: f64, wanted: &str) {
    let found = choose(report, home, start, deadline);
    let what = format!("{home} hours at home, {deadline} until the deadline");
    assert_eq!(word(found.as_ref()), wanted, "{what}, of which {start} are for the start");
}

#[track_caller]
fn rents(report: &Report, start: f64, deadline: f64, wanted: &str) {
    takes(report, f64::INFINITY, start, deadline, wanted);
}

#[test]
fn what_is_there_is_enough_if_it_is_in_time() {
    let report = cards(&[([0.1, 0.2], Some([0.1, 0.1]))]);
    for (deadline, wanted) in [(5.0, "home"), (4.9, "card 0"), (0.2, "none")] {
        takes(&report, 5.0, 0.1, deadline, wanted);
    }
    takes(&cards(&[]), 1.0, 0.1, 2.0, "home"); // no card, and in time
    takes(&cards(&[]), 3.0, 0.1, 2.0, "none"); // no card, and late
}

#[test]
fn the_slow_end_must_be_in_time() {
    // A slow cheap card, and a fast expensive one.
    let report = cards(&[([2.0, 10.0], Some([0.5, 0.5])), ([1.0, 4.0], Some([3.0, 3.0]))]);
    rents(&report, 0.5, 24.0, "card 0");
    rents(&report, 0.5, 10.0, "card 1");
    rents(&report, 0.5, 4.4, "none");
}

#[test]
fn the_start_is_paid_too() {
    // Without the start 0.8 and 1.0 US dollars; with an hour for it 4.8 and 2.0.
    let report = cards(&[([0.1, 0.2], Some([4.0, 4.0])), ([0.5, 1.0], Some([1.0, 1.0]))]);
    rents(&report, 0.0, 24.0, "card 0");
    rents(&report, 1.0, 24.0, "card 1");
}

#[test]
fn the_most_expensive_offer_counts_and_no_offer_is_no_choice() {
    let prices = [None, Some([0.1, 5.0]), Some([2.0, 3.0])];
    rents(&cards(&prices.map(|price| ([1.0, 2.0], price))), 0.0, 24.0, "card 2");
}

#[test]
fn nothing_in_the_market_is_cheaper_and_in_time() {
    for reader in Reader::ALL {
        let report = report(reader);
        let longest = report.lines.iter().map(|line| line.hours.high).fold(0.0, f64::max);
        for step in 1..=40 {
            let (start, deadline) = (0.25, longest * f64::from(step) / 20.0);
            let at_worst = |line: &Estimate| {
                let hours = start + line.hours.high;
                let price = line.rent.map_or(f64::INFINITY, |rent| rent.high / line.hours.high);
                if hours <= deadline { price * hours } else { f64::INFINITY }
            };
            let least = report.lines.iter().map(at_worst).fold(f64::INFINITY, f64::min);
            let found = choose(&report, f64::INFINITY, start, deadline);
            let cost = found.as_ref().map(|choice| match choice {
                Choice::Rent(line) => at_worst(line),
                Choice::Home => f64::INFINITY,
            });
            let right = match cost {
                Some(cost) => cost.is_finite() && cost <= least * (1.0 + 1e-12),
                None => least.is_infinite(),
            };
            let what = format!("{reader}, {deadline:.1e} hours: {}", word(found.as_ref()));
            assert!(right, "{what} for {cost:?} USD, and the least is {least}");
        }
    }
}
