//! The figures and tables of the chapter that are more than their page declares.

use crate::{
    Error, Job, Market, Reader, buy,
    calculator::{Estimate, Range, measured},
    cards::{Card, Figure as Number, Format, Kind, What},
    measured::experiments::{MONEY, Shown, TIME, jobs, rented},
};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    table::Grid,
};
use training::{Model, Settings};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "hardware.roofline", draw: draw_roofline },
        Figure { key: MONEY.name, draw: draw_money },
        Figure { key: "hardware.readers.break_even", draw: draw_break_even },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "hardware.cards.published", make: table_cards },
        Table { key: "hardware.offers.published", make: table_offers },
        Table { key: "hardware.shares.published", make: table_shares },
        Table { key: "hardware.sources.published", make: table_sources },
        Table { key: "hardware.readers.small", make: table_reader::<0> },
        Table { key: "hardware.readers.laptop", make: table_reader::<1> },
        Table { key: "hardware.readers.workstation", make: table_reader::<2> },
        Table { key: "hardware.readers.cluster", make: table_reader::<3> },
        Table { key: "hardware.time.models", make: table_models },
        Table { key: RENTED, make: table_rented },
    ]
}

/// The table of what a machine's records would cost.
pub const RENTED: &str = "hardware.money.rented";

/// Cards of one colour: their name, and which they are.
type Family = (&'static str, fn(&Card) -> bool);

/// All of them.
pub const FAMILIES: [Family; 6] = [
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
    let market = Market::load()?;
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
    // Two whole rooflines, to show what a point means.
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
        "GPUs have their ridge between {:.0} and {:.0} operations per byte, this book's steps {low:.0} to {high:.0}. Each point is \
         the ridge of a card: to its left bytes are the limit, to its right arithmetic. Dashed: the steps.",
        gpus.low, gpus.high,
    );
    let plot = LinePlot {
        x: Axis::new("operations per byte, 16-bit products", Scale::Log).range(LEFT, RIGHT),
        y: Axis::new("peak (TFLOP/s)", Scale::Log).range(1.0, 4000.0),
        series,
        limits,
    };
    let alt = format!("Points and lines over operations per byte. {}.", words.join("; "));
    Ok(Drawing { alt, ..plot.drawing(caption) })
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
    let market = Market::load()?;
    let rented = rented(&market)?;
    let rent = |line: &Estimate| line.rent.unwrap_or(Range::new(f64::NAN, f64::NAN));
    let bars: Vec<Bar> = rented
        .iter()
        .map(|(hour, line)| {
            let name = format!("{}, {} an hour", short(&line.name), usd(*hour));
            bar(&name, rent(line), 1.0, rent(line).text())
        })
        .collect();
    let middle = |entry: &&(f64, Estimate)| rent(&entry.1).middle();
    let by_cost = |a: &&(f64, Estimate), b: &&(f64, Estimate)| middle(a).total_cmp(&middle(b));
    let cheapest = rented.iter().min_by(by_cost);
    let dearest = rented.last();
    let caption = match cheapest.zip(dearest) {
        Some(((hour, best), (most, last))) => format!(
            "What one card costs varies more than most cards differ: by its middle a rented {} costs {:.1} times {}, the cheapest. VGG16 trained as published, \
             in US dollars, at {} and {} an hour. The ranges are those of the efficiency and of the offers.",
            short(&last.name),
            rent(last).middle() / rent(best).middle(),
            short(&best.name),
            usd(*most),
            usd(*hour),
        ),
        None => "The table has no card to rent.".to_owned(),
    };
    let axis = Axis::new("US dollars for the run", Scale::Log);
    Ok(BarPlot { axis, bars, limits: vec![] }.drawing(caption))
}

/// Hours of a year.
const YEAR: f64 = 8766.0;

fn draw_break_even(_: &Records) -> Result<Drawing> {
    let market = Market::load()?;
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
                "A bought card has cost as much as a rented one after {} hours of use. Bought at its launch price and fed with \
                 electricity; rents are of 2026, and the computer around it is not counted.",
                all.text()
            )
        },
    );
    let axis = Axis::new("days until buying is cheaper", Scale::Log);
    let limits = vec![("a year".to_owned(), YEAR / 24.0)];
    Ok(BarPlot { axis, bars, limits }.drawing(caption))
}

/// What there is as text, or a dash.
fn or_dash<T>(found: Option<T>, text: impl Fn(T) -> String) -> String {
    found.map_or_else(|| "–".to_owned(), text)
}

/// A figure in units of `scale`, or a dash.
fn cell(figure: Option<&Number>, scale: f64) -> String {
    or_dash(figure, |figure| Unit::Number.format(figure.value / scale))
}

