//! What a run writes down: a line, a point of the curves, a sample and a checkpoint from time to time.

use crate::{
    Error, Result,
    count::{Operations, Parameters},
    generate::{Decoder, Sampling, generate},
    product::Numbers,
    runner::{
        checkpoint::{self, Log, Point},
        text::Text,
    },
    train::{Flow, Reporter, Settings, Step, Trainer, validation},
};
use lab::{
    Unit,
    plot::{Axis, Scale},
    progress::Progress,
    run::{Folder, Kept, METRICS, MODEL, Part, TOKENIZER, curves::lines},
};
use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

/// Points of a run, evenly spread.
pub(crate) const POINTS: u64 = 20;
/// Times that a run by the clock is planned anew.
const PLANS: f64 = 20.0;
/// Windows of the validation text that a point reads.
const WINDOWS: usize = 64;
/// Tokens of a sample.
const SAMPLE: usize = 100;
/// The bar says something new this often.
const NOTE: Duration = Duration::from_millis(500);

/// Follows a run and writes it down.
pub struct Report<'s> {
    kept: Kept,
    text: &'s Text,
    progress: Progress,
    stop: &'s mut dyn FnMut() -> bool,
    /// What is written down.
    log: Log,
    /// When the log's seconds were read.
    read: Instant,
    /// Whether a checkpoint is due by the clock.
    late: bool,
    noted: Instant,
    /// Operations a second that the cores can do, if they take the steps.
    peak: Option<f64>,
    /// Step and seconds of the last plan, and the run's steps by it until they are asked for.
    pace: (u64, f64),
    planned: Option<u64>,
}

impl<'s> Report<'s> {
    /// A report in the run's folder, which is made whole: of a run that begins, or of one that goes on with what it has
    /// written down, on this device. A checkpoint is written `every` so often at least. Rates are compared with `peak`, in
    /// operations a second.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn new(
        (folder, text, trainer): (Folder, &'s Text, &Trainer),
        log: Option<Log>,
        (device, every): (&str, Duration),
        progress: Progress,
        peak: Option<f64>,
        stop: &'s mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let part = Part::begins(trainer.step, device, &text.about);
        let begins = log.is_none();
        let mut log = log.unwrap_or_else(|| Log::new(text));
        let kept = Kept::open(folder, &mut log.journal, part, every)?;
        let (read, noted) = (Instant::now(), Instant::now());
        let (late, pace, planned) = (false, (0, 0.0), None);
        let mut report =
            Self { kept, text, progress, stop, log, read, late, noted, peak, pace, planned };
        if begins {
            report.save(trainer)?;
        } else {
            report.derive(trainer)?;
        }
        Ok(report)
    }

