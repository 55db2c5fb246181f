//! The chapter's pictures and tables.

use crate::{
    Error as Wrong, Job, Market, Reader, buy,
    calculator::{Line, Range},
    cards::{Card, Figure as Number, Format, Kind},
    measured::experiments::{Shown, jobs, rented},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
};
use training::{Model, Settings};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "hardware.roofline", draw: draw_roofline },
        Figure { key: "hardware.money", draw: draw_money },
        Figure { key: "hardware.break_even", draw: draw_break_even },
        Figure { key: "hardware.time", draw: draw_time },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "hardware.cards", make: table_cards },
        Table { key: "hardware.offers", make: table_offers },
        Table { key: "hardware.shares", make: table_shares },
        Table { key: "hardware.sources", make: table_sources },
        Table { key: "hardware.small", make: |_| table_reader(Reader::Small) },
        Table { key: "hardware.laptop", make: |_| table_reader(Reader::Laptop) },
        Table { key: "hardware.workstation", make: |_| table_reader(Reader::Workstation) },
        Table { key: "hardware.cluster", make: |_| table_reader(Reader::Cluster) },
        Table { key: "hardware.models", make: table_models },
    ]
}

/// The table of cards, or the lab's error.
fn market() -> Result<Market> {
    Ok(Market::load()?)
}

