//! Figures and tables as a page declares them: text that says what is drawn, checked against the declared keys when it is
//! read, and made from one machine's records.
//!
//! ```text
//! of language_model.serve
//! with size=small
//! lines over clients: clients, log             or `bars: rate (GFLOP/s), log, ÷1e9`; a table has neither
//! y: latency (ms), log, ×1e3
//! first token = .first                         a line or a bar; of a table, `HEAD | CELL` is a column
//! > On {machine}: {.first clients=1} alone.
//! ```
//!
//! | line | what it declares |
//! | --- | --- |
//! | `of KEY` | what `it` is, and a key that begins with a dot continues |
//! | `with NAME=VALUE …` | parameters of all quantities below that have them |
//! | `each NAME: a, b "words"`, `each NAME, NAME: a 1, b 2 "words of NAME"`, `each NAME: *` | a bar, line or row for each value; `{NAME}` is its words in labels, itself in quantities; `*`: all that were recorded |
//! | `across NAME: …` | the same for columns |
//! | `words NAME: a "words", …` | words of values that a list has without |
//! | `bars: LABEL, OPTION…` | the axis of bars; `log`, `toggled`, `from 1` (lines: it holds that), `0..5`, `ticks 1 8 64`, `×1e3`, `÷1e9`, `%`, `wrong %`, `MiB` |
//! | `lines over NAME: LABEL, OPTION…`, `y: …` | the axes of lines |
//! | `limits`, `limit WORDS = QUANTITY` | dashed lines: the records' own; this one, or a number |
//! | `diagonal WORDS`, `diagonal WORDS up to cores` | a dashed line: as much as there is on the axis, or no more than there are cores |
//! | `LABEL = QUANTITY` | bars or lines; several of the same label, one after the other, are one line |
//! | `HEAD \| CELL` | a column: words, or a quantity with `or-why`, `or "words"` |
//! | `present` | rows without any value are left out |
//! | `filled` | columns without any value are left out |
//! | `> …` | the caption; `{EXPRESSION}` is a number, `[…]` is left out where one of its numbers is missing |
//!
//! An expression is a quantity (`key name=value …`), which may begin with `min`, `max`, `any`, `count`, `zeros` (how many are 0), `first NAME` or
//! `last NAME` and end with `of-limit`, `low`, `high`, `range` (of the samples), `quartiles`, `samples` (how many), `plain` (without its unit),
//! `decimals=6`, `percent=0`, `points` (of percent), `apart` (in powers of ten, and 0 in words; also of bars) or `@NAME` (a parameter as recorded); or `A / B`, a ratio, or
//! `A against B`, by how much it is more or less; or `machine`, `cpu`, `cores`. A verdict is by a [`Rule`] over such
//! expressions.

mod expression;
mod read;
mod rule;

pub use rule::Rule;

use crate::{
    Drawing, Error, Records, Result, TableData,
    drawing::{Bars, Limits, Lines},
    key::Quantity,
    plot::Axis,
    table::{Entry, Grid},
};
use expression::{Bindings, Expression, Piece, Quote, Show, caption, filled};

/// What a fence declares.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// A table has none.
    shape: Option<Shape>,
    /// Values that are drawn one after the other; the first list is the slowest.
    each: Vec<Loop>,
    /// The same for a table's columns.
    across: Vec<Loop>,
    /// Words of values.
    words: Vec<Loop>,
    /// Bars, lines or columns: their label and what they show.
    entries: Vec<(String, Cell)>,
    /// Whether the values' own limits are drawn.
    limits: bool,
    /// Further limits.
    limit: Vec<(String, Limit)>,
    /// A limit that grows with the axis; whether it ends at the machine's cores.
    diagonal: Option<(String, bool)>,
    /// Whether rows without a value are left out.
    present: bool,
    /// Whether columns without a value are.
    filled: bool,
    caption: Vec<Piece>,
}

