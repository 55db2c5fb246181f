//! What a training costs: hours, energy and money, here and on a card, at the tokens that make the best of a model's size.

use super::{
    count::{BATCH, SIZES},
    devices,
    step::stream,
};
use crate::{
    Error, Result,
    count::{Operations, Parameters, TOKENS_PER_PARAMETER, six_n_d},
    train::Settings,
};
use hardware::{
    Job, Market, Options, buy,
    calculator::{DRAW, Range, Shares},
};
use lab::{Budget, Experiment, Recorder, Samples, record::ParamList};
use matmul::parallel::available;

lab::keys! {
    /// Hours of a training.
    pub HOURS: calculated "language_model.cost", Number, ["model", "where", "side"];
    /// Its kilowatt-hours.
    pub KWH: calculated "language_model.cost.kwh", Number, ["model", "where", "side"];
    /// Its rent in US dollars.
    pub RENT: calculated "language_model.cost.rent", Number, ["model", "where", "side"];
    /// US dollars of electricity.
    pub ELECTRICITY: calculated "language_model.cost.electricity", Number, ["model", "where", "side"];
    /// Parameters.
    pub PARAMETERS: calculated "language_model.cost.parameters", Count, ["model"];
    /// Tokens: twenty for each parameter.
    pub TOKENS: calculated "language_model.cost.tokens", Count, ["model"];
    /// Operations, 6·N·D.
    pub OPERATIONS: calculated "language_model.cost.operations", Number, ["model"];
    /// Tokens a second, of the models that are trained here.
    pub RATE: measured "language_model.cost.rate", TokensPerSecond, ["model", "threads"];
    /// The fractions of an H200's peak that the calculator takes.
    pub FRACTION: calculated "language_model.cost.fraction", Share, ["card", "side"];
}

/// The card that is calculated for.
pub const CARD: &str = "h200";
/// The CPU of chapter 8's table whose watts a core are taken for this machine's.
pub const CPU: &str = "epyc-9654";
/// Chapter 8's name of a rented machine, and its cores.
const RENTED: (&str, f64) = ("two-cores", 2.0);
/// Tokens of a step on the card.
pub const STEP: f64 = 16_384.0;

/// A model and its training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Its name in records.
    pub name: &'static str,
    /// Its name in words.
    pub words: &'static str,
    /// N.
    pub parameters: f64,
    /// Layers.
    pub layers: u64,
}

impl Training {
    /// D: tokens that make the best of N (Hoffmann et al. 2022).
    pub fn tokens(&self) -> f64 {
        TOKENS_PER_PARAMETER * self.parameters
    }

    /// 6·N·D.
    pub fn operations(&self) -> f64 {
        six_n_d(self.parameters as u64, self.tokens())
    }

    /// As chapter 8 sees it.
    ///
    /// # Errors
    /// None of its own: the numbers are above zero.
    pub fn job(&self) -> Result<Job> {
        Ok(Job::language(self.parameters, self.layers, STEP, self.tokens())?)
    }
}

/// GPT-2's smallest model (Radford et al. 2019): a table of 50,257 tokens and one of 1,024 positions, twelve layers of
/// width 768 with biases, and the last normalisation.
fn gpt2() -> f64 {
    let (width, layers) = (768.0, 12.0);
    (50_257.0 + 1024.0) * width + layers * (12.0 * width * width + 13.0 * width) + 2.0 * width
}

/// The trainings, from the smallest.
pub fn trainings() -> [Training; 4] {
    let [tiny, small] = SIZES.map(|(name, config)| {
        let config = config();
        let parameters = Parameters::of(&config).all() as f64;
        Training { name, words: name, parameters, layers: config.layers as u64 }
    });
    let gpt2 = Training { name: "gpt-2", words: "GPT-2, 124 M", parameters: gpt2(), layers: 12 };
    [tiny, small, gpt2, Training { name: "7b", words: "7 B", parameters: 7e9, layers: 32 }]
}

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick HOURS.name =>
            &[HOURS, KWH, RENT, ELECTRICITY, RATE, FRACTION, PARAMETERS, TOKENS, OPERATIONS],
            |r| Ok(run(r)?),
            "hours, energy and money of four trainings, here at the measured rate and on an H200";
    }
}

/// Both ends of a range.
fn ends(r: &mut Recorder, quantity: &lab::key::Quantity, range: Range) {
    for (side, end) in [("low", range.low), ("high", range.high)] {
        r.one(quantity.clone().with("side", side), end);
    }
}

