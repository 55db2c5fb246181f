//! What this chapter measures, and what it calculates from measurements of others.

use crate::{
    Job, Market, Options, Reader, buy,
    calculator::{Line, Range},
    cards::{Format, Verified},
    power::{Rapl, gpu_joules},
};
use lab::{
    Device, Experiment, Recorder, Result, Samples, Unit,
    data::{self, DataSet, Options as DataOptions},
    machine, peak,
    record::ParamList,
};
use training::{Config, Model, Settings, Silent, studies, train_on};

/// The experiments, in the order of the page.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "hardware.table",
            shows: "how many figures the table of cards has, and how many of their sources were read",
            values: &["hardware.table"],
            quick: true,
            run: table,
        },
        Experiment {
            key: "hardware.roofline",
            shows: "from how many operations per byte on each card's arithmetic is the limit, and how many training steps have",
            values: &[
                "hardware.roofline",
                "hardware.roofline.intensity",
                "hardware.roofline.share",
            ],
            quick: true,
            run: roofline,
        },
        Experiment {
            key: "hardware.readers",
            shows: "hours, energy and money of the four readers' jobs, calculated from measured efficiency",
            values: &[
                "hardware.readers",
                "hardware.readers.kwh",
                "hardware.readers.rent",
                "hardware.readers.price",
                "hardware.readers.electricity",
                "hardware.readers.break_even",
                "hardware.readers.operations",
            ],
            quick: true,
            run: readers,
        },
        Experiment {
            key: "hardware.money",
            shows: "what VGG16 costs on each card that can be rented, and how dear the dearest card is",
            values: &[
                "hardware.money",
                "hardware.money.hours",
                "hardware.money.per_hour",
                "hardware.money.times_cheapest",
                "hardware.money.gpt3_days",
            ],
            quick: true,
            run: money,
        },
        Experiment {
            key: "hardware.time",
            shows: "how long chapter 4's models train here by their recipes, and on a card by the calculator",
            values: &[
                "hardware.time",
                "hardware.time.rate",
                "hardware.time.flops",
                "hardware.time.card",
            ],
            quick: false,
            run: time,
        },
        Experiment {
            key: "hardware.energy",
            shows: "the energy that training the article's network takes, by the machine's own counters",
            values: &["hardware.energy", "hardware.energy.watts", "hardware.energy.seconds"],
            quick: false,
            run: energy,
        },
    ]
}

/// Both ends of a range, as values with `side=low` and `side=high`.
fn ends(rec: &mut Recorder, key: &str, list: ParamList, unit: Unit, range: Range) {
    for (side, end) in [("low", range.low), ("high", range.high)] {
        let mut with: Vec<(&str, &dyn std::fmt::Display)> = list.to_vec();
        with.push(("side", &side));
        rec.value(key, &with, unit, Samples::one(end));
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
        rec.value("hardware.table", &[("what", &what)], Unit::Count, Samples::one(count as f64));
    }
    Ok(())
}

/// A training step in the roofline.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its name in records: `mlp-32`.
    pub id: &'static str,
    /// Its name in the picture.
    pub name: &'static str,
    /// The run that it is a step of.
    pub job: Job,
}

/// The jobs whose intensity the roofline shows.
///
/// # Errors
/// None of its own: the models are known.
pub fn jobs() -> crate::Result<Vec<Shown>> {
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
        let list: ParamList = &[("card", &card.id)];
        match card.ridge() {
            Some(ridge) => {
                rec.value("hardware.roofline", list, Unit::Number, Samples::one(ridge));
            }
            None => rec.skip("hardware.roofline", list, "no floating-point rate is published"),
        }
    }
    for Shown { id: name, job, .. } in jobs()? {
        let list: ParamList = &[("job", &name)];
        let intensity = job.intensity(Format::Bf16);
        rec.value("hardware.roofline.intensity", list, Unit::Number, Samples::one(intensity));
        for id in ["t4", "rtx-4090", "h100", "tpu-v6e"] {
            let Some(ridge) = market.card(id)?.ridge() else { continue };
            let list: ParamList = &[("job", &name), ("card", &id)];
            let share = (intensity / ridge).min(1.0);
            rec.value("hardware.roofline.share", list, Unit::Share, Samples::one(share));
        }
    }
    Ok(())
}

fn readers(rec: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    for reader in Reader::ALL {
        let options = reader.options()?;
        let work = options.job.steps() * options.job.step_operations();
        rec.value(
            "hardware.readers.operations",
            &[("reader", &reader)],
            Unit::Number,
            Samples::one(work),
        );
        for line in buy(&market, &options)?.lines {
            let list: ParamList = &[("reader", &reader), ("card", &line.card)];
            ends(rec, "hardware.readers", list, Unit::Number, line.hours);
            for (key, range, why) in [
                ("hardware.readers.kwh", line.kwh, "its power is not published"),
                ("hardware.readers.rent", line.rent, "nobody in the table rents it out"),
                ("hardware.readers.electricity", line.electricity, "its power is not published"),
                (
                    "hardware.readers.break_even",
                    line.break_even,
                    "there is no price to buy it, or none to rent it",
                ),
            ] {
                match range {
                    Some(range) => ends(rec, key, list, Unit::Number, range),
                    None => rec.skip(key, list, why),
                }
            }
            if let Some(price) = line.price {
                rec.value("hardware.readers.price", list, Unit::Number, Samples::one(price));
            }
        }
    }
    Ok(())
}

