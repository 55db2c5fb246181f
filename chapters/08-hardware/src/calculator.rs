//! Time, energy and money of a job on a card, from measured efficiency; and which card to buy or to rent.

use crate::{
    Error, Job, Market, Result,
    cards::{Card, Format, What},
};
use lab::Unit;
use serde::Serialize;
use std::fmt;

/// A quantity that is known to lie between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// From `low` to `high`.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// The range of some numbers; `None` if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        numbers.into_iter().fold(None, |range: Option<Self>, n| {
            Some(range.map_or(Self::new(n, n), |r| Self::new(r.low.min(n), r.high.max(n))))
        })
    }

    /// Both ends multiplied with a positive number.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self::new(factor * self.low, factor * self.high)
    }

    /// Between the ends, as far from the one as from the other by ratio.
    pub fn middle(self) -> f64 {
        (self.low * self.high).sqrt()
    }

    /// Both ends, formatted: `1.20 to 3.40`, or one number where they look alike.
    pub fn text(self) -> String {
        let [low, high] = [self.low, self.high].map(|n| Unit::Number.format(n));
        if low == high { low } else { format!("{low} to {high}") }
    }

    /// A range of hours in seconds, minutes or hours, by its size: `0.320 to 2.41 s`.
    pub fn time(self) -> String {
        let (scale, unit) = match self.high {
            high if high < 1.0 / 60.0 => (3600.0, "s"),
            high if high < 2.0 => (60.0, "min"),
            _ => (1.0, "h"),
        };
        format!("{} {unit}", self.times(scale).text())
    }
}

/// Seconds that a kernel takes to start: from a graph, and with a wait after each (Gray 2019, "Getting started with CUDA
/// Graphs", whose kernel of 2.9 µs takes 3.4, 3.8 and 9.6 µs).
pub const LAUNCH: Range = Range::new(0.5e-6, 6.7e-6);

/// The fraction of p cards' speed that p cards reach: 256 cards against 8 (Hugging Face 2025, "The ultra-scale
/// playbook"), and Inception V3 on 512 (Sergeev and Del Balso 2018, "Horovod").
pub const PARALLEL: Range = Range::new(0.39, 0.90);

/// The power that an accelerator in training draws, with its part of the machine's, over its thermal design power:
/// Switch Transformer on TPU v3 and GPT-3 on V100 (Patterson and others 2021, "Carbon emissions and large neural network
/// training", table 4).
pub const DRAW: Range = Range::new(245.0 / 450.0, 330.0 / 300.0);

/// US dollars for a kWh: a household's mean price in the United States in 2023 (EIA, Electric Power Annual 2023, table
/// 2.10). `plan` takes another one.
pub const ELECTRICITY: f64 = 0.16;

// ANCHOR: shares
/// How much of a card's limits a run reaches, from measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Of its peak.
    pub compute: Range,
    /// Of its bandwidth.
    pub memory: Range,
    /// Of p cards' speed, if there are several.
    pub parallel: Range,
    /// Seconds to start a kernel: the high end is the slow one.
    pub launch: Range,
}
// ANCHOR_END: shares

impl Shares {
    /// What was measured on this card, or on all cards where nothing was measured on this one; but no training reaches
    /// more than the card's best product.
    ///
    /// # Errors
    /// [`Error::Config`] if the table has no measurement at all.
    pub fn of(market: &Market, card: &Card) -> Result<Self> {
        let none = || {
            Error::Config(
                "the table has no measurements to calculate with; take it back".to_owned(),
            )
        };
        let here = |what| measured(market, what, Some(card));
        let best = |what| here(what).or_else(|| measured(market, what, None)).ok_or_else(none);
        let training = best(What::Training)?;
        let product = here(What::Product).map_or(1.0, |range| range.high);
        Ok(Self {
            compute: Range::new(training.low.min(product), training.high.min(product)),
            memory: best(What::Copy)?,
            parallel: PARALLEL,
            launch: LAUNCH,
        })
    }
}

