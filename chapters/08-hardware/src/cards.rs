//! The table of accelerators, of what others measured on them, and of cloud prices. Each figure has its source.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

lab::named! {
    /// How far a source can be trusted.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Verified("verified") {
        /// The publication itself was read.
        Read = "read",
        /// It was read where another publication quotes it (`via`).
        Quoted = "read where it is quoted",
        /// A datasheet that was not read for this table; its figures are as its readers remember them.
        Datasheet = "datasheet, not read here",
    }
}

/// Where a figure is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its title.
    pub title: String,
    /// Who published it.
    pub publisher: String,
    /// Its address.
    pub url: String,
    /// The day that its figures are of: `2026-08-22`.
    pub dated: String,
    /// The day on which it was read, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// How it was read.
    pub verified: Verified,
    /// Which publication quotes it, if it was read there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// A number, and the key of its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number, in the base unit: bytes, B/s, FLOP/s, W, US dollars.
    pub value: f64,
    /// The key of its source.
    pub source: String,
}

/// What kind of thing a card is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A central processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Google's tensor processor.
    Tpu,
    /// Another circuit made for neural networks.
    Asic,
    /// Processor and graphics in one chip.
    Soc,
    /// A whole wafer.
    Wafer,
    /// A circuit that its owner wires.
    Fpga,
}

lab::named! {
    /// A number format that a unit multiplies.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Format("format") {
        /// 32 bits.
        F32 = "f32",
        /// 32 bits, of which 19 are multiplied.
        Tf32 = "tf32",
        /// 16 bits, 5 of them exponent.
        F16 = "f16",
        /// 16 bits, 8 of them exponent.
        Bf16 = "bf16",
        /// 8 bits.
        Fp8 = "fp8",
    }
}

impl Format {
    /// Bytes of a number in memory.
    pub fn bytes(self) -> f64 {
        match self {
            Self::F32 | Self::Tf32 => 4.0,
            Self::F16 | Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
        }
    }
}

/// One accelerator. Rates are dense ones, without sparsity, and adding up in f32 where there is a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// A short name: `h100`.
    pub id: String,
    /// Its full name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The year in which it came out.
    pub year: u32,
    /// What must be known about its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Bytes of memory.
    pub memory: Figure,
    /// Bytes a second that the memory moves.
    pub bandwidth: Figure,
    /// FLOP/s in f32, in the vector units.
    pub f32: Option<Figure>,
    /// FLOP/s in tf32.
    pub tf32: Option<Figure>,
    /// FLOP/s in f16.
    pub f16: Option<Figure>,
    /// FLOP/s in bf16.
    pub bf16: Option<Figure>,
    /// FLOP/s in 8-bit floating point.
    pub fp8: Option<Figure>,
    /// Operations a second on 8-bit integers.
    pub int8: Option<Figure>,
    /// Watts that it is built to take.
    pub power: Option<Figure>,
    /// Bytes a second to other cards, both directions together.
    pub link: Option<Figure>,
    /// US dollars at its launch, where that was published.
    pub price: Option<Figure>,
    /// Cores, as its maker counts them.
    pub cores: Option<Figure>,
}

impl Card {
    /// Its peak in a format, in FLOP/s.
    pub fn rate(&self, format: Format) -> Option<f64> {
        let figure = match format {
            Format::F32 => &self.f32,
            Format::Tf32 => &self.tf32,
            Format::F16 => &self.f16,
            Format::Bf16 => &self.bf16,
            Format::Fp8 => &self.fp8,
        };
        figure.as_ref().map(|figure| figure.value)
    }

    /// The format to train in, and its peak: 16 bits where it has them (chapter 6), else f32.
    pub fn training(&self) -> Option<(Format, f64)> {
        let order = [Format::Bf16, Format::F16, Format::F32];
        order.into_iter().find_map(|format| Some((format, self.rate(format)?)))
    }

    /// Operations per byte above which arithmetic is the limit, in the format to train in.
    // ANCHOR: ridge
    pub fn ridge(&self) -> Option<f64> {
        let (_, peak) = self.training()?;
        Some(peak / self.bandwidth.value)
    }
    // ANCHOR_END: ridge

    /// All its figures, with their names.
    pub fn figures(&self) -> Vec<(&'static str, &Figure)> {
        let optional = [
            ("f32", &self.f32),
            ("tf32", &self.tf32),
            ("f16", &self.f16),
            ("bf16", &self.bf16),
            ("fp8", &self.fp8),
            ("int8", &self.int8),
            ("power", &self.power),
            ("link", &self.link),
            ("price", &self.price),
            ("cores", &self.cores),
        ];
        [("memory", &self.memory), ("bandwidth", &self.bandwidth)]
            .into_iter()
            .chain(optional.into_iter().filter_map(|(name, figure)| Some((name, figure.as_ref()?))))
            .collect()
    }
}

/// What was measured on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A large product, in its best shape: FLOP/s.
    Product,
    /// Layers that train: FLOP/s of the whole step.
    Training,
    /// Memory read and written: B/s.
    Copy,
}

/// A measurement that others have published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The card's short name.
    pub card: String,
    /// What was measured.
    pub what: What,
    /// Of which work.
    pub workload: String,
    /// In which format, if it is arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// FLOP/s or B/s.
    pub value: f64,
    /// The key of its source.
    pub source: String,
}

