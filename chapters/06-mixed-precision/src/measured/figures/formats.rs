//! The part's figures and tables, made from one machine's records.

use crate::{
    formats::Format,
    measured::experiments::formats::{
        ADDERS, BINADE, BITS, COMPARED, DOT, DOTS, EPSILON, HALF_GAP, MAGNITUDES, MAX, NORMAL,
        ROUNDING, SMALLEST, STALL, SUMS, TERM,
    },
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Limits, Lines},
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "mixed_precision.formats", draw: draw_formats },
        Figure { key: ROUNDING.name, draw: draw_rounding },
        Figure { key: SUMS.name, draw: draw_sums },
        Figure { key: DOT.name, draw: draw_dot },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "mixed_precision.formats", make: table_formats }]
}

fn number(value: f64) -> String {
    Unit::Number.format(value)
}

/// A quantity of a format.
fn of(key: Key, format: &str) -> Quantity {
    key.at(&[("format", &format)])
}

/// A line of a format over powers, each put through `place`.
fn line(
    records: &Records,
    (key, over): (Key, &str),
    format: Format,
    place: fn(f64) -> f64,
) -> Result<Series> {
    let points = records.over(over, of(key, format.name()))?.into_iter();
    let points: Vec<_> = points.map(|(power, value)| (place(power), value)).collect();
    Ok(Series::of(format.name(), &points, |value| value))
}

fn draw_formats(records: &Records) -> Result<Drawing> {
    let text = |key, format| records.text(of(key, format));
    let at_one = |format| records.text(of(BINADE, format).with("exponent", "one"));
    let (mut series, mut words) = (Vec::new(), Vec::new());
    for format in Format::ALL {
        let name = format.name();
        words.push(format!(
            "{name}: {} numbers in each binade from {} to {}, fewer down to {}",
            at_one(name)?,
            text(NORMAL, name)?,
            text(MAX, name)?,
            text(SMALLEST, name)?
        ));
        let line = line(records, (BINADE, "exponent"), format, f64::exp2)?;
        series.push(Series { band: Vec::new(), ..line });
    }
    let caption = format!(
        "Between 1 and 2, bf16 has {} numbers and f16 {}. But f16's numbers end at {}, and become sparser below {}. How many \
         numbers each format has between a power of two and the next.",
        at_one("bf16")?,
        at_one("f16")?,
        text(MAX, "f16")?,
        text(NORMAL, "f16")?,
    );
    let plot = LinePlot {
        x: Axis::new("size of the numbers", Scale::Log)
            .range(1e-46, 1e40)
            .ticks([1e-40, 1e-20, 1.0, 1e20, 1e40]),
        y: Axis::new("numbers between a power of two and the next", Scale::Log),
        series,
        limits: vec![],
    };
    let alt = format!("Lines on two logarithmic axes. {}.", words.join("; "));
    Ok(Drawing { alt, ..plot.drawing(caption) })
}

fn table_formats(records: &Records) -> Result<TableData> {
    let mut grid = Grid::new(Format::ALL)
        .column("format", |format| format.name())
        .column("bits", |format| of(BITS, format.name()))
        .column("exponent + mantissa", |format| {
            format!("{} + {}", format.exponent_bits(), format.mantissa_bits())
        });
    for (head, key) in [
        ("largest", MAX),
        ("smallest normal", NORMAL),
        ("smallest", SMALLEST),
        ("from 1 to the next", EPSILON),
    ] {
        grid = grid.column(head, move |format| of(key, format.name()));
    }
    let at_one = |format: &Format| of(BINADE, format.name()).with("exponent", "one");
    grid.column("numbers from 1 to 2", at_one)
        .table(records, "What each format can represent. Each has a sign bit in addition.")
}

