//! The part's pictures and tables, made from one machine's records.

use crate::{
    formats::Format,
    measured::experiments::formats::{ADDERS, COMPARED, DOTS, MAGNITUDES, TERM, WAYS},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::ParamList,
    units::power_of_ten,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "mixed_precision.formats", draw: draw_formats },
        Figure { key: "mixed_precision.rounding", draw: draw_rounding },
        Figure { key: "mixed_precision.convert", draw: draw_convert },
        Figure { key: "mixed_precision.sums", draw: draw_sums },
        Figure { key: "mixed_precision.dot", draw: draw_dot },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "mixed_precision.formats", make: table_formats },
        Table { key: "mixed_precision.rounding", make: table_rounding },
    ]
}

/// A fact of a format, such as `max`, in words.
fn fact(records: &Records, what: &str, format: &str) -> Result<String> {
    let key = format!("mixed_precision.formats.{what}");
    Ok(records.find(&key, &[("format", &format)])?.text())
}

fn number(value: f64) -> String {
    Unit::Number.format(value)
}

/// The values of `key` with these parameters over the parameter `x`, in the order of their measuring.
fn points_over(records: &Records, key: &str, list: ParamList, x: &str) -> Vec<(f64, [f64; 3])> {
    let found = records.all(key, list);
    found
        .into_iter()
        .filter_map(|v| Some((v.params.get(x)?.parse().ok()?, [v.median, v.low, v.high])))
        .collect()
}

fn series(name: &str, points: &[(f64, [f64; 3])]) -> Series {
    Series {
        name: name.to_owned(),
        points: points.iter().map(|&(x, [median, ..])| (x, median)).collect(),
        band: points.iter().map(|&(_, [_, low, high])| (low, high)).collect(),
        joined: true,
    }
}

fn draw_formats(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.formats.binade";
    let mut lines = Vec::new();
    let mut words = Vec::new();
    for format in Format::ALL {
        let name = format.name();
        let at_one = records.find(KEY, &[("format", &name), ("exponent", &"one")])?;
        let points = points_over(records, KEY, &[("format", &name)], "exponent");
        let points: Vec<_> = points.into_iter().map(|(e, count)| (2f64.powf(e), count)).collect();
        let of = |what| fact(records, what, name);
        words.push(format!(
            "{name}: {} numbers in each binade from {} to {}, fewer down to {}",
            at_one.text(),
            of("normal")?,
            of("max")?,
            of("smallest")?
        ));
        lines.push(Series { band: Vec::new(), ..series(name, &points) });
    }
    let caption = format!(
        "How many numbers each format has between a power of two and the next: between 1 and 2, bf16 has {} and \
         f16 {}. But f16's numbers end at {}, and thin out below {}.",
        records.find(KEY, &[("format", &"bf16"), ("exponent", &"one")])?.text(),
        records.find(KEY, &[("format", &"f16"), ("exponent", &"one")])?.text(),
        fact(records, "max", "f16")?,
        fact(records, "normal", "f16")?,
    );
    let plot = LinePlot {
        x: Axis::new("size of the numbers", Scale::Log)
            .range(1e-46, 1e40)
            .ticks([1e-40, 1e-20, 1.0, 1e20, 1e40]),
        y: Axis::new("numbers between a power of two and the next", Scale::Log),
        series: lines,
        limits: vec![],
    };
    let alt = format!("Lines on two logarithmic axes. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_formats(records: &Records) -> Result<TableData> {
    let rows = Format::ALL.into_iter().map(|format| {
        let name = format.name();
        let of = |what| fact(records, what, name);
        let binade = "mixed_precision.formats.binade";
        let at_one = records.find(binade, &[("format", &name), ("exponent", &"one")])?;
        Ok(vec![
            name.to_owned(),
            of("bits")?,
            format!("{} + {}", format.exponent_bits(), format.mantissa_bits()),
            of("max")?,
            of("normal")?,
            of("smallest")?,
            of("epsilon")?,
            at_one.text(),
        ])
    });
    let head = [
        "format",
        "bits",
        "exponent + mantissa",
        "largest",
        "smallest normal",
        "smallest",
        "from 1 to the next",
        "numbers from 1 to 2",
    ];
    Ok(TableData {
        caption: "What each format can hold. Every one has a sign bit besides.".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: rows.collect::<Result<_>>()?,
    })
}

fn draw_rounding(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.rounding";
    let mut lines = Vec::new();
    for format in COMPARED {
        let name = format.name();
        let points = points_over(records, KEY, &[("format", &name)], "power");
        if points.is_empty() {
            records.find(KEY, &[("format", &name)])?;
        }
        // The middle of a decade.
        let points: Vec<_> =
            points.into_iter().map(|(power, error)| (10f64.powf(power + 0.5), error)).collect();
        lines.push(series(name, &points));
    }
    let at =
        |format: &str, power: i32| records.find(KEY, &[("format", &format), ("power", &power)]);
    let caption = format!(
        "The error of rounding to each format, relative to the number: median and quartiles. Around 1, f16's is {} \
         and bf16's {}; for numbers from 10⁻⁸ to 10⁻⁷ it is {} in f16 and {} in bf16. A line ends where the format \
         does; at 1, the number has become 0.",
        at("f16", 0)?.text(),
        at("bf16", 0)?.text(),
        at("f16", -8)?.text(),
        at("bf16", -8)?.text(),
    );
    let words: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let ((x0, y0), (x1, y1)) = (line.points.first()?, line.points.last()?);
            let parts = (number(*y0), number(*x0), number(*y1), number(*x1));
            Some(format!("{}: {} at {}, {} at {}", line.name, parts.0, parts.1, parts.2, parts.3))
        })
        .collect();
    let bound = |format: Format| LimitLine {
        name: format!("half a gap of {}: {}", format.name(), number(0.5 * format.epsilon())),
        points: [MAGNITUDES.start(), MAGNITUDES.end()]
            .map(|power| (10f64.powi(*power), 0.5 * format.epsilon()))
            .into(),
    };
    let plot = LinePlot {
        x: Axis::new("size of the number", Scale::Log),
        y: Axis::new("relative error", Scale::Log),
        series: lines,
        limits: vec![bound(Format::F16), bound(Format::BF16)],
    };
    let alt = format!("Lines on two logarithmic axes. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn table_rounding(records: &Records) -> Result<TableData> {
    let rows = [-8, -6, -4, -2, 0, 2, 4, 5].map(|power| {
        let mut row = vec![
            [power, power + 1].map(|power: i32| power_of_ten(&power.to_string())).join(" to "),
        ];
        for format in COMPARED {
            let list: ParamList = &[("format", &format.name()), ("power", &power)];
            row.push(match records.find("mixed_precision.rounding", list) {
                Err(Error::Skipped { .. }) => "too large".to_owned(),
                found => found?.text(),
            });
        }
        Ok(row)
    });
    let heads = COMPARED.iter().map(|format| format.name().to_owned());
    Ok(TableData {
        caption: "The median relative error of rounding, by the size of the number.".to_owned(),
        head: std::iter::once("numbers".to_owned()).chain(heads).collect(),
        rows: rows.into_iter().collect::<Result<_>>()?,
    })
}

