//! What this chapter measures, and what it calculates from measurements of others.

use crate::{
    Error, Job, Market, Options, Reader, buy,
    calculator::{Estimate, Range},
    cards::{Format, Verified},
    power::{Rapl, gpu_joules},
};
use lab::{
    Device, Experiment, Key, Recorder, Result, Samples, Unit,
    data::{self, DataSet, Options as DataOptions},
    key::Quantity,
    record::ParamList,
};
use std::time::Instant;
use training::{Config, Model, Settings, Silent, studies, train_on};

/// How many entries of each kind the tables have.
const TABLE: Key = Key::counted("hardware.table", Unit::Count, &["what"]);
/// A card's ridge: operations per byte.
const RIDGE: Key = Key::calculated("hardware.roofline", Unit::Number, &["card"]);
/// A step's operations per byte.
const INTENSITY: Key = Key::calculated("hardware.roofline.intensity", Unit::Number, &["job"]);
/// The fraction of a card's peak that its bandwidth lets a step reach.
const SHARE: Key = Key::calculated("hardware.roofline.share", Unit::Share, &["job", "card"]);
/// Hours of a reader's job.
const HOURS: Key = of_reader("hardware.readers");
/// Its kilowatt-hours.
const KWH: Key = of_reader("hardware.readers.kwh");
/// Its rent in US dollars.
const RENT: Key = of_reader("hardware.readers.rent");
/// US dollars to buy the cards.
const PRICE: Key = of_reader("hardware.readers.price");
/// US dollars of electricity for the job.
const ELECTRICITY: Key = of_reader("hardware.readers.electricity");
/// Hours of use until buying has cost as much as renting.
const BREAK_EVEN: Key = of_reader("hardware.readers.break_even");
/// The job's operations.
const OPERATIONS: Key = Key::calculated("hardware.readers.operations", Unit::Number, &["reader"]);
/// US dollars to rent a card for VGG16.
pub const MONEY: Key = of_rented("hardware.money", Unit::Number);
/// Hours of VGG16.
const MONEY_HOURS: Key = of_rented("hardware.money.hours", Unit::Number);
/// US dollars for an hour.
const PER_HOUR: Key = of_rented("hardware.money.per_hour", Unit::Number);
/// How many times as expensive as the cheapest.
const TIMES_CHEAPEST: Key = of_rented("hardware.money.times_cheapest", Unit::Ratio);
/// Days of GPT-3.
const GPT3_DAYS: Key = Key::calculated("hardware.money.gpt3_days", Unit::Number, &["side"]);
/// Seconds of a whole training here, at the measured rate.
pub const TIME: Key = Key::measured("hardware.time", Unit::Seconds, &["model"]);
/// Seconds of the same training on a card.
const CARD: Key = Key::calculated("hardware.time.card", Unit::Seconds, &["model", "card", "side"]);
/// Joules of a training.
const ENERGY: Key = of_training("hardware.energy", Unit::Number);
/// Their mean for a second.
const WATTS: Key = of_training("hardware.energy.watts", Unit::Number);
/// The seconds of the same span.
const SECONDS: Key = of_training("hardware.energy.seconds", Unit::Seconds);

const fn of_reader(name: &'static str) -> Key {
    Key::calculated(name, Unit::Number, &["reader", "card", "side"])
}

const fn of_rented(name: &'static str, unit: Unit) -> Key {
    Key::calculated(name, unit, &["card", "side"])
}

const fn of_training(name: &'static str, unit: Unit) -> Key {
    Key::measured(name, unit, &["model", "device", "run"])
}

/// The experiments, in the order of the page.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick TABLE.name => &[TABLE], table,
            "how many figures the table of cards has, and how many of their sources were read";
        quick RIDGE.name => &[RIDGE, INTENSITY, SHARE], roofline,
            "above how many operations per byte each card's arithmetic is the limit, and how many training steps have";
        quick HOURS.name => &[HOURS, KWH, RENT, PRICE, ELECTRICITY, BREAK_EVEN, OPERATIONS], readers,
            "hours, energy and money of the four readers' jobs, calculated from measured efficiency";
        quick MONEY.name => &[MONEY, MONEY_HOURS, PER_HOUR, TIMES_CHEAPEST, GPT3_DAYS], money,
            "what VGG16 costs on each card that can be rented, and how expensive the most expensive card is";
        full TIME.name => &[TIME, CARD], time,
            "how long chapter 4's models train here by their recipes, and on a card by the calculator";
        full ENERGY.name => &[ENERGY, WATTS, SECONDS], energy,
            "the energy that training the example network takes, by the machine's own counters";
    }
}