fn table_cards(records: &Records) -> Result<TableData> {
    let market = Market::load()?;
    let caption = format!(
        "{} accelerators: cores as their makers count them, memory in GB (10⁹ bytes), bandwidth in GB/s, dense rates in TFLOP/s (16 bits: bf16, or f16), power in W, price at launch in US dollars, and \
         ridge in operations per byte. A dash: not published, or without a source. The MI250X is two chips, each with half of its figures. The sources are listed on the chapter's last page.",
        market.cards.len()
    );
    Grid::new(&market.cards)
        .column("card", |card| card.name.clone())
        .column("year", |card| card.year.to_string())
        .column("cores", |card| cell(card.cores.as_ref(), 1.0))
        .column("memory", |card| cell(Some(&card.memory), 1e9))
        .column("bandwidth", |card| cell(Some(&card.bandwidth), 1e9))
        .column("f32", |card| cell(card.f32.as_ref(), 1e12))
        .column("16 bits", |card| cell(card.bf16.as_ref().or(card.f16.as_ref()), 1e12))
        .column("fp8", |card| cell(card.fp8.as_ref(), 1e12))
        .column("power", |card| cell(card.power.as_ref(), 1.0))
        .column("price", |card| cell(card.price.as_ref(), 1.0))
        .column("ridge", |card| or_dash(card.ridge(), |ridge| format!("{ridge:.0}")))
        .table(records, caption)
}

fn table_offers(records: &Records) -> Result<TableData> {
    let market = Market::load()?;
    let dates = market.price_dates().unwrap_or_default();
    let caption = format!(
        "What an hour costs on demand, in US dollars for one card, on the day named: from {} to {}.",
        dates.0, dates.1
    );
    let name = |card: &str| market.card(card).map_or("two CPU cores", |card| short(&card.name));
    Grid::new(&market.offers)
        .column("card", |offer| name(&offer.card).to_owned())
        .column("provider", |offer| offer.provider.clone())
        .column("instance", |offer| offer.instance.clone())
        .column("cards", |offer| offer.cards.to_string())
        .column("one card, one hour", |offer| usd(offer.each()))
        .column("region", |offer| offer.region.clone())
        // A date that breaks over two lines is hard to read.
        .column("day", |offer| offer.dated.replace('-', "\u{2011}"))
        .table(records, caption)
}

fn table_shares(records: &Records) -> Result<TableData> {
    let market = Market::load()?;
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let text = |card: &Card, what| {
        or_dash(measured(&market, what, Some(card)), |range| {
            match (percent(range.low), percent(range.high)) {
                (low, high) if low == high => low,
                (low, high) => format!("{low} to {high}"),
            }
        })
    };
    let training = measured(&market, What::Training, None).unwrap_or(Range::new(0.0, 0.0));
    let caption = format!(
        "What others have measured, as fractions of the datasheets' limits: layers in training reach {} to {} of the peak.",
        percent(training.low),
        percent(training.high),
    );
    let known = |card: &&Card| market.measured.iter().any(|m| m.card == card.id);
    Grid::new(market.cards.iter().filter(known))
        .column("card", |card| short(&card.name).to_owned())
        .column("of the peak: best product", |card| text(card, What::Product))
        .column("of the peak: layers in training", |card| text(card, What::Training))
        .column("of the bandwidth", |card| text(card, What::Copy))
        .table(records, caption)
}

fn table_sources(records: &Records) -> Result<TableData> {
    let market = Market::load()?;
    let caption = format!(
        "The {} sources of the tables. Each figure in the data files names its own.",
        market.sources.len()
    );
    Grid::new(market.sources.values())
        .column("publisher", |source| source.publisher.clone())
        .column("title", |source| source.title.clone())
        .column("address", |source| source.url.clone())
        .column("figures of", |source| source.dated.clone())
        .column("how it was read", |source| {
            let how = source.verified.name();
            source.via.as_ref().map_or_else(|| how.to_owned(), |via| format!("{how}: {via}"))
        })
        .table(records, caption)
}

/// The table of the reader with this number.
fn table_reader<const READER: usize>(records: &Records) -> Result<TableData> {
    let report = buy(&Market::load()?, &Reader::ALL[READER].options()?)?;
    let [(energy, in_energy), (money, in_money)] = report.units();
    let Job { name, .. } = &report.job;
    let caption = match report.best() {
        Some(Estimate { name: card, hours, rent, .. }) => format!(
            "{name} on the cards that this reader considers, the cheapest first by the middle of the range (as far from either end, as a ratio): {} takes {}{}.",
            short(card),
            hours.time(),
            rent.map_or(String::new(), |rent| format!(
                " and {} {} of rent",
                rent.times(money).text(),
                if money > 1.0 { in_money } else { "US dollars" }
            )),
        ),
        None => format!("{name}: no card of the table can."),
    };
    let range = |range: Option<Range>, scale| or_dash(range, |range| range.times(scale).text());
    Grid::new(&report.lines)
        .column("card", |line| match line.cards {
            1 => short(&line.name).to_owned(),
            cards => format!("{cards} × {}", short(&line.name)),
        })
        .column("time", |line| line.hours.time())
        .column(in_energy, |line| range(line.kwh, energy))
        .column(format!("rent, {in_money}"), |line| range(line.rent, money))
        .column("price, USD", |line| or_dash(line.price, usd))
        .column("break-even, hours of use", |line| range(line.break_even, 1.0))
        .table(records, caption)
}