/// The cards that can be rented, by what an hour costs, with the workstation's job on them.
///
/// # Errors
/// As [`buy`].
pub fn rented(market: &Market) -> crate::Result<Vec<(f64, Line)>> {
    let report = buy(market, &Options::of(Reader::Workstation.job()?))?;
    let mut rented: Vec<(f64, Line)> = report
        .lines
        .into_iter()
        .filter_map(|line| Some((*market.prices(&line.card).first()?, line)))
        .collect();
    rented.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(rented)
}

fn money(rec: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    let rented = rented(&market)?;
    for (hour, line) in &rented {
        let list: ParamList = &[("card", &line.card)];
        rec.value("hardware.money.per_hour", list, Unit::Number, Samples::one(*hour));
        ends(rec, "hardware.money.hours", list, Unit::Number, line.hours);
        if let Some(rent) = line.rent {
            ends(rec, "hardware.money", list, Unit::Number, rent);
        }
    }
    let cost = |(_, line): &(f64, Line)| line.rent.map(Range::middle);
    let cheapest = rented.iter().filter_map(cost).fold(f64::INFINITY, f64::min);
    for entry in &rented {
        if let Some(cost) = cost(entry) {
            let list: ParamList = &[("card", &entry.1.card)];
            rec.value(
                "hardware.money.times_cheapest",
                list,
                Unit::Ratio,
                Samples::one(cost / cheapest),
            );
        }
    }
    // A published run, to hold the calculator against: GPT-3 on 10,000 V100.
    let job = Job::language(175e9, 96, 3.2e6, 300e9)?;
    let options = Options { cards: 10_000, only: vec!["v100".to_owned()], ..Options::of(job) };
    for line in buy(&market, &options)?.lines {
        let days = line.hours.times(1.0 / 24.0);
        ends(rec, "hardware.money.gpt3_days", &[], Unit::Number, days);
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
    let limit = peak::fma_f32(machine::cores());
    for model in Model::ALL {
        let list: ParamList = &[("model", &model)];
        rec.note("hardware.time", list);
        let job = Job::chapter_4(model)?;
        let rates = studies::rates(model, Device::Cpu, Settings::of(model).batch, &data)?;
        rec.value("hardware.time.rate", list, Unit::ImagesPerSecond, rates.clone());
        let flops = rates.clone().map(|rate| rate * job.operations);
        rec.limited("hardware.time.flops", list, Unit::FlopsPerSecond, flops, Some(limit.clone()));
        rec.value("hardware.time", list, Unit::Seconds, rates.map(|rate| job.examples / rate));
        for id in ["t4", "h100"] {
            let options = Options { only: vec![id.to_owned()], ..Options::of(job.clone()) };
            for line in buy(&market, &options)?.lines {
                let list: ParamList = &[("model", &model), ("card", &id)];
                let seconds = line.hours.times(3600.0);
                ends(rec, "hardware.time.card", list, Unit::Seconds, seconds);
            }
        }
    }
    Ok(())
}

/// Runs of the energy experiment.
const RUNS: usize = 3;

fn energy(rec: &mut Recorder) -> Result<()> {
    const KEY: &str = "hardware.energy";
    let device = rec.device;
    let list: ParamList = &[("model", &Model::Mlp), ("device", &device)];
    let on_cpu = rec.device == Device::Cpu;
    let rapl = match Rapl::find() {
        Ok(rapl) => Some(rapl),
        Err(error) if on_cpu => {
            for key in [KEY, "hardware.energy.watts", "hardware.energy.seconds"] {
                rec.skip(key, list, error.to_string());
            }
            return Ok(());
        }
        Err(_) => None,
    };
    let data = load(rec)?;
    let config =
        Config { settings: Settings::of(Model::Mlp), device: rec.device, ..Config::default() };
    let (mut joules, mut seconds) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        rec.note(KEY, &[("run", &run)]);
        let train = || train_on(&config, &data, &mut Silent);
        let (energy, outcome) = if on_cpu {
            let Some(rapl) = &rapl else { return Ok(()) };
            let mut meter = rapl.start()?;
            let outcome = train();
            (meter.joules()?, outcome?)
        } else {
            match gpu_joules(train) {
                Ok((energy, outcome)) => (energy, outcome?),
                Err(error) => {
                    rec.skip(KEY, list, error.to_string());
                    return Ok(());
                }
            }
        };
        joules.push(energy);
        seconds.push(outcome.seconds);
    }
    let watts = joules.iter().zip(&seconds).map(|(joules, seconds)| joules / seconds).collect();
    rec.value(KEY, list, Unit::Number, Samples(joules));
    rec.value("hardware.energy.watts", list, Unit::Number, Samples(watts));
    rec.value("hardware.energy.seconds", list, Unit::Seconds, Samples(seconds));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Budget, chapter, progress::Progress};

    #[test]
    fn what_is_calculated_is_recorded_whole() {
        let progress = Progress::hidden();
        for experiment in experiments().into_iter().filter(|experiment| experiment.quick) {
            let run =
                chapter::run(&experiment, Budget::Quick, Device::Cpu, None, &progress).unwrap();
            assert!(run.values.len() > 5, "{}", experiment.key);
            for value in &run.values {
                assert!(value.median.is_finite() && value.median > 0.0, "{value:?}");
            }
        }
    }
}