/// Both ends of a range, as values with `side=low` and `side=high`.
fn ends(rec: &mut Recorder, quantity: &Quantity, range: Range) {
    for (side, end) in [("low", range.low), ("high", range.high)] {
        rec.record(quantity.clone().with("side", side), Samples::one(end));
    }
}

fn table(rec: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    let figures: usize = market.cards.iter().map(|card| card.figures().len()).sum();
    let sources = |how| market.sources.values().filter(|source| source.verified == how).count();
    for (what, count) in [
        ("cards", market.cards.len()),
        ("figures", figures),
        ("offers", market.offers.len()),
        ("measurements", market.measured.len()),
        ("sources", market.sources.len()),
        ("read", sources(Verified::Read)),
        ("quoted", sources(Verified::Quoted)),
        ("unread", sources(Verified::Datasheet)),
    ] {
        rec.record(TABLE.at(&[("what", &what)]), Samples::one(count as f64));
    }
    Ok(())
}

/// A training step in the roofline.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its name in records: `mlp-32`.
    pub id: &'static str,
    /// Its name in the figure.
    pub name: &'static str,
    /// The run that it is a step of.
    pub job: Job,
}

/// The jobs whose intensity the roofline shows.
///
/// # Errors
/// None of its own: the models are known.
pub fn jobs() -> Result<Vec<Shown>> {
    let mlp = Job::chapter_4(Model::Mlp)?;
    let mut jobs = vec![
        Shown { id: "mlp-32", name: "MLP, 32", job: Job { batch: 32.0, ..mlp.clone() } },
        Shown { id: "mlp-128", name: "MLP, 128", job: mlp },
    ];
    for (id, name, model) in [
        ("cnn", "CNN", Model::Cnn),
        ("resnet", "ResNet", Model::Resnet),
        ("transformer", "transformer", Model::Transformer),
    ] {
        jobs.push(Shown { id, name, job: Job::chapter_4(model)? });
    }
    jobs.push(Shown { id: "vgg16", name: "VGG16", job: Reader::Workstation.job()? });
    Ok(jobs)
}

fn roofline(rec: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    for card in &market.cards {
        let ridge = RIDGE.at(&[("card", &card.id)]);
        match card.ridge() {
            Some(found) => {
                rec.record(ridge, Samples::one(found));
            }
            None => rec.skip_at(ridge, "no floating-point rate is published"),
        }
    }
    for Shown { id: name, job, .. } in jobs()? {
        let intensity = job.intensity(Format::Bf16);
        rec.record(INTENSITY.at(&[("job", &name)]), Samples::one(intensity));
        for id in ["t4", "rtx-4090", "h100", "tpu-v6e"] {
            let Some(ridge) = market.card(id)?.ridge() else { continue };
            let share = (intensity / ridge).min(1.0);
            rec.record(SHARE.at(&[("job", &name), ("card", &id)]), Samples::one(share));
        }
    }
    Ok(())
}

fn readers(rec: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    for reader in Reader::ALL {
        let options = reader.options()?;
        let work = options.job.steps() * options.job.step_operations();
        rec.record(OPERATIONS.at(&[("reader", &reader)]), Samples::one(work));
        for line in buy(&market, &options)?.lines {
            let list: ParamList = &[("reader", &reader), ("card", &line.card)];
            ends(rec, &HOURS.at(list), line.hours);
            for (key, range, why) in [
                (KWH, line.kwh, "its power is not published"),
                (RENT, line.rent, "no provider in the table rents it out"),
                (ELECTRICITY, line.electricity, "its power is not published"),
                (BREAK_EVEN, line.break_even, "there is no price to buy it, or none to rent it"),
            ] {
                match range {
                    Some(range) => ends(rec, &key.at(list), range),
                    None => rec.skip_at(key.at(list), why),
                }
            }
            if let Some(price) = line.price {
                rec.record(PRICE.at(list), Samples::one(price));
            }
        }
    }
    Ok(())
}

