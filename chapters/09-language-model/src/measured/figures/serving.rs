//! Generation and serving as figures and tables.

use crate::measured::experiments::{
    quality::{BITS, COPY, COPY_MEDIAN, GUESSERS, LOOKED, PARSES, SECONDS, WRITERS, WRITTEN},
    serving::{
        BANDWIDTH, BATCHES, BYTES, FIRST, GAIN, INT8, INT8_BYTES, INT8_GAIN, MODELS, PREDICTED,
        SERVED, SERVED_FIRST, SERVED_FURTHER, SERVED_PREDICTED, STEP_RATE, TOKEN,
    },
};
use lab::{
    Drawing, Figure, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits, Lines},
    key::Quantity,
    plot::{Axis, Scale},
    table::Grid,
};

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "language_model.batch", draw: draw_batch },
        Figure { key: "language_model.serve", draw: draw_serve },
        Figure { key: "language_model.serve.latency", draw: draw_latency },
        Figure { key: "language_model.quality.bits", draw: draw_bits },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "language_model.generate", make: table_generate },
        Table { key: "language_model.serve", make: table_serve },
        Table { key: "language_model.int8", make: table_int8 },
        Table { key: "language_model.written", make: table_written },
        Table { key: "language_model.quality", make: table_quality },
        Table { key: "language_model.quality.copy", make: table_copy },
    ]
}

fn draw_batch(records: &Records) -> Result<Drawing> {
    let rate = |batch: usize| {
        records.get(STEP_RATE.at(&[("size", &"small"), ("batch", &batch)])).map(|v| v.median)
    };
    let caption = format!(
        "Tokens a second of a step of several sequences on {}. With the small model, a step of 16 writes {} as many \
         tokens a second as a step of one.",
        records.machine.in_words(),
        Unit::Ratio.format(rate(16)? / rate(1)?)
    );
    Lines {
        over: "batch",
        x: Axis::new("sequences in a step", Scale::Log),
        y: Axis::new("tokens/s", Scale::Log),
        lines: MODELS
            .map(|(model, _)| (model.to_owned(), STEP_RATE.at(&[("size", &model)])))
            .into(),
        ..Lines::default()
    }
    .draw(records, caption)
}

fn draw_serve(records: &Records) -> Result<Drawing> {
    let rate = |clients: usize| {
        records.get(SERVED.at(&[("size", &"small"), ("clients", &clients)])).map(|v| v.median)
    };
    let caption = format!(
        "Tokens a second of all clients together, over HTTP, on {}: 16 clients get {} as many as one.",
        records.machine.in_words(),
        Unit::Ratio.format(rate(16)? / rate(1)?)
    );
    let small = |key: lab::Key| key.at(&[("size", &"small")]);
    Lines {
        over: "clients",
        x: Axis::new("clients", Scale::Log),
        y: Axis::new("tokens/s", Scale::Linear),
        lines: vec![
            ("predicted by the step alone".to_owned(), small(SERVED_PREDICTED)),
            ("served".to_owned(), small(SERVED)),
        ],
        ..Lines::default()
    }
    .draw(records, caption)
}

fn draw_latency(records: &Records) -> Result<Drawing> {
    let small = |key: lab::Key| key.at(&[("size", &"small")]);
    let wait = |clients: usize| {
        records.text(SERVED_FURTHER.at(&[("size", &"small"), ("clients", &clients)]))
    };
    let caption = format!(
        "What a client waits for its first token and for each further one on {}: {} for a further one alone, {} among 16.",
        records.machine.in_words(),
        wait(1)?,
        wait(16)?
    );
    Lines {
        over: "clients",
        x: Axis::new("clients", Scale::Log),
        y: Axis::new("latency (ms)", Scale::Log),
        scale: |seconds| 1e3 * seconds,
        lines: vec![
            ("first token".to_owned(), small(SERVED_FIRST)),
            ("each further token".to_owned(), small(SERVED_FURTHER)),
        ],
        ..Lines::default()
    }
    .draw(records, caption)
}

fn draw_bits(records: &Records) -> Result<Drawing> {
    let of = |who: &str| BITS.at(&[("who", &who)]);
    let after = records.text(SECONDS.at(&[])).map(|text| format!(", after {text} of training,"));
    let caption = format!(
        "Bits per byte of text that the model has not seen: the model{} needs {}, gzip {}.",
        after.unwrap_or_default(),
        records.text(of("model"))?,
        records.text(of("gzip"))?
    );
    Bars {
        axis: Axis::new("bits per byte", Scale::Linear),
        bars: GUESSERS.map(|(who, name)| (name.to_owned(), of(who))).into(),
        limits: Limits::None,
        ..Bars::default()
    }
    .draw(records, caption)
}