/// What others have measured of a kind, on one card or on all, as fractions of the datasheets' limits.
pub fn measured(market: &Market, what: What, only: Option<&Card>) -> Option<Range> {
    let found = market.measured.iter().filter(|m| m.what == what);
    let found = found.filter(|m| only.is_none_or(|card| m.card == card.id));
    Range::of(found.filter_map(|m| {
        let of = market.card(&m.card).ok()?;
        let limit = m.format.map_or(Some(of.bandwidth.value), |format| of.rate(format))?;
        Some(m.value / limit)
    }))
}

/// Seconds of a job on `cards` cards of this peak (FLOP/s) and bandwidth (B/s): in the best case and in the worst.
pub fn seconds(
    job: &Job,
    format: Format,
    (peak, bandwidth): (f64, f64),
    cards: u32,
    shares: &Shares,
) -> Range {
    // ANCHOR: seconds
    let run = |compute: f64, memory: f64, parallel: f64, launch: f64| {
        let cards = if cards == 1 { 1.0 } else { f64::from(cards) * parallel };
        let arithmetic = job.step_operations() / (compute * peak);
        let traffic = job.step_bytes(format) / (memory * bandwidth);
        let step = arithmetic.max(traffic) / cards + job.launches * launch;
        job.steps() * step
    };
    let Shares { compute, memory, parallel, launch } = shares;
    Range::new(
        run(compute.high, memory.high, parallel.high, launch.low),
        run(compute.low, memory.low, parallel.low, launch.high),
    )
    // ANCHOR_END: seconds
}

// ANCHOR: break_even
/// Hours of use after which a card that was bought has cost as much as one
/// that was rented; `None` if renting costs less than the electricity.
pub fn break_even(price: f64, rent: f64, watts: f64, kwh: f64) -> Option<f64> {
    let saved = rent - watts / 1000.0 * kwh;
    (saved > 0.0).then(|| price / saved)
}
// ANCHOR_END: break_even

/// The question: `plan --buy`, which in addition to `--model`, `--batch` and `--json` takes
///
/// - `--examples N`: examples of the whole run, repetitions counted;
/// - `--reader small|laptop|workstation|cluster`: a reader's job and cards instead of a model;
/// - `--cards N`, `--budget USD`, `--hours H`, `--electricity USD`, `--only ID,ID`: the fields below.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The job.
    pub job: Job,
    /// At most so many cards.
    pub cards: u32,
    /// At most so many US dollars for the run, whether it is rent, or price and electricity.
    pub budget: Option<f64>,
    /// At most so many hours, in the worst case.
    pub hours: Option<f64>,
    /// Only these cards, by their short names; all if there are none.
    pub only: Vec<String>,
    /// US dollars for a kWh.
    pub electricity: f64,
}

impl Options {
    /// A job on one card, without a limit.
    pub fn of(job: Job) -> Self {
        Self { job, cards: 1, budget: None, hours: None, only: vec![], electricity: ELECTRICITY }
    }
}

/// A card, and what the job takes on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The card's short name.
    pub card: String,
    /// Its full name.
    pub name: String,
    /// The format of the products.
    pub format: Format,
    /// How many cards.
    pub cards: u32,
    /// Hours.
    pub hours: Range,
    /// Kilowatt-hours, where the card's power is known.
    pub kwh: Option<Range>,
    /// US dollars of rent, where there is an offer.
    pub rent: Option<Range>,
    /// US dollars to buy the cards, where there is a price.
    pub price: Option<f64>,
    /// US dollars of electricity for the run.
    pub electricity: Option<Range>,
    /// Hours of use until buying has cost as much as renting, from the most expensive offer to the cheapest.
    pub break_even: Option<Range>,
}

impl Estimate {
    /// The least that the run costs: rent, or else price and electricity.
    pub fn cost(&self) -> Option<Range> {
        let bought = self.price.zip(self.electricity);
        self.rent.or_else(|| bought.map(|(price, e)| Range::new(price + e.low, price + e.high)))
    }
}

/// A card that is ruled out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The card's full name.
    pub name: String,
    /// Why, as a clause.
    pub why: String,
}

/// Which card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The job.
    pub job: Job,
    /// The possible cards, the cheapest first; those without a price last.
    pub lines: Vec<Estimate>,
    /// The others.
    pub refused: Vec<Refused>,
    /// The days of the oldest and the newest cloud price.
    pub prices: Option<(String, String)>,
}