fn draw_convert(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.convert";
    let mut bars = Vec::new();
    let mut words = Vec::new();
    for to in ["f16", "bf16"] {
        for (how, label) in WAYS.into_iter().zip(["readable", "in integers", "half's"]) {
            let value = records.find(KEY, &[("to", &to), ("how", &how)])?;
            let name = format!("f32 to {to}, {label}");
            words.push(format!("{name}: {}", value.text()));
            let spread =
                [value.median, value.low, value.high].map(|rate| rate / f64::from(1 << 30));
            bars.push(Bar { name, value: Some(spread.into()), text: value.text() });
        }
    }
    let speedup = |to: &str, how: &str| {
        let list: ParamList = &[("to", &to), ("how", &how)];
        Ok::<_, Error>(records.find("mixed_precision.convert.speedup", list)?.text())
    };
    let caption = format!(
        "Bytes read and written by one core that rounds f32 numbers in its second-level cache. The integer version is \
         {} as fast as the readable one for f16, and {} for bf16; half's own is {} and {}.",
        speedup("f16", "integer")?,
        speedup("bf16", "integer")?,
        speedup("f16", "half")?,
        speedup("bf16", "half")?,
    );
    let axis = Axis::new("rate (GiB/s)", Scale::Log);
    let svg = BarPlot { axis, bars, limits: vec![] }.svg();
    let alt = format!("Bars on a logarithmic scale. {}.", words.join("; "));
    Ok(Drawing { svg, caption, alt })
}

/// An adder's name for people.
fn adder_label(name: &str) -> &str {
    match name {
        "f16-dice" => "f16, stochastic rounding",
        "f16-kahan" => "f16, Kahan",
        "f16-pairs" => "f16, in pairs",
        other => other,
    }
}