fn table_generate(records: &Records) -> Result<TableData> {
    let small = |key: lab::Key| key.at(&[("size", &"small")]);
    let caption = format!(
        "A token of one sequence in the middle of its context on {}. With the small model the cache makes it {} as fast.",
        records.machine.in_words(),
        records.text(small(GAIN))?
    );
    Grid::new(MODELS)
        .column("model", |(model, _)| *model)
        .column("weights", |(model, _)| BYTES.at(&[("size", model), ("what", &"weights")]))
        .column("read at", |(model, _)| BANDWIDTH.at(&[("size", model)]))
        .column("predicted", |(model, _)| PREDICTED.at(&[("size", model)]))
        .column("measured", |(model, _)| TOKEN.at(&[("size", model), ("cache", &"with")]))
        .column("without a cache", |(model, _)| TOKEN.at(&[("size", model), ("cache", &"without")]))
        .column("first token", |(model, _)| FIRST.at(&[("size", model)]))
        .table(records, caption)
}

fn table_serve(records: &Records) -> Result<TableData> {
    let caption = format!(
        "The small model over HTTP on {}: tokens a second of all clients, and the median waits of one.",
        records.machine.in_words()
    );
    let of = |key: lab::Key, clients: usize| key.at(&[("size", &"small"), ("clients", &clients)]);
    Grid::new(BATCHES)
        .column("clients", ToString::to_string)
        .column("tokens a second", |clients| of(SERVED, *clients))
        .column("predicted", |clients| of(SERVED_PREDICTED, *clients))
        .column("first token", |clients| of(SERVED_FIRST, *clients))
        .column("each further token", |clients| of(SERVED_FURTHER, *clients))
        .table(records, caption)
}

fn table_int8(records: &Records) -> Result<TableData> {
    let caption = format!(
        "Weights in 8 bits on {}: the small model's tokens come {} as fast.",
        records.machine.in_words(),
        records.text(INT8_GAIN.at(&[("size", &"small")]))?
    );
    let rows = MODELS.into_iter().flat_map(|(model, _)| ["f32", "int8"].map(|n| (model, n)));
    Grid::new(rows)
        .column("weights", |(model, numbers)| format!("{model}, {numbers}"))
        .column("bytes", |(model, n)| INT8_BYTES.at(&[("size", model), ("numbers", n)]))
        .column("a token", |(model, n)| INT8.at(&[("size", model), ("numbers", n)]))
        .table(records, caption)
}

fn table_written(records: &Records) -> Result<TableData> {
    let of = |after: &str| WRITTEN.at(&[("after", &after)]);
    let what = |after: &str, what: &str| said_with(records, of(after), what);
    let million = |tokens: &str| {
        tokens.parse().map_or_else(|_| tokens.to_owned(), |n: f64| format!("{:.1}", n / 1e6))
    };
    let caption = format!(
        "What the last model that was trained writes from nothing, always by the same chance, at the points of its run: {} bits per byte after \
         {} million tokens, {} at the end.",
        records.text(of("1 minute"))?,
        million(&what("1 minute", "tokens")),
        records.text(of("the end"))?
    );
    Grid::new(LOOKED.map(|(after, _)| after))
        .column("after", |after| *after)
        .column("million tokens", |after| million(&what(after, "tokens")))
        .column("bits per byte", |after| of(after))
        .column("it writes", |after| what(after, "sample"))
        .table(records, caption)
}

/// What a value was recorded with; a dash for none.
fn said_with(records: &Records, quantity: Quantity, what: &str) -> String {
    let found = records.get(quantity).ok().and_then(|value| value.params.get(what));
    found.cloned().unwrap_or_else(|| "–".to_owned())
}

fn table_copy(records: &Records) -> Result<TableData> {
    let of = |who: &str| COPY.at(&[("who", &who)]);
    let caption = format!(
        "The longest part of the samples that stands word for word in the training text: {} of the model's.",
        records.text(of("model"))?
    );
    let rows = WRITERS.into_iter().filter(|(who, _)| records.get(of(who)).is_ok());
    Grid::new(rows)
        .column("written by", |(_, name)| *name)
        .column("bytes", |(who, _)| of(who))
        .column("stands in the crate", |(who, _)| said_with(records, of(who), "crate"))
        .column("it reads", |(who, _)| said_with(records, of(who), "text"))
        .table(records, caption)
}

