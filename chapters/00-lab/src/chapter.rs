//! A chapter as the course's command sees it: experiments that leave records, and the figures and
//! tables that are made from them.

use crate::{
    Device, Error, Key, Plan, Result, Samples,
    key::Quantity,
    machine::Provenance,
    measure, names,
    progress::Progress,
    record::{ParamList, Records, Run, Skipped, Value, is_below, params},
};
use std::{
    borrow::Borrow,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// A chapter: what it measures, what it draws.
#[derive(Default)]
pub struct Chapter {
    /// The number in the book.
    pub number: u32,
    /// The crate's name, and that of the record file: `matmul`.
    pub name: &'static str,
    /// The title of the page.
    pub title: &'static str,
    /// In the order in which `measure` runs them.
    pub experiments: Vec<Experiment>,
    /// Figures made from records.
    pub figures: Vec<Figure>,
    /// Tables made from records.
    pub tables: Vec<Table>,
}

impl Chapter {
    /// Its folder under `chapters` and under `book/src`: `01-matmul`.
    pub fn folder(&self) -> String {
        format!("{:02}-{}", self.number, self.name.replace('_', "-"))
    }

    /// A chapter of these parts, in their order.
    pub fn of(
        number: u32,
        name: &'static str,
        title: &'static str,
        parts: impl IntoIterator<Item = Part>,
    ) -> Self {
        let mut all = Self { number, name, title, ..Self::default() };
        for part in parts {
            all.experiments.extend(part.experiments);
            all.figures.extend(part.figures);
            all.tables.extend(part.tables);
        }
        all
    }
}

/// What a part of a chapter measures and shows.
#[derive(Default)]
pub struct Part {
    /// Its experiments.
    pub experiments: Vec<Experiment>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its tables.
    pub tables: Vec<Table>,
}

/// Something to find out by running it.
pub struct Experiment {
    /// `chapter.name`, such as `matmul.ladder`. Its values have this key or keys below it.
    pub key: &'static str,
    /// One sentence that says what it shows.
    pub shows: &'static str,
    /// Keys of the values that it may leave; a page that names any other does not build.
    pub values: &'static [Key],
    /// Whether the quick budget of `open` includes it.
    pub quick: bool,
    /// Runs it.
    pub run: fn(&mut Recorder) -> Result<()>,
}

impl Experiment {
    /// The key of this name, if the experiment declares it.
    pub fn declared(&self, name: &str) -> Option<&'static Key> {
        self.values.iter().find(|key| key.name == name)
    }
}

/// A list of experiments, two lines each: `quick` or `full` for the budget from which it runs, its key, the keys of its values,
/// the function, and what it shows.
#[macro_export]
macro_rules! experiments {
    (@quick quick) => { true };
    (@quick full) => { false };
    ($($budget:ident $key:expr => $values:expr, $run:expr, $shows:expr;)*) => {
        vec![$($crate::Experiment {
            key: $key,
            shows: $shows,
            values: $values,
            quick: $crate::experiments!(@quick $budget),
            run: $run,
        }),*]
    };
}

/// A figure made from one machine's records.
pub struct Figure {
    /// The name that a page quotes: `{{#figure matmul.ladder}}`.
    pub key: &'static str,
    /// Draws it, or fails with [`Error::NotMeasured`] or [`Error::Skipped`].
    pub draw: fn(&Records) -> Result<Drawing>,
}

/// A drawn figure.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// The figure, in the theme's colours (see [`crate::plot`]).
    pub svg: String,
    /// The same for a phone; empty if the figure suits any width.
    pub narrow: String,
    /// Both on the other scale of the axis, if the reader may choose.
    pub other: Option<[String; 2]>,
    /// The finding, in one sentence. Numbers in it come from the records.
    pub caption: String,
    /// What a reader who can't see the figure needs to know.
    pub alt: String,
}

/// A table made from one machine's records.
pub struct Table {
    /// The name that a page quotes: `{{#table matmul.sizes}}`.
    pub key: &'static str,
    /// Makes it, or fails like [`Figure::draw`].
    pub make: fn(&Records) -> Result<TableData>,
}

/// A table's cells, as plain text.
#[derive(Clone, Debug, Default)]
pub struct TableData {
    /// The finding, in one sentence.
    pub caption: String,
    /// The heads of the columns.
    pub head: Vec<String>,
    /// The rows; the first cell of each names it.
    pub rows: Vec<Vec<String>>,
}