fn draw_rounding(records: &Records) -> Result<Drawing> {
    let at = |format, power: i32| records.text(of(ROUNDING, format).with("power", power));
    let caption = format!(
        "Around 1, rounding to f16 is off by {} and to bf16 by {}. For numbers from 10⁻⁸ to 10⁻⁷ it is {} in f16 and {} in bf16. \
         Errors relative to the number: median and quartiles. A line ends where the format does; at 1, the number has become 0.",
        at("f16", 0)?,
        at("bf16", 0)?,
        at("f16", -8)?,
        at("bf16", -8)?,
    );
    let mut series = Vec::new();
    for format in COMPARED {
        // The middle of a decade.
        let middle = |power| 10f64.powf(power + 0.5);
        series.push(line(records, (ROUNDING, "power"), format, middle)?);
    }
    let bound = |format: Format| LimitLine {
        name: format!("half a gap of {}: {}", format.name(), number(0.5 * format.epsilon())),
        points: [MAGNITUDES.start(), MAGNITUDES.end()]
            .map(|power| (10f64.powi(*power), 0.5 * format.epsilon()))
            .into(),
    };
    let plot = LinePlot {
        x: Axis::new("size of the number", Scale::Log),
        y: Axis::new("relative error", Scale::Log),
        series,
        limits: vec![bound(Format::F16), bound(Format::BF16)],
    };
    Ok(plot.drawing(caption))
}

/// An adder's name for people.
fn adder_label(name: &str) -> &str {
    match name {
        "f16-dice" => "f16, stochastic rounding",
        "f16-kahan" => "f16, Kahan",
        "f16-pairs" => "f16, pairwise",
        other => other,
    }
}

/// A quantity of a way to sum.
pub fn adder(key: Key, name: &str) -> Quantity {
    key.at(&[("sum", &name)])
}

fn draw_sums(records: &Records) -> Result<Drawing> {
    let mut stalls = Vec::new();
    for name in ["bf16", "f16", "f32", "f16-kahan"] {
        stalls.push((name, records.get(adder(STALL, name))?));
    }
    let [bf16, f16, f32, kahan] = [0, 1, 2, 3].map(|at| stalls[at].1.text());
    let caption = format!(
        "A running sum of 0.0001 stalls at {bf16} in bf16, {f16} in f16 and {f32} in f32. There half of the gap to the next \
         number is no smaller than 0.0001. Kahan's correction moves f16's limit to {kahan}."
    );
    let limit = |(name, end): (&str, &Value)| {
        (format!("predicted limit of {}: {}", adder_label(name), end.text()), end.median)
    };
    let mut plot = Lines {
        over: "n",
        x: Axis::new("how often it was added", Scale::Log),
        y: Axis::new("sum", Scale::Log),
        lines: ADDERS.map(|(name, ..)| (adder_label(name).into(), adder(SUMS, name))).into(),
        limits: Limits::These(stalls.into_iter().map(limit).collect()),
        ..Lines::default()
    }
    .plot(records)?;
    plot.x.ticks = None; // round ones, not those of the points
    let exact = plot.limits[0].points.iter().map(|(n, _)| (*n, n * TERM)).collect();
    plot.limits.push(LimitLine { name: "exact".to_owned(), points: exact });
    Ok(plot.drawing(caption))
}

fn draw_dot(records: &Records) -> Result<Drawing> {
    let unit = records.get(adder(HALF_GAP, "f16"))?.median;
    let mut plot = Lines {
        over: "n",
        x: Axis::new("length", Scale::Log)
            .ticks([16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0]),
        y: Axis::new("relative error", Scale::Log).range(1e-9, 1.0),
        lines: DOTS.map(|(name, _)| (adder_label(name).into(), adder(DOT, name))).into(),
        limits: Limits::These(vec![(format!("half a gap of f16: {}", number(unit)), unit)]),
        ..Lines::default()
    }
    .plot(records)?;
    let running = plot.limits[0].points.iter().map(|(n, _)| (*n, (n - 1.0) * unit)).collect();
    let name = "bound of a running sum in f16".to_owned();
    plot.limits.push(LimitLine { name, points: running });
    let error = |name: &str| number(plot.end(adder_label(name)).1);
    let caption = format!(
        "Over {} products a running sum is off by {} in bf16, {} in f16 and {} in f32. In f16 with Kahan's correction it is off \
         by {}. The relative error of a dot product of f16 numbers, by how the products are summed.",
        Unit::Count.format(plot.end("f16").0),
        error("bf16"),
        error("f16"),
        error("f32"),
        error("f16-kahan"),
    );
    Ok(plot.drawing(caption))
}
