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
    /// [`Error::Message`] if the table has no measurement at all.
    pub fn of(market: &Market, card: &Card) -> Result<Self> {
        let none =
            || Error::message("the table has no measurements to calculate with; take it back");
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
    /// The least that the run costs, by the middle: rent, or price and electricity.
    pub fn cost(&self) -> Option<Range> {
        let bought = self.price.zip(self.electricity);
        let bought = bought.map(|(price, e)| Range::new(price + e.low, price + e.high));
        let costs = self.rent.into_iter().chain(bought);
        costs.min_by(|a, b| a.middle().total_cmp(&b.middle()))
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
}

/// Which card for this job, at what price.
///
/// # Errors
/// [`Error::Message`] for an unknown card, no card at all, or an invalid price of electricity.
pub fn buy(market: &Market, options: &Options) -> Result<Report> {
    let fine = |n: f64| n.is_finite() && n > 0.0;
    if options.cards == 0 || !(options.electricity.is_finite() && options.electricity >= 0.0) {
        return Err(Error::message(
            "a job needs at least one card, and electricity a price of 0 or more",
        ));
    }
    if ![options.budget, options.hours].into_iter().flatten().all(fine) {
        return Err(Error::message("a budget and a time must be above zero"));
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