crate::named! {
    /// How much time measuring may take.
    pub enum Budget("budget") {
        /// About a minute for the course so far.
        Quick = "quick",
        /// As long as good figures need.
        Full = "full",
    }
}

impl Budget {
    /// The measuring plan that goes with it.
    pub fn plan(self) -> Plan {
        match self {
            Self::Quick => Plan::QUICK,
            Self::Full => Plan::FULL,
        }
    }
}

/// What an experiment writes its values into.
pub struct Recorder<'a> {
    /// How much time there is.
    pub budget: Budget,
    /// The device to measure on.
    pub device: Device,
    /// Where the reader keeps the data set, if given (`--data`, `MNIST_DIR`).
    pub data: Option<PathBuf>,
    /// The experiment that runs.
    experiment: &'a Experiment,
    progress: &'a Progress,
    values: Vec<Value>,
    skipped: Vec<Skipped>,
    /// Given what is there so far, when the experiment asks for it.
    keeper: Option<Mutex<&'a mut Keeper<'a>>>,
}

/// What takes the values and the omissions of an experiment that is not at its end.
type Keeper<'a> = dyn FnMut(&[Value], &[Skipped]) -> Result<()> + Send + 'a;

impl<'a> Recorder<'a> {
    /// A recorder for one run of `experiment`.
    pub fn new(
        experiment: &'a Experiment,
        budget: Budget,
        device: Device,
        progress: &'a Progress,
    ) -> Self {
        Self {
            budget,
            device,
            data: None,
            experiment,
            progress,
            values: Vec::new(),
            skipped: Vec::new(),
            keeper: None,
        }
    }

    /// Has the record written with what is there so far. For an experiment of minutes on a device that may fail: what it
    /// has measured before is then not lost.
    ///
    /// # Errors
    /// Those of writing.
    pub fn keep(&mut self) -> Result<()> {
        match &mut self.keeper {
            Some(keeper) => {
                let keeper = keeper.get_mut().unwrap_or_else(PoisonError::into_inner);
                keeper(&self.values, &self.skipped)
            }
            None => Ok(()),
        }
    }

    /// Records samples: the record keeps [`KEPT`](crate::record::KEPT) of them. Returns the median, which is that of all.
    ///
    /// # Panics
    /// If the experiment does not declare the key, or records the same quantity twice: both are bugs in the
    /// experiment.
    pub fn record(&mut self, quantity: Quantity, samples: Samples) -> f64 {
        self.declared(quantity.key().name);
        let value = quantity.value(samples).thinned(crate::record::KEPT);
        assert!(
            !self.values.iter().any(|old| old.key == value.key && old.params == value.params),
            "experiment {} records {} twice",
            self.experiment.key,
            crate::record::name(&value.key, &value.params)
        );
        let median = value.median;
        self.progress.value(&value);
        self.values.push(value);
        median
    }

    /// Says that nothing of what the experiment declares can be measured here, and why: `this CPU has no AMX`.
    pub fn skip_all(&mut self, list: ParamList, why: impl Into<String>) {
        let why = why.into();
        for key in self.experiment.values {
            let key = key.name.to_owned();
            self.skipped.push(Skipped { key, params: params(list), why: why.clone() });
        }
    }

    /// Says that a quantity can't be measured here, and why: `this CPU has no AMX`.
    pub fn skip_at(&mut self, quantity: Quantity, why: impl Into<String>) {
        self.declared(quantity.key().name);
        self.skipped.push(quantity.skipped(why));
    }

    fn declared(&self, key: &str) {
        assert!(
            is_below(key, self.experiment.key) && self.experiment.declared(key).is_some(),
            "experiment {} does not declare the value {key}",
            self.experiment.key
        );
    }

    /// Tells the person who waits what is being measured now.
    pub fn note(&self, key: &str, list: ParamList) {
        self.progress.note(&crate::record::name(key, &params(list)));
    }

    /// What the run has left.
    pub fn finish(self) -> (Vec<Value>, Vec<Skipped>) {
        (self.values, self.skipped)
    }

    /// [`Recorder::record`] of one sample.
    pub fn one(&mut self, quantity: Quantity, value: f64) -> f64 {
        self.record(quantity, Samples::one(value))
    }