/// What a machine costs for an hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Who rents it out.
    pub provider: String,
    /// What the provider calls it.
    pub instance: String,
    /// The card's short name, or `two-cores` for a machine with two CPU cores and no card.
    pub card: String,
    /// How many of them.
    pub cards: u32,
    /// US dollars an hour for all of them, on demand.
    pub usd_per_hour: f64,
    /// Where, if the price depends on it.
    pub region: String,
    /// The day of the price.
    pub dated: String,
    /// The key of its source.
    pub source: String,
}

impl Offer {
    /// US dollars an hour for one card.
    pub fn each(&self) -> f64 {
        self.usd_per_hour / f64::from(self.cards)
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    /// The sources, by their keys.
    pub sources: BTreeMap<String, Source>,
    /// The cards.
    pub cards: Vec<Card>,
    /// What was measured on them.
    pub measured: Vec<Measured>,
    /// What they cost for an hour.
    pub offers: Vec<Offer>,
}

const CARDS: &str = "accelerators.json";
const CLOUD: &str = "cloud.json";

fn damaged(file: &str, why: String) -> Error {
    Error::damaged(Path::new(file), why + "; correct the file, or take it back from the repository")
}

impl Market {
    /// The tables that come with the course.
    ///
    /// # Errors
    /// [`Error::Damaged`] if one of them is not what it should be.
    pub fn load() -> Result<Self> {
        let (cards, cloud) =
            (include_str!("../data/accelerators.json"), include_str!("../data/cloud.json"));
        Self::from_json(cards, cloud)
    }

    /// Tables from the texts of their files.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a text that is no table, a figure without a source, or a date that is none.
    pub fn from_json(cards: &str, cloud: &str) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Hardware {
            sources: BTreeMap<String, Source>,
            cards: Vec<Card>,
            measured: Vec<Measured>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Cloud {
            sources: BTreeMap<String, Source>,
            offers: Vec<Offer>,
        }
        let read = |file: &'static str| move |e: serde_json::Error| damaged(file, e.to_string());
        let hardware: Hardware = serde_json::from_str(cards).map_err(read(CARDS))?;
        let cloud: Cloud = serde_json::from_str(cloud).map_err(read(CLOUD))?;
        let sources = hardware.sources.into_iter().chain(cloud.sources).collect();
        let Hardware { cards, measured, .. } = hardware;
        let market = Self { sources, cards, measured, offers: cloud.offers };
        market.check()?;
        Ok(market)
    }

    fn check(&self) -> Result<()> {
        let wrong = |file, why| Err(damaged(file, why));
        for (key, source) in &self.sources {
            for date in [Some(&source.dated), source.read.as_ref()].into_iter().flatten() {
                if !is_date(date) {
                    return wrong(CARDS, format!("`{date}` of `{key}` is no date like 2026-08-22"));
                }
            }
        }
        let figures = self.cards.iter().flat_map(|card| {
            card.figures().into_iter().map(|(name, f)| (format!("{name} of {}", card.id), f))
        });
        for (name, figure) in figures {
            if !self.sources.contains_key(&figure.source) {
                return wrong(CARDS, format!("{name} names no source (`{}`)", figure.source));
            }
            if !(figure.value.is_finite() && figure.value > 0.0) {
                return wrong(CARDS, format!("{name} is {}, and not above zero", figure.value));
            }
        }
        for measured in &self.measured {
            let known = self.card(&measured.card).is_ok();
            if !known || !self.sources.contains_key(&measured.source) {
                return wrong(CARDS, format!("{measured:?} has no card or no source"));
            }
        }
        for offer in &self.offers {
            let dated = is_date(&offer.dated) && self.sources.contains_key(&offer.source);
            if !dated || offer.cards == 0 || offer.usd_per_hour <= 0.0 {
                return wrong(CLOUD, format!("{offer:?} has no date, source, cards or price"));
            }
        }
        Ok(())
    }

    /// The card with this short name.
    ///
    /// # Errors
    /// [`Error::Message`] that lists the cards there are.
    pub fn card(&self, id: &str) -> Result<&Card> {
        self.cards.iter().find(|card| card.id == id).ok_or_else(|| {
            let ids: Vec<&str> = self.cards.iter().map(|card| card.id.as_str()).collect();
            Error::message(format!("there is no card `{id}`; there are {}", ids.join(", ")))
        })
    }

    /// US dollars an hour for one of these cards, from the cheapest offer.
    pub fn prices(&self, card: &str) -> Vec<f64> {
        let offers = self.offers.iter().filter(|offer| offer.card == card);
        let mut prices: Vec<f64> = offers.map(Offer::each).collect();
        prices.sort_by(f64::total_cmp);
        prices
    }

    /// The days of the oldest and of the newest cloud price.
    pub fn price_dates(&self) -> Option<(&str, &str)> {
        let dates = || self.offers.iter().map(|offer| offer.dated.as_str());
        dates().min().zip(dates().max())
    }
}

/// Whether a text is a day: `2026-08-22`.
pub fn is_date(text: &str) -> bool {
    let digit = |(at, byte): (usize, u8)| {
        if [4, 7].contains(&at) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    text.len() == 10
        && text.bytes().enumerate().all(digit)
        && ("2000".."2100").contains(&&text[..4])
        && ("01"..="12").contains(&&text[5..7])
        && ("01"..="31").contains(&&text[8..])
}
