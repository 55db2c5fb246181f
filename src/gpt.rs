//! `train --model gpt`: a language model, trained on the sources of the crates that the course is built from.

use crate::train::{Train, device_here};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use lab::{Device, Unit, files::typed, names::text_of, out::say};
use language_model::{
    corpus::Corpus,
    product::Numbers,
    runner::{Amount, Job, Outcome, Size, job::CHECKPOINT_EVERY, size, train as run},
    train::{Flow, Settings, adamw::AdamW},
};
use multi_gpu::{Rank, replicas::member::Launcher};
use performance::learner::numbers;
use std::path::PathBuf;

/// Minutes of a run that is told neither minutes nor tokens.
const MINUTES: f64 = 10.0;

/// The options that only language models have.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Language models (--model gpt)")]
pub struct Gpt {
    /// The size: tiny, small, or a number of parameters such as 3M [default: tiny]
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,
    /// Train for so many minutes: some steps are timed, and the plan is corrected by the clock on the way [default: 10]
    #[arg(long, value_name = "M", conflicts_with = "tokens")]
    minutes: Option<f64>,
    /// Train on so many tokens
    #[arg(long, value_name = "N", value_parser = crate::whole::<u64>(1..=u64::MAX))]
    tokens: Option<u64>,
    /// Learn the files of a folder of yours, code or other text, in the place of the crates
    #[arg(long, value_name = "FOLDER")]
    text: Option<PathBuf>,
    /// Tokens that the model sees at once [default: 128 for tiny, 256 for others]
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    context: Option<usize>,
}

