//! This chapter's experiments, figures and tables.

use crate::{
    Chapter, Drawing, Error, Experiment, Figure, Recorder, Records, Result, Samples, Table,
    TableData, Unit,
    fooling::Mistake,
    machine,
    peak::{self, Traffic},
    plot::{Axis, Bar, BarPlot, Scale},
    record::{ParamList, Value},
};

/// Chapter 0.
pub fn chapter() -> Chapter {
    Chapter {
        number: 0,
        name: "lab",
        title: "The lab",
        experiments: vec![
            Experiment {
                key: "lab.peaks",
                shows: "the most that this machine's arithmetic and memory can do",
                values: &["lab.peaks", "lab.peaks.bandwidth", "lab.peaks.ridge"],
                quick: true,
                run: peaks,
            },
            Experiment {
                key: "lab.fooling",
                shows: "six ways to measure wrongly, and by how much each is wrong",
                values: &["lab.fooling", "lab.fooling.wrong", "lab.fooling.right"],
                quick: true,
                run: fooling,
            },
        ],
        figures: vec![
            Figure { key: "lab.peaks", draw: peaks_figure },
            Figure { key: "lab.peaks.bandwidth", draw: bandwidth_figure },
            Figure { key: "lab.fooling", draw: fooling_figure },
        ],
        tables: vec![
            Table { key: "lab.peaks", make: peaks_table },
            Table { key: "lab.fooling", make: fooling_table },
        ],
    }
}

/// The parameter `threads`: one core, and all that the process may use.
const THREADS: [&str; 2] = ["1", "all"];

// ANCHOR: peaks
#[expect(clippy::unnecessary_wraps, reason = "the form of every experiment")]
fn peaks(recorder: &mut Recorder) -> Result<()> {
    let plan = recorder.budget.plan();
    for threads in THREADS {
        let count = if threads == "all" { machine::cores() } else { 1 };
        let of = |unit| [("unit", unit), ("threads", threads)];
        let fma = peak::fma_f32_samples(count, plan);
        let fma = rate(recorder, &of("fma-f32"), fma);
        if let Some(samples) = peak::amx_bf16_samples(count, plan) {
            rate(recorder, &of("amx-bf16"), samples);
        } else {
            let why = machine::why_no_amx().unwrap_or("AMX gave no result");
            skip(recorder, &of("amx-bf16"), why);
        }
        let mut read = 0.0;
        for traffic in Traffic::ALL {
            let list: ParamList = &[("kind", &traffic.name()), ("threads", &threads)];
            recorder.note("lab.peaks.bandwidth", list);
            let samples = peak::bandwidth_samples(traffic, count, plan);
            let median = recorder.value("lab.peaks.bandwidth", list, Unit::BytesPerSecond, samples);
            if traffic == Traffic::Read {
                read = median;
            }
        }
        // Where the roofline bends: so many operations pay for a byte.
        let ridge = Samples(vec![fma / read]);
        recorder.value("lab.peaks.ridge", &[("threads", &threads)], Unit::Number, ridge);
    }
    Ok(())
}
// ANCHOR_END: peaks

fn rate(recorder: &mut Recorder, list: &[(&str, &str); 2], samples: Samples) -> f64 {
    let [(unit, which), (threads, count)] = list;
    recorder.value("lab.peaks", &[(unit, which), (threads, count)], Unit::FlopsPerSecond, samples)
}

fn skip(recorder: &mut Recorder, list: &[(&str, &str); 2], why: &str) {
    let [(unit, which), (threads, count)] = list;
    recorder.skip("lab.peaks", &[(unit, which), (threads, count)], why);
}

#[expect(clippy::unnecessary_wraps, reason = "the form of every experiment")]
// ANCHOR: fooling
fn fooling(recorder: &mut Recorder) -> Result<()> {
    for mistake in Mistake::ALL {
        let list: ParamList = &[("mistake", &mistake.name())];
        recorder.note("lab.fooling", list);
        let fooled = mistake.make(recorder.budget.plan());
        let ratio = fooled.ratio();
        recorder.value("lab.fooling.wrong", list, mistake.unit(), fooled.wrong);
        recorder.value("lab.fooling.right", list, mistake.unit(), fooled.right);
        recorder.value("lab.fooling", list, Unit::Ratio, ratio);
    }
    Ok(())
}
// ANCHOR_END: fooling