/// The cards that can be rented, by what an hour costs, with the workstation's job on them.
///
/// # Errors
/// As [`buy`].
pub fn rented(market: &Market) -> Result<Vec<(f64, Estimate)>> {
    let report = buy(market, &Options::of(Reader::Workstation.job()?))?;
    let priced = |line: Estimate| Some((*market.prices(&line.card).first()?, line));
    let mut rented: Vec<_> = report.lines.into_iter().filter_map(priced).collect();
    rented.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(rented)
}

fn money(rec: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    let rented = rented(&market)?;
    for (hour, line) in &rented {
        let list: ParamList = &[("card", &line.card)];
        rec.record(PER_HOUR.at(list), Samples::one(*hour));
        ends(rec, &MONEY_HOURS.at(list), line.hours);
        if let Some(rent) = line.rent {
            ends(rec, &MONEY.at(list), rent);
        }
    }
    let costs = rented.iter().filter_map(|(_, line)| Some((&line.card, line.rent?.middle())));
    let cheapest = costs.clone().map(|(_, cost)| cost).fold(f64::INFINITY, f64::min);
    for (card, cost) in costs {
        rec.record(TIMES_CHEAPEST.at(&[("card", card)]), Samples::one(cost / cheapest));
    }
    // A published run, to check the calculator: GPT-3 on 10,000 V100.
    let job = Job::language(175e9, 96, 3.2e6, 300e9)?;
    let options = Options { cards: 10_000, only: vec!["v100".to_owned()], ..Options::of(job) };
    for line in buy(&market, &options)?.lines {
        ends(rec, &GPT3_DAYS.at(&[]), line.hours.times(1.0 / 24.0));
    }
    Ok(())
}

fn load(rec: &Recorder) -> Result<DataSet> {
    let options = DataOptions { folder: rec.data.clone(), ..DataOptions::default() };
    let data = data::load(&options)?;
    // The test is not what is timed.
    Ok(DataSet { test: data.test.first(10), ..data })
}

fn time(rec: &mut Recorder) -> Result<()> {
    let data = load(rec)?;
    let market = Market::load()?;
    for model in Model::ALL {
        let list: ParamList = &[("model", &model)];
        rec.note_at(TIME.at(list));
        let job = Job::chapter_4(model)?;
        let rates = studies::rates(model, Device::Cpu, Settings::of(model).batch, &data)?;
        rec.record(TIME.at(list), rates.map(|rate| job.examples / rate));
        for id in ["t4", "h100"] {
            let options = Options { only: vec![id.to_owned()], ..Options::of(job.clone()) };
            for line in buy(&market, &options)?.lines {
                ends(rec, &CARD.at(list).with("card", id), line.hours.times(3600.0));
            }
        }
    }
    Ok(())
}

/// Runs of the energy experiment.
const RUNS: usize = 3;

fn energy(rec: &mut Recorder) -> Result<()> {
    let device = rec.device;
    let of = |key: Key| key.at(&[("model", &Model::Mlp), ("device", &device)]);
    match trainings(rec) {
        Ok((joules, seconds)) => {
            let watts = joules.paired(&seconds, |joules, seconds| joules / seconds);
            rec.record(of(ENERGY), joules);
            rec.record(of(WATTS), watts);
            rec.record(of(SECONDS), seconds);
        }
        Err(Error::Skipped { why, .. }) => {
            for key in [ENERGY, WATTS, SECONDS] {
                rec.skip_at(of(key), &why);
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Joules and seconds of each training.
fn trainings(rec: &Recorder) -> Result<(Samples, Samples)> {
    let rapl = if rec.device == Device::Cpu { Some(Rapl::find()?) } else { None };
    let data = load(rec)?;
    let config =
        Config { settings: Settings::of(Model::Mlp), device: rec.device, ..Config::default() };
    let train = || train_on(&config, &data, &mut Silent);
    // Both of the same span, which is a little longer than what the training counts as its own.
    let timed = || {
        let began = Instant::now();
        let outcome = train();
        (outcome, began.elapsed().as_secs_f64())
    };
    let gpu = if let Device::Cuda(gpu) = rec.device { gpu } else { 0 };
    let (mut joules, mut seconds) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        rec.note_at(ENERGY.at(&[("run", &run)]));
        let (energy, (outcome, took)) = match &rapl {
            Some(rapl) => {
                let mut meter = rapl.start()?;
                let done = timed();
                (meter.joules()?, done)
            }
            None => gpu_joules(gpu, timed)?,
        };
        outcome?;
        joules.push(energy);
        seconds.push(took);
    }
    Ok((Samples(joules), Samples(seconds)))
}