fn draw_sums(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.sums";
    let mut lines = Vec::new();
    let mut limits = Vec::new();
    let mut words = Vec::new();
    let mut farthest: f64 = 1.0;
    for (name, ..) in ADDERS {
        let points = points_over(records, KEY, &[("sum", &name)], "n");
        let Some(&(n, [sum, ..])) = points.last() else {
            return Err(records.find(KEY, &[("sum", &name)]).err().unwrap_or(Error::Message(
                format!(
                    "the record of {KEY} has no sum {name}; run `measure mixed_precision` again"
                ),
            )));
        };
        farthest = farthest.max(n);
        words.push(format!("{}: {} after {n}", adder_label(name), number(sum)));
        lines.push(series(adder_label(name), &points));
    }
    let stall = |name: &str| records.find("mixed_precision.sums.stall", &[("sum", &name)]);
    for name in ["bf16", "f16", "f16-kahan", "f32"] {
        let end = stall(name)?;
        let text = format!("predicted stall of {}: {}", adder_label(name), end.text());
        limits.push(LimitLine {
            name: text,
            points: [100.0, farthest].map(|n| (n, end.median)).into(),
        });
    }
    let caption = format!(
        "0.0001 added again and again. The sums stall where half of the gap to the next number is no smaller than \
         0.0001: at {} in bf16, {} in f16 and {} in f32. Kahan's correction moves f16's end to {}.",
        stall("bf16")?.text(),
        stall("f16")?.text(),
        stall("f32")?.text(),
        stall("f16-kahan")?.text(),
    );
    let exact = LimitLine {
        name: "exact".to_owned(),
        points: [100.0, farthest].map(|n| (n, n * TERM)).into(),
    };
    limits.push(exact);
    let plot = LinePlot {
        x: Axis::new("how often it was added", Scale::Log),
        y: Axis::new("sum", Scale::Log),
        series: lines,
        limits,
    };
    let alt = format!("Lines on two logarithmic axes. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn draw_dot(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.dot";
    let mut lines = Vec::new();
    let mut words = Vec::new();
    let mut longest: (f64, Vec<(&str, f64)>) = (1.0, Vec::new());
    for (name, _) in DOTS {
        let points = points_over(records, KEY, &[("sum", &name)], "n");
        let Some(&(n, [error, ..])) = points.last() else {
            return Err(records.find(KEY, &[("sum", &name)]).err().unwrap_or(Error::Message(
                format!(
                    "the record of {KEY} has no sum {name}; run `measure mixed_precision` again"
                ),
            )));
        };
        longest.0 = n;
        longest.1.push((name, error));
        words.push(format!("{}: {} at {n}", adder_label(name), number(error)));
        lines.push(series(adder_label(name), &points));
    }
    let error = |wanted: &str| {
        let found = longest.1.iter().find(|(name, _)| *name == wanted);
        number(found.map_or(f64::NAN, |(_, error)| *error))
    };
    let unit = records.find("mixed_precision.dot.unit", &[("sum", &"f16")])?.median;
    let limits = vec![
        LimitLine {
            name: format!("half a gap of f16: {}", number(unit)),
            points: [16.0, longest.0].map(|n| (n, unit)).into(),
        },
        LimitLine {
            name: "bound of a running sum in f16".to_owned(),
            points: [16.0, longest.0].map(|n| (n, (n - 1.0) * unit)).into(),
        },
    ];
    let caption = format!(
        "The relative error of a dot product of numbers in f16, by what adds up the products. With {} of them, a running \
         sum is off by {} in bf16, {} in f16 and {} in f32; in f16 with Kahan's correction by {}.",
        Unit::Count.format(longest.0),
        error("bf16"),
        error("f16"),
        error("f32"),
        error("f16-kahan"),
    );
    let plot = LinePlot {
        x: Axis::new("length", Scale::Log)
            .ticks([16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0]),
        y: Axis::new("relative error", Scale::Log).range(1e-9, 1.0),
        series: lines,
        limits,
    };
    let alt = format!("Lines on two logarithmic axes. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Budget, Device, chapter, machine::Machine, progress::Progress, record};

    #[test]
    fn experiments_leave_what_figures_and_tables_need() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::default();
        for experiment in crate::measured::experiments::formats::experiments() {
            let hidden = Progress::hidden();
            let run = chapter::run(&experiment, Budget::Quick, Device::Cpu, None, &hidden).unwrap();
            for value in &run.values {
                assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
            }
            record::save(folder.path(), &machine, "mixed_precision", run).unwrap();
        }
        let records = Records::load(folder.path()).unwrap();
        for figure in figures() {
            let drawing = (figure.draw)(&records).unwrap();
            assert!(drawing.svg.starts_with("<svg") && !drawing.caption.contains("not a number"));
            assert!(drawing.caption.ends_with('.') && drawing.alt.ends_with('.'), "{}", figure.key);
        }
        for table in tables() {
            let table = (table.make)(&records).unwrap();
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{table:?}");
        }
        // The prediction of the page, on its own record.
        for name in ["bf16", "f16"] {
            let stall = records.find("mixed_precision.sums.stall", &[("sum", &name)]).unwrap();
            let sum = records.find("mixed_precision.sums", &[("sum", &name), ("n", &100_000)]);
            assert!((sum.unwrap().median - stall.median).abs() < 1e-12, "{name}");
        }
        let stall = records.find("mixed_precision.sums.stall", &[("sum", &"f16-kahan")]).unwrap();
        let list: ParamList = &[("sum", &"f16-kahan"), ("n", &10_000_000)];
        let sum = records.find("mixed_precision.sums", list).unwrap();
        assert!((sum.median - stall.median).abs() < 1e-12, "{sum:?}");
    }

    #[test]
    fn without_records_figures_say_what_to_run() {
        let empty = lab::testing::unmeasured();
        for figure in figures() {
            assert!(matches!((figure.draw)(&empty), Err(Error::NotMeasured { .. })));
        }
        for table in tables() {
            assert!(matches!((table.make)(&empty), Err(Error::NotMeasured { .. })));
        }
    }
}