/// `one core`, `all 2 cores`.
fn who(records: &Records, threads: &str) -> String {
    match threads {
        "all" => format!("all {} cores", records.machine.cores),
        _ => "one core".to_owned(),
    }
}

/// A bar for a value, in units of `scale`; one that says why where it was left out.
fn bar(name: String, value: Result<&Value>, scale: f64) -> Result<Bar> {
    match value {
        Ok(value) => Ok(Bar {
            name,
            value: Some((value.median / scale, value.low / scale, value.high / scale)),
            text: value.text(),
        }),
        Err(Error::Skipped { why, .. }) => {
            Ok(Bar { name, value: None, text: format!("not measured: {why}") })
        }
        Err(error) => Err(error),
    }
}

/// The names of the units of arithmetic, as `lab.peaks` records and as people write them.
const UNITS: [(&str, &str); 2] = [("fma-f32", "f32 FMA"), ("amx-bf16", "bf16 AMX")];

fn peaks_figure(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    for (unit, label) in UNITS {
        for threads in THREADS {
            let value = records.find("lab.peaks", &[("unit", &unit), ("threads", &threads)]);
            bars.push(bar(format!("{label}, {}", who(records, threads)), value, 1e9)?);
        }
    }
    let of =
        |threads: &str| records.find("lab.peaks", &[("unit", &"fma-f32"), ("threads", &threads)]);
    let (one, all) = (of("1")?, of("all")?);
    let caption = format!(
        "The most this CPU can do: {} of f32 multiply-adds on one core, {} on all {} ({} times as much).",
        one.text(),
        all.text(),
        records.machine.cores,
        Unit::Number.format(all.median / one.median),
    );
    let alt = described("Bars of the arithmetic peak", &bars);
    let plot = BarPlot { axis: Axis::new("rate (GFLOP/s)", Scale::Linear), bars, limits: vec![] };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn bandwidth_figure(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    for traffic in Traffic::ALL {
        for threads in THREADS {
            let list: ParamList = &[("kind", &traffic.name()), ("threads", &threads)];
            let value = records.find("lab.peaks.bandwidth", list);
            let name = format!("{}, {}", traffic.name(), who(records, threads));
            bars.push(bar(name, value, f64::from(1 << 30))?);
        }
    }
    let of = |threads: &str| {
        records.find("lab.peaks.bandwidth", &[("kind", &"read"), ("threads", &threads)])
    };
    let (one, all) = (of("1")?, of("all")?);
    let ridge = records.find("lab.peaks.ridge", &[("threads", &"1")])?;
    let caption = format!(
        "One core reads {} from memory, all cores {}. In the time that one byte takes to arrive, one \
         core could do {} operations.",
        one.text(),
        all.text(),
        ridge.text(),
    );
    let alt = described("Bars of the memory bandwidth", &bars);
    let plot =
        BarPlot { axis: Axis::new("bandwidth (GiB/s)", Scale::Linear), bars, limits: vec![] };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn peaks_table(records: &Records) -> Result<TableData> {
    let cell = |key: &str, list: ParamList| match records.find(key, list) {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { .. }) => Ok("–".to_owned()),
        Err(error) => Err(error),
    };
    let mut rows = Vec::new();
    for (unit, label) in UNITS {
        let mut row = vec![label.to_owned()];
        for threads in THREADS {
            row.push(cell("lab.peaks", &[("unit", &unit), ("threads", &threads)])?);
        }
        rows.push(row);
    }
    for traffic in Traffic::ALL {
        let mut row = vec![format!("memory, {}", traffic.name())];
        for threads in THREADS {
            let list: ParamList = &[("kind", &traffic.name()), ("threads", &threads)];
            row.push(cell("lab.peaks.bandwidth", list)?);
        }
        rows.push(row);
    }
    let mut row = vec!["operations that a byte pays for".to_owned()];
    for threads in THREADS {
        row.push(cell("lab.peaks.ridge", &[("threads", &threads)])?);
    }
    rows.push(row);
    let head = ["limit".to_owned(), who(records, "1"), who(records, "all")].into();
    let caption = format!("The limits of this {}, measured.", records.machine.cpu);
    Ok(TableData { caption, head, rows })
}

fn fooling_figure(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let mut medians = Vec::new();
    for mistake in Mistake::ALL {
        let value = records.find("lab.fooling", &[("mistake", &mistake.name())])?;
        bars.push(bar(mistake.label().to_owned(), Ok(value), 1.0)?);
        medians.push(Samples(vec![value.median]).median());
    }
    let medians = Samples(medians);
    let (least, most) = (medians.quantile(0.0), medians.quantile(1.0));
    let caption = format!(
        "Six ways to measure the time of a small job wrongly. The worst reports {} times too little, the worst \
         on the other side {} times too much.",
        Unit::Count.format((1.0 / least).round()),
        Unit::Number.format(most),
    );
    let alt = described("Bars of the reported time, in units of the true one", &bars);
    let plot = BarPlot {
        axis: Axis::new("reported time ÷ true time", Scale::Log),
        bars,
        limits: vec![("the truth".to_owned(), 1.0)],
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn fooling_table(records: &Records) -> Result<TableData> {
    let rows = Mistake::ALL.into_iter().map(|mistake| {
        let of = |key: &str| Ok(records.find(key, &[("mistake", &mistake.name())])?.text());
        Ok(vec![
            mistake.label().to_owned(),
            of("lab.fooling.wrong")?,
            of("lab.fooling.right")?,
            of("lab.fooling")?,
        ])
    });
    Ok(TableData {
        caption:
            "The same job, measured wrongly and rightly. In the last row both contenders are one \
                  function, and the numbers say how much longer the second one seems to take."
                .to_owned(),
        head: ["mistake", "wrong", "right", "wrong ÷ right"].map(str::to_owned).into(),
        rows: rows.collect::<Result<_>>()?,
    })
}

/// `What: a 1, b 2.`, for a reader who can't see the bars.
fn described(what: &str, bars: &[Bar]) -> String {
    let bars: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.name, bar.text)).collect();
    format!("{what}: {}.", bars.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Device, chapter, progress::Progress, record};

    /// Runs both experiments once, as `measure` does, and reads back what they left.
    fn measured() -> Records {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine::Machine { cores: 2, ..machine::Machine::default() };
        let chapter = chapter();
        for experiment in &chapter.experiments {
            let run =
                chapter::run(experiment, Budget::Quick, Device::Cpu, None, &Progress::hidden())
                    .unwrap();
            assert_eq!(run.experiment, experiment.key);
            assert_eq!(run.budget, "quick");
            for value in &run.values {
                assert!(experiment.values.contains(&value.key.as_str()));
                assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
            }
            record::save(folder.path(), &machine, chapter.name, run).unwrap();
        }
        Records::load(folder.path()).unwrap()
    }

    #[test]
    fn experiments_leave_all_that_the_figures_and_tables_need() {
        let records = measured();
        for figure in chapter().figures {
            let drawing = (figure.draw)(&records).unwrap();
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(drawing.caption.ends_with('.') && drawing.alt.ends_with('.'));
            assert!(!drawing.caption.contains("not a number"), "{}", drawing.caption);
        }
        for table in chapter().tables {
            let table = (table.make)(&records).unwrap();
            assert!(!table.rows.is_empty());
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{table:?}");
        }
        let amx = records.find("lab.peaks", &[("unit", &"amx-bf16"), ("threads", &"1")]);
        assert_eq!(amx.is_ok(), machine::amx_bf16());
        if !machine::amx_bf16() {
            assert!(matches!(amx, Err(Error::Skipped { .. })), "{amx:?}");
            let svg = (chapter().figures[0].draw)(&records).unwrap().svg;
            assert!(svg.contains("not measured: this"), "{svg}");
        }
    }

    #[test]
    fn without_records_figures_say_what_to_run() {
        let empty = crate::testing::unmeasured();
        for figure in chapter().figures {
            let error = (figure.draw)(&empty).unwrap_err();
            assert!(matches!(error, Error::NotMeasured { .. }), "{error}");
            assert!(error.to_string().contains("measure lab"), "{error}");
        }
        for table in chapter().tables {
            assert!(matches!((table.make)(&empty), Err(Error::NotMeasured { .. })));
        }
    }
}