    /// The points of the run, after its last files are written.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn end(mut self, trainer: &Trainer, flow: Flow) -> Result<Vec<Point>> {
        match flow {
            Flow::Stopped => {
                self.lap(true);
                self.save(trainer)?;
            }
            // A plan may have ended the run before its next point.
            Flow::Finished if self.log.losses.1 > 0 => self.point(trainer)?,
            Flow::Finished => {}
        }
        self.progress.finish();
        Ok(self.log.points)
    }

    /// Whether somebody looks at the model after this step. By the clock alone it can wait for steps that are begun.
    pub(crate) fn looks(&mut self, settings: &Settings, step: u64, none_begun: bool) -> bool {
        self.late &= none_begun;
        due(settings, step) || self.late
    }

    /// The next step after `step` ones whose model somebody looks at, or which is waited for by a checkpoint or a plan.
    pub(crate) fn next_look(&self, settings: &Settings, step: u64) -> u64 {
        let waits = self.late || self.planned.is_some();
        (step + 1..settings.steps).find(|at| waits || due(settings, *at)).unwrap_or(settings.steps)
    }

    /// Seconds of the run so far.
    fn seconds(&self) -> f64 {
        self.log.seconds + self.read.elapsed().as_secs_f64()
    }

    /// Brings the log's seconds to this moment, as seconds of steps or of something else.
    fn lap(&mut self, steps: bool) {
        let seconds = self.read.elapsed().as_secs_f64();
        self.read = Instant::now();
        self.log.seconds += seconds;
        self.log.training += if steps { seconds } else { 0.0 };
    }

    /// Adds to the curves.
    fn note(&mut self, step: u64, points: &[(&str, f64)]) -> Result<()> {
        Ok(self.kept.note(&mut self.log.journal, step, points)?)
    }

    /// A point: tests the model, lets it write, and stores everything.
    fn point(&mut self, trainer: &Trainer) -> Result<()> {
        self.lap(true);
        let (loss, steps) = std::mem::take(&mut self.log.losses);
        let training = std::mem::take(&mut self.log.training).max(1e-9);
        let (validation, sample) = test(trainer, self.text)?;
        let point = Point {
            step: trainer.step,
            tokens: trainer.step * trainer.tokens() as u64,
            seconds: self.log.seconds,
            loss: loss / steps as f64,
            validation,
            bits_per_byte: self.text.bits_per_byte(validation),
            tokens_per_second: (steps * trainer.tokens() as u64) as f64 / training,
            lr: trainer.last_rate(),
            sample,
        };
        self.show(trainer, &point);
        let curves = [
            ("loss/train", point.loss),
            ("loss/validation", point.validation),
            ("bits_per_byte", point.bits_per_byte),
            ("tokens_per_second", point.tokens_per_second),
        ];
        self.note(point.step, &curves)?;
        self.log.points.push(point);
        self.lap(false);
        self.save(trainer)
    }

    /// The checkpoint, and then what follows from it.
    fn save(&mut self, trainer: &Trainer) -> Result<()> {
        // The steps since the last test have not been tested.
        learns(trainer, self.log.losses.0 / self.log.losses.1.max(1) as f64)?;
        checkpoint::save(self.kept.folder.path(), trainer, &self.log)?;
        self.derive(trainer)?;
        self.lap(false);
        Ok(())
    }

    /// What follows from the checkpoint: tokenizer, model, metrics and curves; each file is whole at every moment.
    fn derive(&mut self, trainer: &Trainer) -> Result<()> {
        let Log { journal, points, .. } = &self.log;
        let folder = self.kept.folder.path();
        self.text.tokenizer.save(&folder.join(TOKENIZER))?;
        if trainer.step > 0 {
            trainer.model().save(&folder.join(MODEL))?; // one that has learned nothing is of no use
        }
        let about = serde_json::json!({
            "model": "gpt",
            "config": trainer.config,
            "settings": trainer.settings,
            "parameters": Parameters::of(&trainer.config).all(),
        });
        Ok(self.kept.derive(journal, about, points, || curves(points))?)
    }

    fn show(&self, trainer: &Trainer, point: &Point) {
        self.progress.println(&format!(
            "step {}: {:.2} million tokens, loss {:.3}, validation {:.3}, {:.2} bits per byte; {}",
            point.step,
            point.tokens as f64 / 1e6,
            point.loss,
            point.validation,
            point.bits_per_byte,
            self.rate(trainer, point.tokens_per_second),
        ));
        // The first changes are the largest: samples at 1, 2, 4 … points, and the last.
        if (self.log.points.len() + 1).is_power_of_two() || point.step == trainer.settings.steps {
            for line in point.sample.lines().take(8) {
                self.progress.println(&format!("    {line}"));
            }
        }
    }

    fn rate(&self, trainer: &Trainer, tokens_per_second: f64) -> String {
        let (config, length) = (&trainer.config, trainer.settings.length);
        let flops = Operations::of(config, length).training() * tokens_per_second;
        let rate = Unit::TokensPerSecond.format(tokens_per_second);
        match self.peak {
            Some(peak) => format!("{rate}, {:.0}% of the peak", 100.0 * flops / peak),
            None => rate,
        }
    }
}