fn table_quality(records: &Records) -> Result<TableData> {
    let of = |who: &str, how: &str| PARSES.at(&[("who", &who), ("how", &how)]);
    let caption = format!(
        "A hundred samples of 20 lines each: {} of the model's parse once they are closed, and {} of those by chance.",
        records.text(of("model", "closed"))?,
        records.text(of("frequent", "closed"))?
    );
    let rows = WRITERS.into_iter().filter(|(who, _)| records.get(of(who, "whole")).is_ok());
    Grid::new(rows)
        .column("written by", |(_, name)| *name)
        .column("parse as they stand", |(who, _)| of(who, "whole"))
        .column("parse when closed", |(who, _)| of(who, "closed"))
        .column("longest copy", |(who, _)| COPY.at(&[("who", who)]))
        .column("median copy", |(who, _)| COPY_MEDIAN.at(&[("who", who)]))
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::experiments::{
        quality,
        serving::{self, STEP},
    };
    use lab::{
        Chapter, Part,
        testing::{MadeUp, are_drawn},
    };

    #[test]
    fn every_figure_and_table_is_made_from_records() {
        let mut made = MadeUp::default();
        for (model, _) in MODELS {
            for key in [FIRST, GAIN, PREDICTED, BANDWIDTH, INT8_GAIN] {
                made.add(key.at(&[("size", &model)]), 0.25);
            }
            for cache in ["with", "without"] {
                made.add(TOKEN.at(&[("size", &model), ("cache", &cache)]), 1e-3);
            }
            made.add(BYTES.at(&[("size", &model), ("what", &"weights")]), 4e6);
            for numbers in ["f32", "int8"] {
                made.add(INT8.at(&[("size", &model), ("numbers", &numbers)]), 1e-3);
                made.add(INT8_BYTES.at(&[("size", &model), ("numbers", &numbers)]), 1e6);
            }
            for batch in BATCHES {
                let rate = 100.0 * (batch as f64).sqrt();
                made.add(STEP_RATE.at(&[("size", &model), ("batch", &batch)]), rate);
                made.add(STEP.at(&[("size", &model), ("batch", &batch)]), batch as f64 / rate);
            }
        }
        for clients in BATCHES {
            for key in [SERVED, SERVED_FIRST, SERVED_FURTHER, SERVED_PREDICTED] {
                let rate = 0.01 * clients as f64;
                made.add(key.at(&[("size", &"small"), ("clients", &clients)]), rate);
            }
        }
        for (who, _) in WRITERS {
            made.add(PARSES.at(&[("who", &who), ("how", &"whole")]), 0.1);
            made.add(PARSES.at(&[("who", &who), ("how", &"closed")]), 0.4);
        }
        let list: lab::record::ParamList =
            &[("who", &"model"), ("text", &"#[derive(Clone)]\nstruct"), ("crate", &"syn")];
        made.add(COPY.at(list), 90.0);
        made.add(SECONDS.at(&[]), 600.0);
        made.add(COPY_MEDIAN.at(&[("who", &"model")]), 30.0);
        for (who, _) in GUESSERS {
            made.add(BITS.at(&[("who", &who)]), 1.5);
        }
        for (after, minutes) in LOOKED {
            let list: lab::record::ParamList =
                &[("after", &after), ("tokens", &1_000_000), ("sample", &"fn a() {\n}")];
            made.add(WRITTEN.at(list), minutes.min(20.0).recip());
        }
        let parts = [serving::experiments(), quality::experiments()];
        let parts = parts.map(|experiments| Part { experiments, ..Part::default() });
        let records = made.records(&Chapter::of(9, "language_model", "A test", parts));
        are_drawn(&figures(), &tables(), &records);
        assert!(draw_serve(&records).unwrap().caption.contains("16.0×"));
        assert_eq!(table_quality(&records).unwrap().rows[0][3], "–");
        assert!(draw_bits(&records).unwrap().caption.contains("the model, after"));
        let copied = table_copy(&records).unwrap();
        assert_eq!(copied.rows.len(), 1, "nothing was found in what people wrote");
        assert_eq!(copied.rows[0][1..], ["90 B", "syn", "#[derive(Clone)]\nstruct"]);
        let row = ["1 minute", "1.0", "1.00", "fn a() {\n}"];
        assert_eq!(table_written(&records).unwrap().rows[0], row);
    }
}
