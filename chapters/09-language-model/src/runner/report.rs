//! What a run writes down: a line, a point of the curves, a sample and a checkpoint from time to time.

use crate::{
    Error, Model, Result, Tokenizer,
    count::Operations,
    generate::{Decoder, Sampling, generate},
    product::Numbers,
    runner::text::Text,
    train::{Reporter, Settings, Step, Trainer, validation},
};
use lab::{
    Unit,
    machine::{Machine, Provenance},
    plot::{Axis, LinePlot, Scale, Series},
    progress::Progress,
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use training::runner::{
    events::{self, EventFile, now},
    files::{CHECKPOINT, CURVES, METRICS, MODEL, write_whole},
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

/// What a run has reached at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps taken.
    pub step: u64,
    /// Tokens read.
    pub tokens: u64,
    /// Seconds of the run so far: of training, of earlier points, and of the parts before it was gone on with.
    pub seconds: f64,
    /// Mean loss of the steps since the point before, in nats a token.
    pub loss: f64,
    /// Loss on the validation text, in nats a token.
    pub validation: f64,
    /// The same in bits for each byte of the text.
    pub bits_per_byte: f64,
    /// Tokens a second since the point before.
    pub tokens_per_second: f64,
    /// The learning rate.
    pub lr: f64,
    /// What the model writes from nothing.
    pub sample: String,
}

/// Follows a run and writes it down.
pub struct Report<'s> {
    folder: PathBuf,
    text: &'s Text,
    progress: Progress,
    stop: &'s mut dyn FnMut() -> bool,
    /// The first line of the metrics.
    about: String,
    points: Vec<Point>,
    events: EventFile,
    problem: Option<Error>,
    /// Losses since the last point, and when that was.
    losses: (f64, u64),
    began: Instant,
    /// When the last point's seconds were read.
    read: Instant,
    noted: Instant,
    /// Operations a second that the cores can do, if they take the steps.
    peak: Option<f64>,
    /// Step and seconds of the last plan, and the run's steps by it until they are asked for.
    pace: (u64, f64),
    planned: Option<u64>,
    /// The last step's learning rate.
    lr: f64,
}