    /// Records what was found, or leaves it out for the reason that there is none.
    ///
    /// # Errors
    /// Any other than [`Error::Skipped`].
    pub fn record_or_skip(&mut self, quantity: Quantity, found: Result<Samples>) -> Result<()> {
        match found {
            Ok(samples) => {
                self.record(quantity, samples);
            }
            Err(Error::Skipped { why, .. }) => self.skip_at(quantity, why),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether the quantity has been measured, or left out with a reason.
    pub fn has(&self, quantity: &Quantity) -> bool {
        let Skipped { key, params, .. } = quantity.clone().skipped("");
        self.values.iter().any(|value| value.key == key && value.params == params)
            || self.skipped.iter().any(|skipped| skipped.key == key && skipped.params == params)
    }

    /// Tells the person who waits what is being measured now.
    pub fn note_at(&self, quantity: impl Borrow<Quantity>) {
        self.progress.note(&quantity.borrow().to_string());
    }

    /// Times `work` by the budget's plan and records the seconds of one call. Returns the median.
    pub fn time(&mut self, quantity: Quantity, work: impl FnMut()) -> f64 {
        self.note_at(&quantity);
        let samples = measure::time(self.budget.plan(), work);
        self.record(quantity, samples)
    }

    /// Times `work`, which does `amount` (operations, bytes, images) in each call, and records the rate. Returns the
    /// median.
    pub fn time_rate(&mut self, quantity: Quantity, amount: f64, work: impl FnMut()) -> f64 {
        self.note_at(&quantity);
        let samples = measure::time(self.budget.plan(), work).map(|seconds| amount / seconds);
        self.record(quantity, samples)
    }
}

impl Run {
    /// A run by this build at this moment, which has left nothing yet.
    pub fn now(experiment: &Experiment, budget: Budget) -> Self {
        let Provenance { command, date, commit, rustc, flags } = Provenance::now();
        let (experiment, budget) = (experiment.key.to_owned(), budget.name().to_owned());
        Self { experiment, command, date, commit, budget, rustc, flags, ..Self::default() }
    }
}

/// Runs one experiment and returns what it left, with the command, the date, the commit and the compiler.
/// `data` is where the reader keeps the data set, if given. Whenever the experiment says [`Recorder::keep`], `keep` is given
/// what it has left so far.
///
/// # Errors
/// Whatever the experiment fails with, and those of `keep`.
pub fn run_keeping(
    experiment: &Experiment,
    budget: Budget,
    device: Device,
    data: Option<&Path>,
    progress: &Progress,
    keep: &mut (dyn FnMut(Run) -> Result<()> + Send),
) -> Result<Run> {
    let of = Run::now(experiment, budget);
    let mut keeper = |values: &[Value], skipped: &[Skipped]| {
        let (values, skipped) = (values.to_vec(), skipped.to_vec());
        keep(Run { unfinished: true, values, skipped, ..of.clone() })
    };
    let mut recorder = Recorder::new(experiment, budget, device, progress);
    recorder.data = data.map(Path::to_owned);
    recorder.keeper = Some(Mutex::new(&mut keeper));
    (experiment.run)(&mut recorder)?;
    let (values, skipped) = recorder.finish();
    Ok(Run { values, skipped, ..of })
}

/// Looks a chapter up by number, name or folder (`1`, `matmul`, `01-matmul`), or by the beginning of one.
///
/// # Errors
/// [`Error::Message`] that lists chapters.
pub fn named<'c>(chapters: &'c [Chapter], name: &str) -> Result<&'c Chapter> {
    let folders: Vec<String> = chapters.iter().map(Chapter::folder).collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    Ok(&chapters[names::chapter("chapter", name, &folders)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Unit, record::Limit};

    const TIME: Key = Key::measured("some.thing", Unit::Seconds, &["n"]);
    const RATE: Key = Key::measured("some.thing.more", Unit::BytesPerSecond, &["n"]);
    const OTHER: Key = Key::counted("other.key", Unit::Count, &[]);
    const EXPERIMENT: Experiment = Experiment {
        key: TIME.name,
        shows: "a thing",
        values: &[TIME, RATE, OTHER],
        quick: true,
        run: |recorder| {
            let n = recorder.data.as_ref().map_or(1, |path| path.as_os_str().len());
            recorder.time(TIME.at(&[("n", &n)]), || {});
            let limit = Limit { name: "a limit".to_owned(), value: 1e30 };
            recorder.time_rate(RATE.at(&[("n", &n)]).against(limit), 8.0, || {
                std::thread::sleep(std::time::Duration::from_micros(10));
            });
            recorder.skip_at(RATE.at(&[("n", &0)]), "nothing is there");
            Ok(())
        },
    };

    fn recorder<'a>(experiment: &'a Experiment, progress: &'a Progress) -> Recorder<'a> {
        Recorder::new(experiment, Budget::Quick, Device::Cpu, progress)
    }

    fn kept(
        experiment: &Experiment,
        data: Option<&Path>,
        keep: &mut (dyn FnMut(Run) -> Result<()> + Send),
    ) -> Result<Run> {
        run_keeping(experiment, Budget::Quick, Device::Cpu, data, &Progress::hidden(), keep)
    }

    #[test]
    fn a_run_holds_what_was_measured_what_was_not_and_where_it_comes_from() {
        let run = kept(&EXPERIMENT, Some(Path::new("four")), &mut |_| Ok(())).unwrap();
        assert_eq!((run.experiment.as_str(), run.budget.as_str()), ("some.thing", "quick"));
        assert!(!run.rustc.is_empty() && !run.flags.is_empty() && !run.commit.is_empty());
        let [time, rate] = &run.values[..] else { panic!("{:?}", run.values) };
        assert_eq!((time.key.as_str(), time.unit), ("some.thing", Unit::Seconds));
        assert_eq!(time.params["n"], "4");
        assert!(time.samples.0.len() >= Budget::Quick.plan().min_samples);
        // Eight bytes in ten microseconds or more.
        assert!(rate.median > 0.0 && rate.median <= 8e5, "{rate:?}");
        assert!(rate.of_limit().is_some_and(|share| share < 1e-20));
        assert_eq!(run.skipped[0].why, "nothing is there");
    }

    #[test]
    fn what_is_measured_or_left_out_is_known() {
        let progress = Progress::hidden();
        let mut recorder = recorder(&EXPERIMENT, &progress);
        recorder.record(TIME.at(&[("n", &1)]), Samples::one(1.0));
        recorder.skip_at(RATE.at(&[("n", &2)]), "none here");
        let has = [TIME.at(&[("n", &1)]), RATE.at(&[("n", &2)]), TIME.at(&[("n", &2)])]
            .map(|quantity| recorder.has(&quantity));
        assert_eq!(has, [true, true, false]);
    }

    #[test]
    fn what_is_measured_before_a_failure_is_kept() {
        let failing = Experiment {
            run: |recorder| {
                recorder.time(TIME.at(&[("n", &1)]), || {});
                recorder.keep()?;
                recorder.time(TIME.at(&[("n", &2)]), || {});
                Err(Error::message("the device is gone"))
            },
            ..EXPERIMENT
        };
        let mut left = Vec::new();
        let mut keep = |run| {
            left.push(run);
            Ok(())
        };
        let error = kept(&failing, None, &mut keep).unwrap_err();
        assert_eq!(error.to_string(), "the device is gone");
        let [run] = &left[..] else { panic!("{left:?}") };
        assert_eq!((run.experiment.as_str(), run.values.len()), ("some.thing", 1));
        // Nothing keeps a recorder that is not part of a run.
        recorder(&EXPERIMENT, &Progress::hidden()).keep().unwrap();
    }

    #[test]
    fn a_mistake_of_an_experiment_is_told() {
        const ELSE: Key = Key::counted("some.thing.else", Unit::Count, &[]);
        for (keys, said) in [
            ([TIME, ELSE], "does not declare the value some.thing.else"),
            ([TIME, OTHER], "does not declare the value other.key"),
            ([TIME, TIME], "records some.thing twice"),
        ] {
            let wrong = std::panic::catch_unwind(|| {
                let progress = Progress::hidden();
                let mut recorder = recorder(&EXPERIMENT, &progress);
                for key in keys {
                    recorder.record(key.at(&[]), Samples::one(1.0));
                }
            });
            let why = *wrong.unwrap_err().downcast::<String>().unwrap();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn a_chapter_is_found_by_number_name_and_folder() {
        let chapters =
            [(1, "matmul"), (2, "cpu_gpu")].map(|(number, name)| Chapter::of(number, name, "", []));
        for (asked, found) in [
            ("1", "matmul"),
            ("matmul", "matmul"),
            ("01-matmul", "matmul"),
            ("cpu-gpu", "cpu_gpu"),
            ("02-cpu_gpu", "cpu_gpu"),
            ("2-c", "cpu_gpu"),
            ("ma", "matmul"),
        ] {
            assert_eq!(named(&chapters, asked).map(|c| c.name).unwrap(), found, "{asked}");
        }
        let Err(error) = named(&chapters, "3") else { panic!("there is no chapter 3") };
        assert_eq!(error.to_string(), "there is no chapter `3`; choose 01-matmul or 02-cpu-gpu");
    }
}