/// How it is drawn.
#[derive(Clone, Debug)]
enum Shape {
    Bars { axis: Axis, scale: fn(f64) -> f64 },
    Lines { over: &'static str, x: Axis, y: Axis, scale: fn(f64) -> f64 },
}

/// Where a limit is.
#[allow(clippy::large_enum_variant, reason = "there are a few dozen in a book")]
#[derive(Clone, Debug)]
enum Limit {
    Of(Quote),
    Number(f64),
}

/// Values of a parameter, each with its words; `None` stands for all that were recorded, also of several together.
#[derive(Clone, Debug)]
struct Loop {
    names: Vec<String>,
    values: Option<Vec<(String, String)>>,
}

/// What a bar, a line or a cell shows.
#[allow(clippy::large_enum_variant, reason = "there are a few hundred in a book")]
#[derive(Clone, Debug)]
enum Cell {
    Words(String),
    Number { of: Expression, otherwise: Otherwise },
}

/// What a cell shows where its value was left out.
#[derive(Clone, Debug)]
enum Otherwise {
    Dash,
    Why,
    Words(String),
}

impl Fence {
    /// The figure, from one machine's records.
    ///
    /// # Errors
    /// [`Error::NotMeasured`] and [`Error::Skipped`] as [`Records::find`]; [`Error::Message`] if it is a table.
    pub fn draw(&self, records: &Records) -> Result<Drawing> {
        let caption = caption(&self.caption, records)?;
        let mut entries = Vec::new();
        for bindings in self.rows(records)? {
            for (label, cell) in &self.entries {
                if let Cell::Number { of, .. } = cell {
                    entries.push((filled(label, &bindings, true), of.quote().at(&bindings)));
                }
            }
        }
        let limits = self.limits(records)?;
        match &self.shape {
            Some(Shape::Bars { axis, scale }) => {
                let apart = self.entries.iter().any(|(_, cell)| cell.shows(Show::Apart));
                Bars { axis: axis.clone(), scale: *scale, bars: entries, limits }
                    .draw_as(records, caption, apart)
            }
            Some(Shape::Lines { over, x, y, scale }) => {
                let (x, y) = (x.clone(), y.clone());
                Lines { over, x, y, scale: *scale, lines: entries, limits }.draw(records, caption)
            }
            None => Err(Error::message("a table has no drawing")),
        }
    }

    /// The table, from one machine's records.
    ///
    /// # Errors
    /// As [`Fence::draw`].
    pub fn table(&self, records: &Records) -> Result<TableData> {
        let (across, once) = (self.bindings(&self.across, records), [Bindings::new()]);
        let mut grid = Grid::new(self.rows(records)?);
        for group in self.entries.chunk_by(|a, b| self.varies(a) == self.varies(b)) {
            for columns in if self.varies(&group[0]) { &across[..] } else { &once } {
                for (head, cell) in group {
                    grid = grid.column(filled(head, columns, true), move |row: &Bindings| {
                        cell.entry(&row.iter().chain(columns).cloned().collect(), records)
                    });
                }
            }
        }
        let table = grid.table(records, caption(&self.caption, records)?)?;
        Ok(if self.filled { table.filled() } else { table })
    }

    /// A row, bar or line for each of these; if none is left, why the first quantity has no value.
    fn rows(&self, records: &Records) -> Result<Vec<Bindings>> {
        let mut rows = self.bindings(&self.each, records);
        if self.present {
            rows.retain(|row| self.quantities(row).iter().any(|one| records.get(one).is_ok()));
        }
        if rows.is_empty() {
            for (_, cell) in &self.entries {
                if let Cell::Number { of, .. } = cell {
                    records.every(of.quote().fixed())?;
                }
            }
        }
        Ok(rows)
    }

    /// Whether a column is one for each of the values across.
    fn varies(&self, (head, cell): &(String, Cell)) -> bool {
        let mut names = self.across.iter().flat_map(|list| &list.names);
        names.any(|name| head.contains(&format!("{{{name}}}")) || cell.names(name))
    }

    /// The quantities of a row.
    fn quantities(&self, row: &Bindings) -> Vec<Quantity> {
        let number = |(_, cell): &(String, Cell)| match cell {
            Cell::Number { of, .. } => Some(of.quote().at(row)),
            Cell::Words(_) => None,
        };
        self.entries.iter().filter_map(number).collect()
    }