impl<'s> Report<'s> {
    /// A report in the run's folder, with the points of the run's earlier parts. Rates are compared with `peak`, in operations a
    /// second.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn new(
        folder: &Path,
        text: &'s Text,
        trainer: &Trainer,
        progress: Progress,
        peak: Option<f64>,
        stop: &'s mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let (about, mut points) = read(&folder.join(METRICS)).unwrap_or_default();
        points.retain(|point| point.step <= trainer.step);
        let resumed = (!events::files(folder).is_empty()).then_some(trainer.step + 1);
        let report = Self {
            folder: folder.to_owned(),
            text,
            progress,
            stop,
            about: if about.is_empty() { self::about(trainer, text) } else { about },
            points,
            events: EventFile::create(folder, now(), resumed)?,
            problem: None,
            losses: (0.0, 0),
            began: Instant::now(),
            read: Instant::now(),
            noted: Instant::now(),
            peak,
            pace: (0, 0.0),
            planned: None,
            lr: 0.0,
        };
        Ok(report)
    }

    /// The points of the run, after its last files are written.
    ///
    /// # Errors
    /// The first that a file could not be written for.
    pub fn end(mut self, trainer: &Trainer) -> Result<Vec<Point>> {
        if self.problem.is_none() && self.losses.1 > 0 {
            self.problem = self.point(trainer).err();
        }
        self.progress.finish();
        self.problem.map_or(Ok(self.points), Err)
    }

    /// Seconds of the run so far.
    fn seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.seconds) + self.read.elapsed().as_secs_f64()
    }

    /// A point: tests the model, lets it write, and stores everything.
    fn point(&mut self, trainer: &Trainer) -> Result<()> {
        let (loss, steps) = std::mem::take(&mut self.losses);
        let elapsed = self.began.elapsed().as_secs_f64();
        let seconds = self.seconds();
        self.read = Instant::now();
        let (validation, sample) = test(trainer, self.text)?;
        let point = Point {
            step: trainer.step,
            tokens: trainer.step * trainer.tokens() as u64,
            seconds,
            loss: loss / steps as f64,
            validation,
            bits_per_byte: self.text.bits_per_byte(validation),
            tokens_per_second: (steps * trainer.tokens() as u64) as f64 / elapsed,
            lr: self.lr,
            sample,
        };
        self.show(trainer, &point);
        let time = now();
        let curves = [
            ("loss/train", point.loss),
            ("loss/validation", point.validation),
            ("bits_per_byte", point.bits_per_byte),
            ("tokens_per_second", point.tokens_per_second),
        ];
        for (tag, value) in curves {
            self.events.scalar(tag, point.step, value, time)?;
        }
        self.points.push(point);
        self.store(trainer)?;
        self.began = Instant::now();
        Ok(())
    }

    /// Checkpoint, model, metrics and curves; each file is whole at every moment.
    fn store(&self, trainer: &Trainer) -> Result<()> {
        trainer.save(&self.folder.join(CHECKPOINT))?;
        trainer.model.save(&self.folder.join(MODEL))?;
        let mut text = self.about.clone();
        for point in &self.points {
            text.push('\n');
            text += &serde_json::to_string(point).map_err(|e| Error::Config(e.to_string()))?;
        }
        text.push('\n');
        write_whole(&self.folder.join(METRICS), text.as_bytes())?;
        Ok(write_whole(&self.folder.join(CURVES), curves(&self.points).as_bytes())?)
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
        let at = self.points.len() + 1;
        if at.is_power_of_two() || point.step == trainer.settings.steps {
            for line in point.sample.lines().take(8) {
                self.progress.println(&format!("    {line}"));
            }
        }
    }

    fn rate(&self, trainer: &Trainer, tokens_per_second: f64) -> String {
        let (config, length) = (&trainer.model.config, trainer.settings.length);
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
        let (config, settings) = (&trainer.model.config, &trainer.settings);
        if let Some(note) = &self.text.note {
            self.progress.println(&format!("note: {note}"));
        }
        self.progress.println(&format!("text: {}", self.text.about));
        self.progress.println(&format!(
            "gpt: {:.2} million parameters ({} layers of {}, {} heads, {} tokens known), context {}, batch {}, {}{} steps, {:.1} million \
             tokens, learning rate {:.1e}, seed {}{}",
            trainer.model.layout.len as f64 / 1e6,
            config.layers,
            config.width,
            config.heads,
            config.vocabulary,
            settings.length,
            settings.batch,
            if settings.seconds.is_some() { "about " } else { "" },
            settings.steps,
            (settings.steps * trainer.tokens() as u64) as f64 / 1e6,
            settings.lr,
            settings.seed,
            if settings.numbers == Numbers::Bf16 { ", products of bf16" } else { "" },
        ));
        if trainer.step > 0 {
            self.progress.println(&format!("going on after step {}", trainer.step));
            self.progress.inc(trainer.step);
        }
        self.began = Instant::now();
        self.read = self.began;
        self.pace = (trainer.step, self.seconds());
    }

    fn step(&mut self, trainer: &Trainer, step: &Step, _: Duration) {
        self.progress.inc(1);
        self.lr = step.lr;
        self.losses = (self.losses.0 + step.loss, self.losses.1 + 1);
        let written = self.events.scalar("loss/step", step.step, step.loss, now());
        let done = if due(&trainer.settings, step.step) {
            written.map_err(Error::from).and_then(|()| self.point(trainer))
        } else {
            written.map_err(Error::from)
        };
        if self.noted.elapsed() > NOTE {
            let (loss, steps) = self.losses;
            if steps > 0 {
                let tokens = (steps * trainer.tokens() as u64) as f64;
                let rate = self.rate(trainer, tokens / self.began.elapsed().as_secs_f64());
                self.progress.note(&format!("loss {:.3}, {rate}", loss / steps as f64));
            }
            self.noted = Instant::now();
        }
        self.problem = self.problem.take().or(done.err());
        let now = (step.step, self.seconds());
        if let Some(seconds) = trainer.settings.seconds
            && step.step < trainer.settings.steps
            && now.1 - self.pace.1 >= seconds / PLANS
        {
            self.planned = Some(fitting(self.pace, now, seconds));
            self.pace = now;
        }
    }

    fn plan(&mut self) -> Option<u64> {
        let steps = self.planned.take();
        self.progress.set_len(steps);
        steps
    }

    fn stop(&mut self) -> bool {
        self.problem.is_some() || (self.stop)()
    }
}