fn counted(r: &mut Recorder, market: &Market) -> Result<()> {
    let shares = Shares::of(market, market.card(CARD)?)?;
    ends(r, &FRACTION.at(&[("card", &CARD)]), shares.compute);
    for training in trainings() {
        let list: ParamList = &[("model", &training.name)];
        r.one(PARAMETERS.at(list), training.parameters);
        r.one(TOKENS.at(list), training.tokens());
        r.one(OPERATIONS.at(list), training.operations());
    }
    Ok(())
}

fn run(r: &mut Recorder) -> Result<()> {
    let market = Market::load()?;
    counted(r, &market)?;
    let here = Here::of(&market, available())?;
    // Operations a second of the last model that was trained here: the rate for those that are too large for it.
    let mut reached = f64::NAN;
    for (at, training) in trainings().into_iter().enumerate() {
        if let Some((name, config)) = SIZES.get(at) {
            let list: ParamList = &[("model", name), ("threads", &available())];
            let rate = r.record(RATE.at(list), rate(config(), r.budget)?);
            let operations = Operations::of(&config(), config().context).training();
            reached = rate * operations;
            here.record(r, &training, training.tokens() / rate / 3600.0);
        } else {
            here.record(r, &training, training.operations() / reached / 3600.0);
        }
        on_card(r, &market, &training)?;
    }
    Ok(())
}

/// Tokens a second of a trainer on all cores.
fn rate(config: crate::Config, budget: Budget) -> Result<Samples> {
    let steps = if budget == Budget::Full { 12 } else { 3 };
    let settings = Settings { batch: BATCH, length: config.context, ..Settings::default() };
    let text = stream(config.vocabulary, 50_000);
    let seconds = devices::trainer(config, settings, &text, (0, steps))?;
    Ok(seconds.map(|seconds| (BATCH * config.context) as f64 / seconds))
}

/// What an hour of this machine's cores takes.
pub struct Here {
    /// Power, in kilowatts.
    pub kw: Range,
    /// Rent of an hour.
    pub usd: f64,
}

impl Here {
    /// So many cores: their part of a server CPU's power, and of the rent
    /// of two cores.
    ///
    /// # Errors
    /// If the market has no such CPU.
    pub fn of(market: &Market, cores: usize) -> Result<Self> {
        let cpu = market.card(CPU)?;
        let missing = || {
            Error::Config(format!("chapter 8's table has no power or price of {CPU} and two cores"))
        };
        let power = cpu.power.as_ref().ok_or_else(missing)?.value;
        let of_cpu = cpu.cores.as_ref().ok_or_else(missing)?.value;
        let (rented, rented_cores) = RENTED;
        let hour = *market.prices(rented).first().ok_or_else(missing)?;
        // ANCHOR: here
        let watts = power / of_cpu * cores as f64;
        Ok(Self {
            kw: DRAW.times(watts / 1000.0), // as much as trainings draw
            usd: hour / rented_cores * cores as f64,
        })
        // ANCHOR_END: here
    }

    fn record(&self, r: &mut Recorder, training: &Training, hours: f64) {
        let list: ParamList = &[("model", &training.name), ("where", &"here")];
        let kwh = self.kw.times(hours);
        ends(r, &HOURS.at(list), Range::new(hours, hours));
        ends(r, &KWH.at(list), kwh);
        ends(r, &RENT.at(list), Range::new(self.usd * hours, self.usd * hours));
        ends(r, &ELECTRICITY.at(list), kwh.times(hardware::calculator::ELECTRICITY));
    }
}

/// Chapter 8's calculator, for one card.
fn on_card(r: &mut Recorder, market: &Market, training: &Training) -> Result<()> {
    let options = Options { only: vec![CARD.to_owned()], ..Options::of(training.job()?) };
    let list: ParamList = &[("model", &training.name), ("where", &CARD)];
    let report = buy(market, &options)?;
    for line in report.lines {
        ends(r, &HOURS.at(list), line.hours);
        for (key, range) in [(KWH, line.kwh), (RENT, line.rent), (ELECTRICITY, line.electricity)] {
            match range {
                Some(range) => ends(r, &key.at(list), range),
                None => r.skip_at(key.at(list), "it is not in chapter 8's table"),
            }
        }
    }
    for refused in report.refused {
        r.skip_at(HOURS.at(list), refused.why);
    }
    Ok(())
}