impl Report {
    /// The card that costs least.
    pub fn best(&self) -> Option<&Estimate> {
        self.lines.first().filter(|line| line.cost().is_some())
    }

    /// The units in which the lines' energy and rent are readable: the factor over kWh or US dollars, and the name.
    pub fn units(&self) -> [(f64, &'static str); 2] {
        let most = |of: fn(&Estimate) -> Option<Range>| {
            self.lines.iter().filter_map(of).map(|range| range.high).fold(0.0, f64::max)
        };
        [
            if most(|line| line.kwh) < 0.1 { (1e3, "Wh") } else { (1.0, "kWh") },
            if most(|line| line.rent) < 1.0 { (100.0, "US cents") } else { (1.0, "USD") },
        ]
    }

    /// The line of a card.
    pub fn line(&self, card: &str) -> Option<&Estimate> {
        self.lines.iter().find(|line| line.card == card)
    }
}

/// Which card for this job, at what price.
///
/// # Errors
/// [`Error::Config`] for an unknown card, no card at all, or an invalid price of electricity.
pub fn buy(market: &Market, options: &Options) -> Result<Report> {
    let fine = |n: f64| n.is_finite() && n > 0.0;
    if options.cards == 0 || !(options.electricity.is_finite() && options.electricity >= 0.0) {
        return Err(Error::Config(
            "a job needs at least one card, and electricity a price of 0 or more".to_owned(),
        ));
    }
    if ![options.budget, options.hours].into_iter().flatten().all(fine) {
        return Err(Error::Config("a budget and a time must be above zero".to_owned()));
    }
    for id in &options.only {
        market.card(id)?;
    }
    let asked = |card: &&Card| options.only.is_empty() || options.only.contains(&card.id);
    let (mut lines, mut refused) = (Vec::new(), Vec::new());
    for card in market.cards.iter().filter(asked) {
        match line(market, card, options)? {
            Ok(line) => lines.push(line),
            Err(why) => refused.push(Refused { name: card.name.clone(), why }),
        }
    }
    let key = |line: &Estimate| line.cost().map_or(f64::INFINITY, Range::middle);
    lines.sort_by(|a, b| {
        key(a).total_cmp(&key(b)).then(a.hours.middle().total_cmp(&b.hours.middle()))
    });
    let dates = market.price_dates().map(|(a, b)| (a.to_owned(), b.to_owned()));
    Ok(Report { job: options.job.clone(), lines, refused, prices: dates })
}

/// The job on one card of the table, or why not.
fn line(market: &Market, card: &Card, options: &Options) -> Result<Result<Estimate, String>> {
    let Some((format, peak)) = card.training() else {
        return Ok(Err("no rate for floating-point numbers is published".to_owned()));
    };
    let job = &options.job;
    let needed = (job.memory(format) / card.memory.value).ceil().max(1.0);
    let cards = options.cards;
    if needed > f64::from(cards) {
        let [needs, has] =
            [job.memory(format), card.memory.value].map(|bytes| Unit::Bytes.format(bytes));
        return Ok(Err(format!("the step needs {needs}, and {cards} × {has} are available")));
    }
    let shares = Shares::of(market, card)?;
    let hours =
        seconds(job, format, (peak, card.bandwidth.value), cards, &shares).times(1.0 / 3600.0);
    if let Some(limit) = options.hours.filter(|limit| hours.high > *limit) {
        let [takes, limit] = [hours.high, limit].map(|hours| Unit::Number.format(hours));
        return Ok(Err(format!("it may take {takes} hours, more than {limit}")));
    }
    let many = f64::from(cards);
    let kw = card.power.as_ref().map(|power| many * power.value / 1000.0);
    let kwh = kw.map(|kw| Range::new(kw * DRAW.low * hours.low, kw * DRAW.high * hours.high));
    let rents = Range::of(market.prices(&card.id));
    let rent =
        rents.map(|rent| Range::new(many * rent.low * hours.low, many * rent.high * hours.high));
    let price = card.price.as_ref().map(|price| many * price.value);
    let even = |rent: f64| {
        let watts = card.power.as_ref()?.value;
        break_even(card.price.as_ref()?.value, rent, watts, options.electricity)
    };
    let break_even = rents.and_then(|rents| Some(Range::new(even(rents.high)?, even(rents.low)?)));
    let line = Estimate {
        card: card.id.clone(),
        name: card.name.clone(),
        format,
        cards,
        hours,
        kwh,
        rent,
        price,
        electricity: kwh.map(|kwh| kwh.times(options.electricity)),
        break_even,
    };
    if let Some((cost, budget)) = line.cost().zip(options.budget)
        && cost.high > budget
    {
        let [cost, budget] = [cost.high, budget].map(|usd| Unit::Number.format(usd));
        return Ok(Err(format!("it may cost {cost} US dollars, more than {budget}")));
    }
    Ok(Ok(line))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Job { name, unit, .. } = &self.job;
        let count = |n: f64| Unit::Count.format(n.round());
        writeln!(
            f,
            "{name}: {} {unit} in {} steps, {}",
            count(self.job.examples),
            count(self.job.steps()),
            lab::units::operations(self.job.steps() * self.job.step_operations())
        )?;
        writeln!(f)?;
        let [(energy, in_energy), (money, in_money)] = self.units();
        let rent = format!("rent, {in_money}");
        let head = ["time", in_energy, &rent, "price, USD", "break-even, hours"];
        let wide = self.lines.iter().map(|l| l.name.chars().count() + 6).max().unwrap_or(4);
        write!(f, "  {:wide$} {:>6}", "card", "format")?;
        for column in head {
            write!(f, " {column:>20}")?;
        }
        writeln!(f)?;
        let range = |range: Option<Range>, scale| {
            range.map_or("-".to_owned(), |range| range.times(scale).text())
        };
        for line in &self.lines {
            let name = if line.cards == 1 {
                line.name.clone()
            } else {
                format!("{} × {}", line.cards, line.name)
            };
            let price = line.price.map_or("-".to_owned(), |price| Unit::Number.format(price));
            write!(f, "  {name:wide$} {:>6}", line.format.name())?;
            let cells = [
                line.hours.time(),
                range(line.kwh, energy),
                range(line.rent, money),
                price,
                range(line.break_even, 1.0),
            ];
            for cell in cells {
                write!(f, " {cell:>20}")?;
            }
            writeln!(f)?;
        }
        if self.lines.is_empty() {
            writeln!(f, "  no card is left; allow more cards, hours or money")?;
        }
        if !self.refused.is_empty() {
            writeln!(f, "\nRuled out:")?;
            for Refused { name, why } in &self.refused {
                writeln!(f, "  {name}: {why}")?;
            }
        }
        if let Some((oldest, newest)) = &self.prices {
            write!(f, "\nCloud prices of {oldest} to {newest}; prices of cards at their launch.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Compared with themselves, or whole numbers.
mod tests {
    use super::*;
    use backprop::count::Model;
    use proptest::prelude::*;

    fn market() -> Market {
        Market::load().unwrap()
    }

    fn vgg() -> Job {
        Job::of(&Model::vgg16(), 32, 1_000_000).unwrap()
    }

    #[test]
    fn times_have_the_unit_of_their_size() {
        assert_eq!(Range::new(0.0005, 0.001).time(), "1.80 to 3.60 s");
        assert_eq!(Range::new(0.0005, 0.5).time(), "0.0300 to 30.0 min");
        assert_eq!(Range::new(1.5, 2.5).time(), "1.50 to 2.50 h");
        assert_eq!(Range::new(3.0, 3.0).time(), "3.00 h");
    }

    #[test]
    fn time_is_that_of_the_slower_limit_and_of_the_launches() {
        let job = Job {
            name: "by hand".to_owned(),
            parameters: 10.0,
            operations: 100.0,
            kept: 5.0,
            launches: 3.0,
            batch: 4.0,
            examples: 8.0,
            unit: "examples",
        };
        let exact = |n: f64| Range::new(n, n);
        let shares = Shares {
            compute: Range::new(0.25, 0.5),
            memory: exact(0.5),
            parallel: exact(0.5),
            launch: Range::new(1.0, 2.0),
        };
        // 400 operations at half of 100/s: 8 s; 480 bytes at half of 1000/s: under a second. 3 launches: 3 s.
        let fast = seconds(&job, Format::F32, (100.0, 1000.0), 1, &shares);
        assert_eq!((fast.low, fast.high), (2.0 * (8.0 + 3.0), 2.0 * (16.0 + 6.0)));
        // 40·10 + 4·4·5·4 = 720 bytes at half of 10/s: 144 s.
        assert_eq!(seconds(&job, Format::F32, (1e9, 10.0), 1, &shares).low, 2.0 * (144.0 + 3.0));
        // Four cards at half of their speed are two; the launches stay.
        assert_eq!(seconds(&job, Format::F32, (1e9, 10.0), 4, &shares).low, 2.0 * (72.0 + 3.0));
    }

    #[test]
    fn shares_are_the_cards_own_where_it_was_measured() {
        let market = market();
        let of = |id: &str| Shares::of(&market, market.card(id).unwrap()).unwrap();
        let a100 = of("a100-80");
        assert!((a100.compute.low - 53.0 / 312.0).abs() < 1e-12, "{a100:?}");
        assert!((a100.compute.high - 136.0 / 312.0).abs() < 1e-12, "{a100:?}");
        let all = of("h100");
        assert!(all.compute.low <= a100.compute.low && all.compute.high > a100.compute.high);
        // The best product on an MI300X reaches half of its peak: no training can reach more.
        assert!((of("mi300x").compute.high - 668.4 / 1307.0).abs() < 1e-9);
        for card in &market.cards {
            let Shares { compute, memory, .. } = of(&card.id);
            for range in [compute, memory] {
                assert!(
                    0.0 < range.low && range.low <= range.high && range.high < 1.0,
                    "{range:?}"
                );
            }
        }
    }

    #[test]
    fn a_published_run_lies_in_the_range() {
        // Brown and others 2020 trained 175e9 weights on 300e9 tokens on V100s; Patterson and others 2021, table 4, give
        // 14.8 days on 10,000 of them. Their 24.6 TFLOP/s are 20% of the peak, parallel losses included.
        let job = Job::language(175e9, 96, 3.2e6, 300e9).unwrap();
        let market = market();
        let options = Options { cards: 10_000, only: vec!["v100".to_owned()], ..Options::of(job) };
        let report = buy(&market, &options).unwrap();
        let days = report.lines[0].hours.times(1.0 / 24.0);
        assert!(days.low < 14.8 && 14.8 < days.high, "{days:?}");
    }

    #[test]
    fn the_cheapest_comes_first_and_money_is_hours_times_price() {
        let market = market();
        let report = buy(&market, &Options::of(vgg())).unwrap();
        let costs: Vec<f64> =
            report.lines.iter().map(|l| l.cost().map_or(f64::INFINITY, Range::middle)).collect();
        assert!(costs.is_sorted() && costs[0].is_finite(), "{costs:?}");
        let h100 = report.line("h100").unwrap();
        let rent = h100.rent.unwrap();
        assert!((rent.low / h100.hours.low - market.prices("h100")[0]).abs() < 1e-9);
        let power = h100.kwh.unwrap();
        assert!((power.high - 0.7 * DRAW.high * h100.hours.high).abs() < 1e-9);
        assert_eq!(report.best().unwrap().card, report.lines[0].card);
        // A buyer pays price and electricity.
        let laptop = report.line("rtx-4060-laptop").unwrap();
        assert!(laptop.cost().is_none() && laptop.electricity.is_some());
        let ours = report.line("rtx-3060").unwrap().cost().unwrap();
        assert!(ours.low > 329.0, "{ours:?}");
    }

    #[test]
    fn what_cannot_is_out_with_a_reason() {
        let market = market();
        let reason = |options: Options, name: &str| {
            let report = buy(&market, &options).unwrap();
            let text = report.to_string();
            let refused = report.refused.into_iter().find(|r| r.name.contains(name)).unwrap();
            assert!(text.contains(&refused.why), "{text}");
            refused.why
        };
        let big = Job::language(7e9, 32, 1e5, 1e9).unwrap();
        assert!(reason(Options::of(big), "RTX 3060").contains("needs"));
        assert!(reason(Options::of(vgg()), "Apple").contains("no rate"));
        assert!(reason(Options::of(vgg()), "Alveo").contains("no rate"));
        assert!(reason(Options { hours: Some(0.1), ..Options::of(vgg()) }, "T4").contains("hours"));
        assert!(
            reason(Options { budget: Some(0.1), ..Options::of(vgg()) }, "B200").contains("cost")
        );
        let none = Options { hours: Some(1e-6), only: vec!["t4".to_owned()], ..Options::of(vgg()) };
        assert!(buy(&market, &none).unwrap().to_string().contains("no card is left"));
    }

    #[test]
    fn small_jobs_have_small_units() {
        let of =
            |reader: crate::Reader| buy(&market(), &reader.options().unwrap()).unwrap().to_string();
        let small = of(crate::Reader::Small);
        assert!(small.contains(" s ") && small.contains("US cents"), "{small}");
        assert!(!small.contains("×10"), "{small}");
        assert!(of(crate::Reader::Cluster).contains("kWh"));
    }

    #[test]
    fn a_large_model_fits_on_several_cards() {
        let market = market();
        let job = Job::language(7e9, 32, 1e5, 1e9).unwrap();
        let one = Options { only: vec!["h100".to_owned()], ..Options::of(job) };
        assert!(buy(&market, &one).unwrap().lines.is_empty());
        let eight = buy(&market, &Options { cards: 8, ..one }).unwrap();
        assert_eq!(eight.lines[0].cards, 8);
        let text = eight.to_string();
        assert!(text.contains("8 × NVIDIA H100") && text.contains(" tokens in "), "{text}");
    }

    #[test]
    fn errors_are_sentences() {
        let market = market();
        let base = Options::of(vgg());
        for options in [
            Options { cards: 0, ..base.clone() },
            Options { electricity: -1.0, ..base.clone() },
            Options { budget: Some(0.0), ..base.clone() },
            Options { hours: Some(f64::NAN), ..base.clone() },
            Options { only: vec!["h1".to_owned()], ..base.clone() },
        ] {
            let error = buy(&market, &options).unwrap_err().to_string();
            assert!(error.len() > 20, "{error}");
        }
    }

    #[test]
    fn a_report_is_also_json() {
        let report = buy(&market(), &Options::of(vgg())).unwrap();
        let value = serde_json::to_value(&report).unwrap();
        assert_eq!(value["lines"][0]["card"], report.lines[0].card);
        assert!(value["lines"][0]["hours"]["low"].as_f64().unwrap() > 0.0);
        assert_eq!(value["job"]["name"], "vgg16");
    }

    proptest! {
        #[test]
        fn after_the_break_even_buying_is_cheaper(
            price in 1.0..1e5f64, rent in 0.01..100.0f64, watts in 1.0..2000.0f64, kwh in 0.0..1.0f64,
        ) {
            let power = watts / 1000.0 * kwh;
            match break_even(price, rent, watts, kwh) {
                None => prop_assert!(rent <= power),
                Some(hours) => {
                    let bought = price + hours * power;
                    prop_assert!((bought - hours * rent).abs() <= 1e-6 * bought);
                    prop_assert!(price + 2.0 * hours * power < 2.0 * hours * rent);
                }
            }
        }

        #[test]
        fn a_faster_card_is_never_slower(
            peak in 1e12..1e15f64, bandwidth in 1e11..1e13f64, more in 1.0..10.0f64,
        ) {
            let market = market();
            let shares = Shares::of(&market, &market.cards[0]).unwrap();
            let time = |peak, bandwidth| seconds(&vgg(), Format::Bf16, (peak, bandwidth), 1, &shares);
            let base = time(peak, bandwidth);
            prop_assert!(base.low <= base.high);
            prop_assert!(time(more * peak, bandwidth).low <= base.low);
            prop_assert!(time(peak, more * bandwidth).high <= base.high);
        }
    }
}