    fn limits(&self, records: &Records) -> Result<Limits> {
        if self.limits {
            return Ok(Limits::OfValues);
        }
        if let Some((words, ends)) = &self.diagonal {
            let most = ends.then_some(records.machine.cores as f64);
            return Ok(Limits::Diagonal(words.clone(), most));
        }
        let limit = |(words, limit): &(String, Limit)| {
            let value = match limit {
                Limit::Of(quote) => records.get(quote.at(&Bindings::new()))?.median,
                Limit::Number(number) => *number,
            };
            Ok((words.clone(), value))
        };
        Ok(match self.limit.iter().map(limit).collect::<Result<Vec<_>>>()? {
            limits if limits.is_empty() => Limits::None,
            limits => Limits::These(limits),
        })
    }

    /// Every combination of the lists' values.
    fn bindings(&self, lists: &[Loop], records: &Records) -> Vec<Bindings> {
        let mut all = vec![Bindings::new()];
        for list in lists {
            // Of several names, each has a word of the value; the first has the words, if there are any.
            let named = |(value, words): &(String, String)| match &list.names[..] {
                [name] => vec![(name.clone(), value.clone(), words.clone())],
                names => {
                    let values = value.splitn(names.len(), ' ').map(str::to_owned);
                    let mut all: Bindings =
                        names.iter().cloned().zip(values).map(|(n, v)| (n, v.clone(), v)).collect();
                    if words != value {
                        all[0].2.clone_from(words);
                    }
                    all
                }
            };
            let values: Vec<Bindings> = match &list.values {
                Some(values) => values.iter().map(named).collect(),
                None => self.recorded(&list.names, records),
            };
            let with = |before: Bindings| values.iter().map(move |one| [&before[..], one].concat());
            all = all.into_iter().flat_map(with).collect();
        }
        for (name, value, words) in all.iter_mut().flatten() {
            let lists = self.words.iter().filter(|list| list.names[0] == *name);
            let named = lists.flat_map(|list| &list.values).flatten().find(|(of, _)| of == value);
            if let Some((_, named)) = named {
                words.clone_from(named);
            }
        }
        all
    }

    /// All values of these parameters that were recorded for the first quantity that has them, in the order of their
    /// measuring.
    fn recorded(&self, names: &[String], records: &Records) -> Vec<Bindings> {
        let quote = self.entries.iter().find_map(|(_, cell)| match cell {
            Cell::Number { of, .. } if of.quote().varies(&names[0]) => Some(of.quote()),
            _ => None,
        });
        let values = quote.and_then(|quote| records.every(quote.fixed()).ok()).unwrap_or_default();
        let mut found: Vec<Bindings> = Vec::new();
        for value in values {
            let of = |name: &String| {
                let param = value.param(name)?.to_owned();
                Some((name.clone(), param.clone(), param))
            };
            match names.iter().map(of).collect::<Option<Bindings>>() {
                Some(one) if !found.contains(&one) => found.push(one),
                _ => {}
            }
        }
        found
    }
}

impl Cell {
    /// Whether `{name}` stands in it.
    fn names(&self, name: &str) -> bool {
        match self {
            Self::Words(words) => words.contains(&format!("{{{name}}}")),
            Self::Number { of, .. } => of.quote().varies(name),
        }
    }

    /// Whether it is a quantity, of which it shows this.
    fn shows(&self, show: Show) -> bool {
        matches!(self, Self::Number { of: Expression::Of(quote), .. } if quote.is_it(show))
    }