/// Whether a run has a point after this step.
pub(crate) fn due(settings: &Settings, step: u64) -> bool {
    step.is_multiple_of(settings.steps.div_ceil(POINTS)) || step == settings.steps
}

/// Steps of a run of so many seconds that goes on as fast as between two moments: step and seconds of each.
fn fitting(before: (u64, f64), now: (u64, f64), seconds: f64) -> u64 {
    let each = (now.1 - before.1) / (now.0 - before.0).max(1) as f64;
    now.0 + ((seconds - now.1) / each).max(0.0) as u64
}

/// The loss on the validation text, and what the model writes.
pub(crate) fn test(trainer: &Trainer, text: &Text) -> Result<(f64, String)> {
    let length = trainer.settings.length.min(text.validation.len().saturating_sub(1));
    let sizes = (trainer.settings.batch / trainer.settings.accumulate, length);
    let loss = validation::loss(&trainer.model, &text.validation, sizes, WINDOWS, 0)?;
    Ok((loss, sample(&trainer.model, &text.tokenizer)?))
}

/// What the model writes from nothing, always by the same chance.
fn sample(model: &Model, tokenizer: &Tokenizer) -> Result<String> {
    let decoder = Decoder::new(&model.config, &model.parameters)?;
    let go_on = |_: &str| ControlFlow::Continue(());
    Ok(generate(&decoder, tokenizer, b"", SAMPLE, Sampling::default(), go_on)?.text)
}

/// The first line of the metrics and the points after it, of a run's earlier parts.
pub(crate) fn read(path: &Path) -> Option<(String, Vec<Point>)> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    let about = lines.next()?.to_owned();
    Some((about, lines.map_while(|line| serde_json::from_str(line).ok()).collect()))
}

/// The line about a run, JSON: what it computes, from what, and where.
fn about(trainer: &Trainer, text: &Text) -> String {
    let (machine, from) = (Machine::detect(), Provenance::now());
    serde_json::json!({
        "model": "gpt",
        "config": trainer.model.config,
        "settings": trainer.settings,
        "parameters": trainer.model.layout.len,
        "text": text.about,
        "text_sha256": text.sha256,
        "tokenizer": trainer.model.tokenizer,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "started": from.date,
        "command": from.command,
        "commit": from.commit,
        "rustc": from.rustc,
        "flags": from.flags,
    })
    .to_string()
}

/// Both losses over the tokens, as a figure.
fn curves(points: &[Point]) -> String {
    let series = |name: &str, of: fn(&Point) -> f64| Series {
        name: name.into(),
        points: points.iter().map(|p| (p.tokens as f64 / 1e6, of(p))).collect(),
        band: Vec::new(),
        joined: true,
    };
    LinePlot {
        x: Axis::new("million tokens", Scale::Linear),
        y: Axis::new("loss (nats a token)", Scale::Linear),
        series: vec![
            series("training", |point| point.loss),
            series("validation", |point| point.validation),
        ],
        limits: Vec::new(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_follows_the_clock() {
        // Ten steps a second so far, twenty since: 400 steps in the 20 seconds that are left.
        assert_eq!(fitting((100, 10.0), (300, 20.0), 40.0), 300 + 400);
        assert_eq!(fitting((0, 0.0), (50, 50.0), 50.0), 50, "no time is left");
        assert_eq!(fitting((0, 0.0), (50, 60.0), 50.0), 50, "and none is taken back");
    }
}