impl Gpt {
    /// The first of these options that was given, if any was.
    pub fn first(&self) -> Option<&'static str> {
        let given = [
            ("--size", self.size.is_some()),
            ("--minutes", self.minutes.is_some()),
            ("--tokens", self.tokens.is_some()),
            ("--context", self.context.is_some()),
            ("--text", self.text.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    }

    /// The run that these options and the others of `train` ask for, in a folder.
    pub fn job(&self, train: &Train, folder: PathBuf) -> Result<Job> {
        let Train { batch, lr, warmup, decay, seed, precision, accumulate, .. } = *train;
        let others = batch.or(warmup).or(accumulate).is_some() || lr.or(decay).is_some();
        let others = others || seed.is_some() || precision.is_some();
        if train.resume && (self.first().is_some_and(|option| option != "--text") || others) {
            bail!(
                "a language model goes on as it began, with --resume alone (and --run for one that is not the latest, --text for a folder that has moved, --recompute, --replicas, --processes and --device)"
            );
        }
        let config = self.size.unwrap_or_default().config(self.context);
        config.check()?;
        let usual = size::settings(&config);
        let batch = batch.unwrap_or(usual.batch);
        // Equal pieces, as few as have no more sequences than that.
        let most = accumulate.unwrap_or(batch);
        let pieces = (1..=batch).find(|n| batch.is_multiple_of(*n) && batch / n <= most);
        let settings = Settings {
            batch,
            accumulate: pieces.context("--accumulate and --batch must be at least 1")?,
            recompute: train.recompute,
            lr: lr.unwrap_or(usual.lr),
            seed: seed.unwrap_or(usual.seed),
            numbers: numbers(precision.unwrap_or_default()),
            rule: AdamW { decay: decay.unwrap_or(usual.rule.decay), ..usual.rule },
            ..usual
        };
        settings.check()?;
        let amount = match self.tokens {
            Some(tokens) => Amount::Tokens(tokens),
            None => Amount::Minutes(self.minutes.unwrap_or(MINUTES)),
        };
        let many = train.replicas.unwrap_or(1);
        let f32 = settings.numbers == Numbers::F32;
        let device = device_here(train.device.as_deref(), many, f32)?;
        // A process for each GPU, as for models of digits.
        let apart = train.processes || many > 1 && device != Device::Cpu;
        let replicas = Launcher::choose(text_of, train.replicas, apart)?;
        Ok(Job {
            config,
            settings,
            amount,
            warmup: warmup.map(|steps| steps as u64),
            root: Corpus::root(),
            text: self.text.clone().map(std::path::absolute).transpose()?,
            folder,
            resume: train.resume,
            threads: 0,
            device: (device != Device::Cpu).then(|| device.id()),
            replicas,
            checkpoint_every: CHECKPOINT_EVERY,
        })
    }
}

/// Trains, and says what came of it in the last lines.
pub fn train(job: &Job, stop: &mut dyn FnMut() -> bool) -> Result<()> {
    let rank = job.replicas.as_ref().map_or(Rank(0), Launcher::rank);
    if rank != Rank(0) {
        // Of many processes one prints; another names itself when it fails.
        return run(job, false, stop).map(drop).map_err(|error| anyhow!("rank {rank}: {error}"));
    }
    let Outcome { flow, step, tokens, points } = run(job, true, stop)?;
    let folder = typed(&job.folder);
    if flow == Flow::Stopped {
        // Others add up in another order: other bits.
        let device = job.device.as_deref().unwrap_or("cpu");
        let replicas = match &job.replicas {
            Some(Launcher::Threads(some)) => format!(" --replicas {some}"),
            Some(Launcher::Processes(some)) => format!(" --replicas {some} --processes"),
            _ => String::new(),
        };
        bail!(
            "stopped after step {step}; go on with: cargo run -- train --resume --run {folder} --device {device}{replicas}"
        );
    }
    say(&format!("run: {folder}"));
    say(&format!("prompt it: cargo run -- generate --model {folder} --prompt \"fn\""));
    if let Some(last) = points.last() {
        say(&format!(
            "{} tokens in {}: {:.2} bits for each byte of text that it has not learned from",
            Unit::Count.format(step as f64 * tokens as f64),
            Unit::Seconds.format(last.seconds),
            last.bits_per_byte
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::train::first_device;
    use cpu_gpu::gpu::{Api, Devices, Kind, testing};

    #[test]
    fn a_gpu_is_taken_unless_told_otherwise() {
        let named = |id: &str, api| {
            let about = testing::about(api, Kind::Gpu);
            cpu_gpu::gpu::About { id: id.to_owned(), ..about }
        };
        let mut there = Devices {
            found: vec![
                named("opencl-cpu", Api::OpenCl),
                named("opencl-gpu", Api::OpenCl),
                named("cuda", Api::Cuda),
                named("cuda:1", Api::Cuda),
            ],
            missing: vec![],
        };
        let of = |asked, replicas| first_device(asked, replicas, &there).unwrap().id();
        for (asked, replicas, id) in [
            (None, 1, "cuda"),
            (None, 2, "cuda"),
            (Some("auto"), 3, "cpu"), // there is no third
            (Some("cpu"), 1, "cpu"),
            (Some("cuda:0"), 2, "cuda"),
            (Some("cuda:1"), 1, "cuda:1"),
            (Some("opencl-gpu"), 1, "opencl-gpu"),
            (Some("opencl-cpu"), 9, "opencl-cpu"),
        ] {
            assert_eq!(of(asked, replicas), id);
        }
        let refused =
            |asked, replicas| first_device(Some(asked), replicas, &there).unwrap_err().to_string();
        let said = refused("cuda:2", 1);
        assert!(said.contains("cuda:2") && said.contains("opencl-gpu"), "{said}");
        let said = refused("cuda:1", 2);
        assert!(said.contains("no cuda:2") && said.contains("fewer --replicas"), "{said}");
        for left in ["opencl-gpu", "cpu"] {
            there.found.retain(|about| !about.id.starts_with("cuda"));
            assert_eq!(first_device(None, 1, &there).unwrap().id(), left);
            there.found.retain(|about| about.id == "opencl-cpu");
        }
    }
}