    fn entry(&self, row: &Bindings, records: &Records) -> Entry {
        match self {
            Self::Words(words) => Entry::Words(filled(words, row, true)),
            Self::Number { of: Expression::Of(quote), otherwise } if quote.is_it(Show::Median) => {
                match otherwise {
                    Otherwise::Dash => Entry::Value(quote.at(row)),
                    Otherwise::Why => Entry::OrWhy(quote.at(row)),
                    Otherwise::Words(words) => match records.get(quote.at(row)) {
                        Err(Error::Key(_)) => Entry::Words(words.clone()),
                        _ => Entry::Or(quote.at(row), words.clone()),
                    },
                }
            }
            Self::Number { of, .. } => {
                Entry::Words(of.text(row, records).unwrap_or_else(|_| "–".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Samples, Unit, record::Limit, testing};

    const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["who", "n"]);
    const SHARE: Key = Key::counted("demo.share", Unit::Share, &["who", "seed"]);
    const MODEL: Key = Key::simulated("demo.model", Unit::FlopsPerSecond, &[]);

    fn known(name: &str) -> Option<Key> {
        [RATE, SHARE, MODEL].into_iter().find(|key| key.name == name)
    }

    fn read(text: &str) -> Result<Fence> {
        Fence::read(text, &known)
    }

    /// Ours at two sizes and theirs at one; at the other it was left out.
    fn records() -> Records {
        let rate = |who: &str, n: usize, rate: f64| {
            let peak = Limit { name: "the peak".to_owned(), value: 4e9 };
            let samples = Samples(vec![rate, 1.5 * rate, rate]);
            RATE.at(&[("who", &who), ("n", &n)]).against(peak).value(samples)
        };
        let share = SHARE.at(&[("who", &"ours"), ("seed", &7)]).value(Samples::one(0.25));
        let skipped = RATE.at(&[("who", &"theirs"), ("n", &64)]).skipped("it is not installed");
        let model = MODEL.at(&[]).value(Samples::one(3e9));
        let ours = [rate("ours", 64, 2e9), rate("ours", 32, 1e9)];
        let values = [&ours[..], &[rate("theirs", 32, 5e8), share, model]].concat();
        testing::records(&testing::demo("demo", &[RATE, SHARE, MODEL]), &values, &[skipped])
    }

    #[test]
    fn bars_and_lines_are_what_is_declared() -> Result<()> {
        let text = "of demo.rate\neach who: ours \"this crate\", theirs\nbars: rate (GFLOP/s), log, ÷1e9\nlimits\n\
                    {who} = it who={who} n=32\n> {it who=ours n=32 / it who=theirs n=32} as fast[, {it who=theirs n=64}] on\n> {cpu}.";
        let drawing = read(text)?.draw(&records())?;
        assert_eq!(
            drawing.alt,
            "Bars on a logarithmic scale, rate (GFLOP/s). this crate: 1.00 GFLOP/s; theirs: 500 MFLOP/s; dashed, the peak: 4.00."
        );
        assert_eq!(drawing.caption, "2.00× as fast on A made-up CPU.");
        let text = "lines over n: n, log\ny: rate (MFLOP/s), ÷1e6\neach who: *\nlimit half = demo.rate who=ours n=32\n\
                    {who} = demo.rate who={who}\n> From {first n demo.rate who=ours} to {max demo.rate} ({count demo.rate}).";
        let drawing = read(text)?.draw(&records())?;
        let points = "ours: 1,000 at 32, 2,000 at 64; theirs: 500 at 32";
        for words in [points, "dashed, half: 1,000."] {
            assert!(drawing.alt.contains(words), "{}", drawing.alt);
        }
        assert_eq!(drawing.caption, "From 1.00 GFLOP/s to 2.00 GFLOP/s (3).");
        // A bar that was left out says why; one that nobody looked for is none; a number that nobody measured says so.
        let text = "bars: rate\ntheirs = demo.rate who=theirs n=64\nnobody = demo.rate who=nobody\na model = demo.model\n> A rate.";
        let alt = read(text)?.draw(&records())?.alt;
        let wanted = "theirs: it is not installed; a model: 3.00 GFLOP/s. Numbers: simulated.";
        assert_eq!(alt, format!("Bars, rate. {wanted}"));
        Ok(())
    }

    #[test]
    fn differences_and_limits_that_grow_are_drawn() -> Result<()> {
        let rate =
            |n: usize, rate| RATE.at(&[("who", &"ours"), ("n", &n)]).value(Samples::one(rate));
        let values = [rate(1, 0.0), rate(2, 4.73e-7), rate(4, 3.0)];
        let records = testing::records(&testing::demo("demo", &[RATE]), &values, &[]);
        let text = "of demo.rate\neach n: 1, 2\nbars: off, log, 1e-9..1e-4\nlimit tested = 1e-5\n{n} = it n={n} apart\n\
                    > {it n=4 against it n=2 plain}, {max it apart}, {zeros it} of {count it}, {it n=4 plain}, {it n=4 decimals=2}, {it n=4 quartiles}.";
        let drawing = read(text)?.draw(&records)?;
        let alt = "1: 0, bit for bit; 2: 4.7×10⁻⁷; dashed, tested: 10⁻⁵.";
        assert!(drawing.alt.ends_with(alt), "{}", drawing.alt);
        assert_eq!(
            drawing.caption,
            "+634,249,371.5%, 3.0×10⁰, 1 of 3, 3.00, 3.00, 3.00 FLOP/s to 3.00 FLOP/s."
        );
        let text = "lines over n: n\ny: rate\nour = demo.rate n=4\nour = demo.rate n=2\nour = demo.rate n=4\n> A rate.";
        let drawing = read(text)?.draw(&records)?;
        assert!(drawing.alt.ends_with("our: 4.73×10⁻⁷ at 2, 3.00 at 4."), "{}", drawing.alt);
        for (diagonal, alt) in
            [("ideal", "1.00 at 1 to 4.00 at 4."), ("cores up to cores", "1.00 at 1 to 2.00 at 4.")]
        {
            let text = format!(
                "lines over n: n, ticks 1 4\ny: rate\ndiagonal {diagonal}\nours = demo.rate\n> A rate."
            );
            let drawing = read(&text)?.draw(&records)?;
            assert!(drawing.alt.ends_with(alt), "{}", drawing.alt);
        }
        // It bends at two cores, also where nothing was measured at two.
        for (most, along) in [
            (None, &[(1.0, 1.0), (4.0, 4.0)][..]),
            (Some(2.0), &[(1.0, 1.0), (2.0, 2.0), (4.0, 2.0)]),
            (Some(8.0), &[(1.0, 1.0), (4.0, 4.0)]),
        ] {
            let limits = Limits::Diagonal("cores".to_owned(), most);
            let lines = vec![("ours".to_owned(), RATE.at(&[]))];
            let plot = Lines { over: "n", lines, limits, ..Lines::default() }.plot(&records)?;
            assert_eq!(plot.limits[0].points, along, "{most:?}");
        }
        Ok(())
    }

    #[test]
    fn a_table_has_a_row_for_each_value_and_columns_across() -> Result<()> {
        let text = "with who=ours\neach n: 32, 64, 128\nacross who: ours, theirs \"a library\"\nn | \"{n}\"\n\
                    {who} | demo.rate who={who} n={n} or \"none\"\nof the peak | demo.rate n={n} of-limit\n\
                    range | demo.rate n={n} range\nshare, seed | demo.share @seed\nsamples | demo.rate n={n} samples\n> All.";
        let table = read(text)?.table(&records())?;
        let head = "n | ours | a library | of the peak | range | share, seed | samples";
        assert_eq!(table.head.join(" | "), head);
        let first =
            "32 | 1.00 GFLOP/s | 500 MFLOP/s | 25.0% | 1.00 GFLOP/s to 1.50 GFLOP/s | 7 | 3";
        assert_eq!(table.rows[0].join(" | "), first);
        assert_eq!(table.rows[1][2], "none");
        assert_eq!(table.rows[2][1..4], ["none", "none", "–"]);
        let why = "filled\neach n: 32, 64\nn | \"{n}\"\nwhy | demo.rate who=theirs n={n} or-why\nnone | demo.share who=no\n> All.";
        let why = read(why)?.table(&records())?;
        assert_eq!(why.head, ["n", "why"], "a column of dashes is none");
        assert_eq!(why.rows, [["32", "500 MFLOP/s"], ["64", "it is not installed"]]);
        let present = read(&format!("present\n{text}"))?.table(&records())?;
        assert_eq!(present.rows.len(), 3, "the share has no n");
        let text =
            "present\neach n: 32, 64, 128\nn | \"{n}\"\nours | demo.rate who=ours n={n}\n> All.";
        assert_eq!(read(text)?.table(&records())?.rows.len(), 2);
        let text = "words who: theirs \"a library\", ours \"none\"\neach who, n: *\nwho | \"{who}\"\nof | demo.rate who={who} n={n}\n\
                    share | demo.share percent=0\npoints | demo.share points\n> All.";
        let rows = read(text)?.table(&records())?.rows;
        assert_eq!(rows[0], ["none", "2.00 GFLOP/s", "25%", "+25.0 points"]);
        assert_eq!(rows[2], ["a library", "500 MFLOP/s", "25%", "+25.0 points"]);
        let text = "each who, n: ours 32 \"this, small\", theirs 32\nwho | \"{who} {n}\"\nrate | demo.rate who={who} n={n}\n> All.";
        let heads = read(text)?.table(&records())?.rows.into_iter().map(|row| row[0].clone());
        assert_eq!(heads.collect::<Vec<_>>(), ["this, small 32", "theirs 32"]);
        Ok(())
    }

    #[test]
    fn what_is_not_measured_or_left_out_is_not_drawn() -> Result<()> {
        let fence = read("bars: rate\ntheirs = demo.rate who=theirs n=64\n> A rate.")?;
        assert!(matches!(fence.draw(&records()), Err(Error::Skipped { .. })));
        assert!(matches!(fence.draw(&testing::unmeasured()), Err(Error::NotMeasured { .. })));
        let caption =
            read("bars: rate\nours = demo.rate who=ours n=64\n> {demo.rate who=theirs n=64}.")?;
        assert!(matches!(caption.draw(&records()), Err(Error::Skipped { .. })));
        // Nor are lists of what was recorded, or is present, where nothing is.
        for each in ["each n: *", "present\neach n: 64"] {
            let table = read(&format!("{each}\nrate | demo.rate who=theirs n={{n}}\n> Rates."))?;
            assert!(matches!(table.table(&testing::unmeasured()), Err(Error::NotMeasured { .. })));
        }
        Ok(())
    }

    #[test]
    fn a_fence_that_is_wrong_says_where() {
        for (text, why) in [
            (
                "bars: rate\nours = demo.gone\n> A.",
                "`ours = demo.gone`: no experiment declares `demo.gone`",
            ),
            ("bars: rate\nours = demo.rate m=1\n> A.", "has no parameter `m`; it has who, n"),
            ("bars: rate\nours = demo.rate who\n> A.", "`who` is not `name=value`"),
            ("bars: rate\nours = demo.rate", "the finding is missing"),
            ("bars: rate\n> A.", "nothing is shown"),
            ("bars:\nours = demo.rate\n> A.", "an axis needs a label"),
            ("bars: rate, sideways\nours = demo.rate\n> A.", "no option `sideways`"),
            ("bars: rate\nsome words\n> A.", "`some words`: it is neither"),
            ("lines over n: n\nours = demo.rate\n> A.", "lines need `y: LABEL`"),
            ("lines over m: n\ny: rate\nours = demo.rate\n> A.", "has no parameter `m`"),
            ("each who, n: ours\nn | \"{n}\"\n> A.", "`ours` is not 2 values"),
            ("y: rate\nours = demo.rate\n> A.", "`y:` belongs to lines"),
            ("bars: rate\nours = max demo.rate\n> A.", "a quantity as it is"),
            ("lines over n: n\ny: rate\nours = demo.rate apart\n> A.", "a quantity as it is"),
            ("bars: rate\nlimit it = one\nours = demo.rate\n> A.", "no experiment declares `one`"),
            ("bars: rate\nlimits\nlimit it = 1\nours = demo.rate\n> A.", "exclude each other"),
            ("bars: rate\ndiagonal ideal\nours = demo.rate\n> A.", "`diagonal` to lines"),
            ("limits\nours | demo.rate\n> A.", "belong to what is drawn"),
            ("bars: rate\nours = demo.rate\n> {demo.gone}.", "no experiment declares `demo.gone`"),
            ("bars: rate\nours = demo.rate\n> {demo.rate.", "has no `}`"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