impl Reporter for Report<'_> {
    fn begin(&mut self, trainer: &Trainer) {
        let (config, settings) = (&trainer.config, &trainer.settings);
        if let Some(note) = &self.text.note {
            self.progress.println(&format!("note: {note}"));
        }
        self.progress.println(&format!("text: {}", self.text.about));
        self.progress.println(&format!(
            "gpt: {:.2} million parameters ({} layers of {}, {} heads, {} tokens known), context {}, batch {}, {}{} steps, {:.1} million \
             tokens, learning rate {:.1e}, seed {}{}",
            Parameters::of(config).all() as f64 / 1e6,
            config.layers,
            config.width,
            config.heads,
            config.vocabulary,
            settings.length,
            settings.batch,
            if settings.seconds.is_some() { "about " } else { "" },
            settings.steps,
            settings.steps as f64 * trainer.tokens() as f64 / 1e6,
            settings.lr,
            settings.seed,
            match settings.numbers {
                Numbers::F32 => "",
                Numbers::Bf16 => ", products of bf16",
                Numbers::F16 => ", products of f16 with a loss scale",
            },
        ));
        if trainer.step > 0 {
            self.progress.println(&format!("going on after step {}", trainer.step));
            self.progress.inc(trainer.step);
        }
        self.read = Instant::now();
        self.pace = (trainer.step, self.seconds());
    }

    fn step(&mut self, trainer: &Trainer, step: &Step) -> Result<()> {
        self.progress.inc(1);
        self.kept.step(&mut self.log.journal);
        self.log.losses = (self.log.losses.0 + step.loss, self.log.losses.1 + 1);
        self.note(step.step, &[("loss/step", step.loss)])?;
        if due(&trainer.settings, step.step) {
            self.point(trainer)?;
        } else if self.late {
            self.lap(true);
            self.save(trainer)?;
        }
        self.late = self.kept.is_late();
        if self.noted.elapsed() > NOTE {
            let (loss, steps) = self.log.losses;
            if steps > 0 {
                let tokens = (steps * trainer.tokens() as u64) as f64;
                let seconds = self.log.training + self.read.elapsed().as_secs_f64();
                let rate = self.rate(trainer, tokens / seconds);
                self.progress.note(&format!("loss {:.3}, {rate}", loss / steps as f64));
            }
            self.noted = Instant::now();
        }
        let now = (step.step, self.seconds());
        if let Some(seconds) = trainer.settings.seconds
            && step.step < trainer.settings.steps
            && now.1 - self.pace.1 >= seconds / PLANS
        {
            self.planned = Some(fitting(self.pace, now, seconds));
            self.pace = now;
        }
        Ok(())
    }

    fn plan(&mut self) -> Option<u64> {
        let steps = self.planned.take();
        self.progress.set_len(steps);
        steps
    }

    fn stop(&mut self) -> bool {
        (self.stop)()
    }
}

/// Whether a run has a point after this step.
pub(crate) fn due(settings: &Settings, step: u64) -> bool {
    step.is_multiple_of(settings.steps.div_ceil(POINTS)) || step == settings.steps
}

/// Steps of a run of so many seconds that goes on as fast as between two moments: step and seconds of each.
pub fn fitting(before: (u64, f64), now: (u64, f64), seconds: f64) -> u64 {
    let each = (now.1 - before.1) / (now.0 - before.0).max(1) as f64;
    now.0.saturating_add(((seconds - now.1) / each).max(0.0) as u64)
}

/// How much more than a guess among all tokens a model may lose, before it has learned anything.
const WORSE: f64 = 1.1;

/// Refuses a model that is worse than that: it has diverged, and must not replace a good one.
fn learns(trainer: &Trainer, found: f64) -> Result<()> {
    let fine = found <= WORSE * (trainer.config.vocabulary as f64).ln();
    let (step, lr) = (trainer.step, trainer.last_rate());
    fine.then_some(()).ok_or(Error::Diverged { step, lr, what: "the loss", found })
}

/// The loss on the validation text, and what the model writes from nothing, always by the same chance.
pub(crate) fn test(trainer: &Trainer, text: &Text) -> Result<(f64, String)> {
    let length = trainer.settings.length.min(text.validation.len().saturating_sub(1));
    let model = trainer.model();
    let of = |stream: &[u32]| validation::loss(&model, stream, length, WINDOWS, 0);
    let loss = of(&text.validation)?;
    // One that has learned a text by heart may be sure of what is wrong in another, and has not diverged.
    let doubtful = loss.is_finite() && learns(trainer, loss).is_err();
    learns(trainer, if doubtful { of(&text.training)? } else { loss })?;
    let decoder = Decoder::new(&model.config, &model.parameters)?;
    let go_on = |_: &str| ControlFlow::Continue(());
    let sample = generate(&decoder, &text.tokenizer, b"", SAMPLE, Sampling::default(), go_on)?;
    Ok((loss, sample.text))
}

/// The points that a run's metrics have.
pub(crate) fn read(run: &Path) -> Vec<Point> {
    let text = fs::read_to_string(run.join(METRICS)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Both losses over the tokens, as a figure.
fn curves(points: &[Point]) -> String {
    let of = |loss: fn(&Point) -> f64| -> Vec<_> {
        points.iter().map(|point| (point.tokens as f64 / 1e6, loss(point))).collect()
    };
    let both = [("training", of(|point| point.loss)), ("validation", of(|point| point.validation))];
    lines(Axis::new("million tokens", Scale::Linear), "loss (nats a token)", both)
}