fn table_models(records: &Records) -> Result<TableData> {
    let market = Market::load()?;
    let hour = *market
        .prices("two-cores")
        .first()
        .ok_or_else(|| Error::message("the table has no price of two cores"))?;
    let of = |model: Model| TIME.at(&[("model", &model)]);
    let cents = |model| Ok(records.get(of(model))?.median / 3600.0 * 100.0 * hour);
    let cents: Vec<f64> = Model::ALL.into_iter().map(cents).collect::<Result<_>>()?;
    let caption = format!(
        "Chapter 4's models on {}, at the rates of this chapter's experiment. All six together would cost {:.1} US cents at {} US dollars an hour, the price of a \
         rented machine with two other cores (Arm).",
        records.machine.in_words(),
        cents.iter().sum::<f64>(),
        usd(hour),
    );
    Grid::new(Model::ALL.into_iter().zip(&cents))
        .column("model", |(model, _)| model.to_string())
        .column("epochs", |(model, _)| Settings::of(*model).epochs.to_string())
        .column("time", |(model, _)| of(*model))
        .column("US cents", |(_, cents)| Unit::Number.format(**cents))
        .table(records, caption)
}

/// After so many seconds without a new experiment another sitting has begun.
const PAUSE: i64 = 30 * 60;

/// Seconds since 1970 of a date such as `2026-01-31T12:00:00Z`.
pub fn moment(date: &str) -> Option<i64> {
    let numbers: Vec<i64> = date
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second] = numbers[..] else { return None };
    // A year that begins in March ends with its leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    Some((days - 719_469) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// The sittings in which a machine was measured: how many experiments began in each, and the seconds from the first
/// beginning to the last.
pub fn sittings(records: &Records) -> Vec<(usize, i64)> {
    let mut begun: Vec<i64> = records.runs().filter_map(|run| moment(&run.date)).collect();
    begun.sort_unstable();
    let sittings = begun.chunk_by(|one, next| next - one < PAUSE);
    sittings.map(|sitting| (sitting.len(), sitting[sitting.len() - 1] - sitting[0])).collect()
}

/// Whether the driver's name of a GPU, such as `NVIDIA A100-SXM4-80GB`, has all words of a card's short one, and none that
/// makes it another card.
fn is_named(id: &str, gpu: &str) -> bool {
    let gpu = gpu.to_lowercase();
    let words = gpu.split([' ', '-']).map(|word| word.strip_suffix("gb").unwrap_or(word));
    let words: Vec<&str> = words.collect();
    let asked: Vec<&str> = id.split('-').collect();
    let others = ["ti", "super", "laptop", "d", "pcie", "nvl"];
    asked.iter().all(|word| words.contains(word))
        && others.iter().all(|word| asked.contains(word) || !words.contains(word))
}

/// What the hours of a machine with a GPU would cost at the cheapest and at the dearest price of its card.
///
/// # Errors
/// If a record is missing.
pub fn table_rented(records: &Records) -> Result<TableData> {
    let market = Market::load()?;
    let gpu = records.machine.gpus.first();
    let card = gpu.and_then(|gpu| market.cards.iter().find(|card| is_named(&card.id, gpu)));
    let prices = card.map(|card| market.prices(&card.id)).unwrap_or_default();
    let (Some(card), Some((low, high))) = (card, prices.first().zip(prices.last())) else {
        let why = "it has no card with a price in the table of offers".to_owned();
        return Err(Error::Skipped { what: RENTED.to_owned(), why });
    };
    let cost = |seconds: i64, price: f64| format!("{:.2}", seconds as f64 / 3600.0 * price);
    let caption = format!(
        "What the sittings in which {} was measured would cost by the prices of the table of offers, {} to {} US dollars \
         an hour. A sitting is counted from the beginning of its first experiment to that of its last.",
        short(&card.name),
        usd(*low),
        usd(*high)
    );
    Grid::new(sittings(records).into_iter().enumerate())
        .column("sitting", |(at, _)| (at + 1).to_string())
        .column("experiments", |(_, (count, _))| count.to_string())
        .column("minutes", |(_, (_, seconds))| format!("{:.1}", *seconds as f64 / 60.0))
        .column("US dollars, cheapest", |(_, (_, seconds))| cost(*seconds, *low))
        .column("dearest", |(_, (_, seconds))| cost(*seconds, *high))
        .table(records, caption)
}