/// Cards that share a colour: their name, and which they are.
type Family = (&'static str, fn(&Card) -> bool);

/// All of them.
const FAMILIES: [Family; 6] = [
    ("CPUs", |card| card.kind == Kind::Cpu),
    ("GeForce", |card| card.id.starts_with("rtx") && card.id != "rtx-a6000"),
    ("data-centre GPUs", |card| {
        card.kind == Kind::Gpu && (!card.id.starts_with("rtx") || card.id == "rtx-a6000")
    }),
    ("TPUs", |card| card.kind == Kind::Tpu),
    ("Gaudi", |card| card.id.starts_with("gaudi")),
    ("Bow IPU", |card| card.id == "bow-ipu"),
];

fn draw_roofline(_: &Records) -> Result<Drawing> {
    let market = market()?;
    let (mut series, mut limits, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for (name, belongs) in FAMILIES {
        let mut points: Vec<(f64, f64)> = market
            .cards
            .iter()
            .filter(|card| belongs(card))
            .filter_map(|card| Some((card.ridge()?, card.training()?.1 / 1e12)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((first, last)) = points.first().zip(points.last()) {
            words.push(format!("{name} from {:.0} to {:.0}", first.0, last.0));
        }
        series.push(Series { name: name.to_owned(), points, band: vec![], joined: false });
    }
    // Two whole rooflines, to show what a point stands for.
    for id in ["rtx-4090", "h100"] {
        let card = market.card(id)?;
        let Some((_, peak)) = card.training() else { continue };
        let bandwidth = card.bandwidth.value;
        let at = |x: f64| (x, (x * bandwidth).min(peak) / 1e12);
        let points = vec![at(LEFT), at(peak / bandwidth), at(RIGHT)];
        let name = card.name.replace("NVIDIA ", "");
        limits.push(LimitLine { name, points });
    }
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for Shown { name, job, .. } in jobs()? {
        let x = job.intensity(Format::Bf16);
        (low, high) = (low.min(x), high.max(x));
        words.push(format!("{name} at {x:.0}"));
        limits.push(LimitLine { name: name.to_owned(), points: vec![(x, 1.0), (x, 4000.0)] });
    }
    let ridges = market.cards.iter().filter(|card| card.kind == Kind::Gpu).filter_map(Card::ridge);
    let gpus = Range::of(ridges).unwrap_or(Range::new(0.0, 0.0));
    let caption = format!(
        "Each point is the ridge of a card: to its left bytes are the limit, to its right arithmetic. GPUs have it between \
         {:.0} and {:.0} operations per byte; this book's training steps have {low:.0} to {high:.0} (dashed, upright).",
        gpus.low, gpus.high,
    );
    let plot = LinePlot {
        x: Axis::new("operations per byte, 16-bit products", Scale::Log).range(LEFT, RIGHT),
        y: Axis::new("peak (TFLOP/s)", Scale::Log).range(1.0, 4000.0),
        series,
        limits,
    };
    let alt = format!("Points and lines over operations per byte. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// The ends of the roofline's axis.
const LEFT: f64 = 2.0;
const RIGHT: f64 = 2000.0;

fn usd(n: f64) -> String {
    Unit::Number.format(n)
}

/// A bar over a range.
fn bar(name: &str, range: Range, scale: f64, text: String) -> Bar {
    let range = range.times(1.0 / scale);
    Bar { name: name.to_owned(), value: Some((range.middle(), range.low, range.high)), text }
}

/// A card's name without its maker.
fn short(name: &str) -> &str {
    ["NVIDIA GeForce ", "NVIDIA ", "AMD Instinct ", "Google ", "Intel "]
        .iter()
        .find_map(|maker| name.strip_prefix(maker))
        .unwrap_or(name)
}

fn draw_money(_: &Records) -> Result<Drawing> {
    let market = market()?;
    let rented = rented(&market)?;
    let rent = |line: &Line| line.rent.unwrap_or(Range::new(f64::NAN, f64::NAN));
    let bars: Vec<Bar> = rented
        .iter()
        .map(|(hour, line)| {
            let name = format!("{}, {} an hour", short(&line.name), usd(*hour));
            bar(&name, rent(line), 1.0, rent(line).text())
        })
        .collect();
    let middle = |entry: &&(f64, Line)| rent(&entry.1).middle();
    let by_cost = |a: &&(f64, Line), b: &&(f64, Line)| middle(a).total_cmp(&middle(b));
    let cheapest = rented.iter().min_by(by_cost);
    let dearest = rented.last();
    let caption = match cheapest.zip(dearest) {
        Some(((hour, best), (most, last))) => format!(
            "VGG16 trained as it was published, rented, in US dollars: the cheapest is {} for {} an hour; {}, for {}, takes {:.1} times as \
             much money. The ranges are those of the efficiency and of the offers.",
            short(&best.name),
            usd(*hour),
            short(&last.name),
            usd(*most),
            rent(last).middle() / rent(best).middle(),
        ),
        None => "The table has no card to rent.".to_owned(),
    };
    let alt = format!("Bars with spread. {}.", Bar::in_words(&bars));
    let axis = Axis::new("US dollars for the run", Scale::Log);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

/// Hours of a year.
const YEAR: f64 = 8766.0;

fn draw_break_even(_: &Records) -> Result<Drawing> {
    let market = market()?;
    let lines = rented(&market)?.into_iter().map(|(_, line)| line);
    let found: Vec<(String, Range)> =
        lines.filter_map(|line| Some((short(&line.name).to_owned(), line.break_even?))).collect();
    let bars: Vec<Bar> = found
        .iter()
        .map(|(name, hours)| {
            bar(name, *hours, 24.0, format!("{} days", hours.times(1.0 / 24.0).text()))
        })
        .collect();
    let all = Range::of(found.iter().flat_map(|(_, hours)| [hours.low, hours.high]));
    let caption = all.map_or_else(
        || "No card in the table is both sold and rented out.".to_owned(),
        |all| {
            format!(
                "Days of use, day and night, until a card that was bought has cost as much as one that was rented: {} hours. Bought at \
                 its launch price and fed with electricity; rents are of 2026, and the computer around it is not counted.",
                all.text()
            )
        },
    );
    let alt = format!("Bars with spread. {}.", Bar::in_words(&bars));
    let axis = Axis::new("days until buying is cheaper", Scale::Log);
    let limits = vec![("a year".to_owned(), YEAR / 24.0)];
    Ok(Drawing { svg: BarPlot { axis, bars, limits }.svg(), caption, alt })
}

fn draw_time(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let mut longest: Option<(f64, String)> = None;
    for model in Model::ALL {
        let found = records.find("hardware.time", &[("model", &model)]);
        if let Ok(value) = &found
            && longest.as_ref().is_none_or(|(most, _)| value.median > *most)
        {
            longest = Some((value.median, model.to_string()));
        }
        let mut bar = Bar::of(model.name(), found, 60.0)?;
        if let Some((middle, ..)) = bar.value {
            bar.text = match 60.0 * middle {
                seconds if seconds < 120.0 => Unit::Seconds.format(seconds),
                _ => format!("{} min", Unit::Number.format(middle)),
            };
        }
        bars.push(bar);
    }
    let caption = match longest {
        Some((seconds, model)) => format!(
            "Chapter 4's models, trained by their recipes on {}, at the measured rates: the longest, {model}, would take {} minutes.",
            records.machine.in_words(),
            Unit::Number.format(seconds / 60.0),
        ),
        None => "Chapter 4's models were not trained on this machine.".to_owned(),
    };
    let alt = format!("Bars. {}.", Bar::in_words(&bars));
    let axis = Axis::new("minutes", Scale::Log);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn head<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// A figure in units of `scale`, or a dash.
fn cell(figure: Option<&Number>, scale: f64) -> String {
    figure.map_or("–".to_owned(), |figure| Unit::Number.format(figure.value / scale))
}

fn table_cards(_: &Records) -> Result<TableData> {
    let market = market()?;
    let rows = market
        .cards
        .iter()
        .map(|card| {
            let half = card.bf16.as_ref().or(card.f16.as_ref());
            vec![
                card.name.clone(),
                card.year.to_string(),
                cell(Some(&card.memory), 1e9),
                cell(Some(&card.bandwidth), 1e9),
                cell(card.f32.as_ref(), 1e12),
                cell(half, 1e12),
                cell(card.fp8.as_ref(), 1e12),
                cell(card.power.as_ref(), 1.0),
                cell(card.price.as_ref(), 1.0),
                card.ridge().map_or("–".to_owned(), |ridge| format!("{ridge:.0}")),
            ]
        })
        .collect();
    let caption = format!(
        "{} accelerators: memory in GB (10⁹ bytes), bandwidth in GB/s, dense rates in TFLOP/s (16 bits: bf16, or f16), power in W, price at launch in US dollars, and \
         ridge in operations per byte. A dash: not published, or without a source. The MI250X is two chips, each with half of its figures. The sources are listed below.",
        market.cards.len()
    );
    let head = head([
        "card",
        "year",
        "memory",
        "bandwidth",
        "f32",
        "16 bits",
        "fp8",
        "power",
        "price",
        "ridge",
    ]);
    Ok(TableData { caption, head, rows })
}

fn table_offers(_: &Records) -> Result<TableData> {
    let market = market()?;
    let rows = market
        .offers
        .iter()
        .map(|offer| {
            let name = market.card(&offer.card).map_or("two CPU cores", |card| short(&card.name));
            vec![
                name.to_owned(),
                offer.provider.clone(),
                offer.instance.clone(),
                offer.cards.to_string(),
                usd(offer.each()),
                offer.region.clone(),
                // A date that breaks over two lines is hard to read.
                offer.dated.replace('-', "\u{2011}"),
            ]
        })
        .collect();
    let dates = market.price_dates().unwrap_or_default();
    let caption = format!(
        "What an hour costs on demand, in US dollars for one card, on the day named: from {} to {}.",
        dates.0, dates.1
    );
    let head =
        head(["card", "provider", "instance", "cards", "one card, one hour", "region", "day"]);
    Ok(TableData { caption, head, rows })
}

fn table_shares(_: &Records) -> Result<TableData> {
    use crate::cards::What;
    let market = market()?;
    let mut rows = Vec::new();
    for card in &market.cards {
        let share = |what: What| {
            let found = market.measured.iter().filter(|m| m.card == card.id && m.what == what);
            Range::of(found.filter_map(|m| {
                let limit = match m.format {
                    Some(format) => card.rate(format)?,
                    None => card.bandwidth.value,
                };
                Some(m.value / limit)
            }))
        };
        let shares = [What::Product, What::Training, What::Copy].map(share);
        if shares.iter().any(Option::is_some) {
            let percent = |share: f64| format!("{:.0}%", 100.0 * share);
            let text = |range: Option<Range>| match range.map(|r| (percent(r.low), percent(r.high)))
            {
                None => "–".to_owned(),
                Some((low, high)) if low == high => low,
                Some((low, high)) => format!("{low} to {high}"),
            };
            rows.push([short(&card.name).to_owned()].into_iter().chain(shares.map(text)).collect());
        }
    }
    let all = market.measured.iter().filter(|m| m.what == What::Training);
    let training =
        Range::of(all.filter_map(|m| Some(m.value / market.card(&m.card).ok()?.rate(m.format?)?)))
            .unwrap_or(Range::new(0.0, 0.0));
    let caption = format!(
        "What others have measured, as shares of the datasheets' limits: layers that train reach {:.0}% to {:.0}% of the peak.",
        100.0 * training.low,
        100.0 * training.high,
    );
    let head = head([
        "card",
        "of the peak: best product",
        "of the peak: layers in training",
        "of the bandwidth",
    ]);
    Ok(TableData { caption, head, rows })
}

fn table_sources(_: &Records) -> Result<TableData> {
    let market = market()?;
    let rows = market
        .sources
        .values()
        .map(|source| {
            let verified = source.via.as_ref().map_or_else(
                || source.verified.name().to_owned(),
                |via| format!("{}: {via}", source.verified.name()),
            );
            vec![
                source.publisher.clone(),
                source.title.clone(),
                source.url.clone(),
                source.dated.clone(),
                verified,
            ]
        })
        .collect();
    let caption = format!(
        "The {} sources of the tables. Each figure in the data files names its own.",
        market.sources.len()
    );
    let head = head(["publisher", "title", "address", "figures of", "how it was read"]);
    Ok(TableData { caption, head, rows })
}

/// Hours for a person, in the unit that suits them.
fn spell(hours: Range) -> String {
    let (scale, unit) = match hours.high {
        high if high < 1.0 / 60.0 => (3600.0, "s"),
        high if high < 2.0 => (60.0, "min"),
        _ => (1.0, "hours"),
    };
    format!("{} {unit}", hours.times(scale).text())
}

fn table_reader(reader: Reader) -> Result<TableData> {
    let report = buy(&market()?, &reader.options().map_err(Error::from)?).map_err(Error::from)?;
    let most = |of: fn(&Line) -> Option<Range>| {
        report.lines.iter().filter_map(of).map(|range| range.high).fold(0.0, f64::max)
    };
    // A small job's numbers in the small units, so that nobody counts zeros.
    let (energy, in_energy) = if most(|l| l.kwh) < 0.1 { (1e3, "Wh") } else { (1.0, "kWh") };
    let (money, in_money) = if most(|l| l.rent) < 1.0 { (100.0, "US cents") } else { (1.0, "USD") };
    let range = |range: Option<Range>, scale: f64| {
        range.map_or("–".to_owned(), |range| range.times(scale).text())
    };
    let rows = report
        .lines
        .iter()
        .map(|line| {
            let cards = if line.cards == 1 { String::new() } else { format!("{} × ", line.cards) };
            vec![
                format!("{cards}{}", short(&line.name)),
                spell(line.hours),
                range(line.kwh, energy),
                range(line.rent, money),
                line.price.map_or("–".to_owned(), usd),
                range(line.break_even, 1.0),
            ]
        })
        .collect();
    let Job { name, .. } = &report.job;
    let caption = match report.best() {
        Some(Line { name: card, hours, rent, .. }) => format!(
            "{name} on the cards that this reader considers, the cheapest first by the middle of the range: {} takes {}{}.",
            short(card),
            spell(*hours),
            rent.map_or(String::new(), |rent| format!(
                " and {} {} of rent",
                rent.times(money).text(),
                if money > 1.0 { in_money } else { "US dollars" }
            )),
        ),
        None => format!("{name}: no card of the table can."),
    };
    let rent = format!("rent, {in_money}");
    let head = head(["card", "time", in_energy, &rent, "price, USD", "break-even, hours of use"]);
    Ok(TableData { caption, head, rows })
}

fn table_models(records: &Records) -> Result<TableData> {
    let market = market()?;
    let hour = market.prices("two-cores").first().copied();
    let hour =
        hour.ok_or_else(|| Wrong::Config("the table has no price of two cores".to_owned()))?;
    let (mut rows, mut total) = (Vec::new(), 0.0);
    for model in Model::ALL {
        let epochs = Settings::of(model).epochs;
        let seconds = records.find("hardware.time", &[("model", &model)])?.median;
        let cost = seconds / 3600.0 * hour;
        total += cost;
        rows.push(vec![
            model.to_string(),
            epochs.to_string(),
            Unit::Seconds.format(seconds),
            Unit::Number.format(100.0 * cost),
        ]);
    }
    let caption = format!(
        "Chapter 4's models on {}, at the rates of this chapter's experiment. All six together would cost {:.1} US cents at {} US dollars an hour, the price of a \
         rented machine with two other cores (Arm).",
        records.machine.in_words(),
        100.0 * total,
        usd(hour),
    );
    let head = head(["model", "epochs", "time", "US cents"]);
    Ok(TableData { caption, head, rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn records() -> Records {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/records/epyc-2core");
        Records::load(&folder).unwrap()
    }

    #[test]
    fn pictures_and_tables_say_what_they_show() {
        let records = records();
        for figure in figures().into_iter().filter(|figure| figure.key != "hardware.time") {
            let drawing = (figure.draw)(&records).unwrap();
            assert!(
                drawing.svg.starts_with("<svg") && !drawing.svg.contains("NaN"),
                "{}",
                figure.key
            );
            let text = format!("{} {}", drawing.caption, drawing.alt);
            assert!(text.len() > 100 && !text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        for table in tables() {
            let data = (table.make)(&records).unwrap();
            assert!(data.rows.len() > 2 && data.caption.len() > 40, "{}", table.key);
            assert!(data.rows.iter().all(|row| row.len() == data.head.len()), "{}", table.key);
        }
    }

    #[test]
    fn every_card_with_a_rate_is_in_one_family() {
        for card in market().unwrap().cards.iter().filter(|card| card.ridge().is_some()) {
            let families = FAMILIES.iter().filter(|(_, belongs)| belongs(card)).count();
            assert_eq!(families, 1, "{}", card.id);
        }
    }
}
