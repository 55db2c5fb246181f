//! `trace`: one training step, call by call: a table here, and a file for a viewer.

use crate::train::{Which, devices_for, first_device};
use anyhow::{Context, Result, bail};
use clap::Args;
use cpu_gpu::gpu::{self, Devices, Gpu, trace::Traced};
use lab::{
    Device, Unit, data,
    out::{put, say},
    show::table_text,
};
use language_model::{Config, measured::experiments::step::Case, train::Trainer};
use performance::{
    gpu::{
        run::Run,
        timeline::{self, Timeline},
    },
    profile::{
        Profile, engine, profile, report,
        trace::{Bar, chrome, of_profile, of_spans},
    },
};
use std::{fs, path::PathBuf};
use training::{EngineKind, Settings};

/// The options of `trace`.
#[derive(Args, Clone)]
#[command(after_help = "\
Examples:
  cargo run -- trace                                   where a step of 784-128-10 takes its time
  cargo run -- trace --model resnet --batch 64         another model's, on this machine's cores
  cargo run -- trace --device opencl-cpu               its kernels on a device, below the calls of the CPU
  cargo run -- trace --model gpt --out gpt.json        a language model's

The table has the time of each operation beside its FLOPs, its bytes, and what a roofline says of them, for every model on every device.
The file opens in https://ui.perfetto.dev, or as chrome://tracing in Chrome. On the cores it is the engine's step, call by
call, or dfdx's, operation by operation (--engine dfdx); on a device it is the same step in kernels. The images are drawn and the text is random: no time depends on them.")]
pub struct Trace {
    /// linear, mlp, cnn, resnet, rnn or transformer, for digits, or gpt, for text
    #[arg(long, value_name = "NAME", default_value = "mlp")]
    model: Which,
    /// Images or sequences of a step [default: 128 images, 8 sequences]
    #[arg(long, value_name = "N", value_parser = crate::whole::<u64>(1..=10_000))]
    batch: Option<u64>,
    /// Where: auto (a GPU, else the cores), cpu (the cores), cuda, opencl-gpu or opencl-cpu; a second one of a kind is cuda:1
    #[arg(long, default_value = "auto")]
    device: String,
    /// On the cores: fast (chapter 5's engine) or dfdx [default: fast]
    #[arg(long, value_name = "NAME")]
    engine: Option<EngineKind>,
    /// Steps that are recorded: of the cores each call's median is shown, of a device the step of median length
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = crate::whole::<u64>(1..=1000))]
    steps: u64,
    /// The file for the viewer
    #[arg(long, value_name = "FILE", default_value = "trace.json")]
    out: PathBuf,
}

/// What was found: the step by operation, the peak and the bandwidth beside it, its bars, and what else there is to say.
struct Found {
    profile: Profile,
    limits: [f64; 2],
    bars: Vec<Bar>,
    note: String,
}

impl Trace {
    /// Traces, prints the table and writes the file, which is known to work before: a trace that fails or is stopped leaves
    /// what was there.
    pub fn run(&self) -> Result<()> {
        let was_there = self.out.symlink_metadata().is_ok();
        let file = fs::File::options().append(true).create(true).open(&self.out);
        file.with_context(|| self.failed())?;
        if !was_there {
            let _ = fs::remove_file(&self.out);
        }
        self.traced()
    }

    fn failed(&self) -> String {
        format!("{} can't be written; name another file with --out", self.out.display())
    }

    fn traced(&self) -> Result<()> {
        let file = self.out.display();
        let Found { profile, limits: [peak, bandwidth], bars, note } =
            match self.device(&devices_for(Some(&self.device)))? {
                None => self.on_cores()?,
                Some(id) => self.on_device(&*gpu::open(&id)?)?,
            };
        crate::write(&self.out, &chrome(&bars)).with_context(|| self.failed())?;
        put(&table_text(&report::table(&profile, peak, bandwidth, 16)));
        say(&format!(
            "Above 100% of the roof, which is memory's, the data were in a cache.\n{note}{file} has {} bars; open it in \
             https://ui.perfetto.dev",
            bars.len()
        ));
        Ok(())
    }

    /// The device by chapter 2's name; none for this machine's cores.
    fn device(&self, there: &Devices) -> Result<Option<String>> {
        match (self.device.as_str(), self.model) {
            (_, Which::Gpt) if self.engine.is_some() => {
                bail!(
                    "--engine is for models of digits; a language model has one engine: leave it out"
                )
            }
            ("auto" | "cpu", _) if self.engine.is_some() => Ok(None),
            (id, _) if self.engine.is_some() => {
                bail!(
                    "--engine chooses what computes on the cores; leave it out, or take --device cpu, not {id}"
                )
            }
            (id, _) => {
                let device = first_device(Some(id), 1, there)?;
                Ok((device != Device::Cpu).then(|| device.id()))
            }
        }
    }

    /// A step on this machine's cores, call by call.
    fn on_cores(&self) -> Result<Found> {
        let steps = self.steps as usize;
        let profile = match self.model {
            Which::Digits(model) => {
                let batch = self.batch.unwrap_or(128) as usize;
                let engine = self.engine.unwrap_or(EngineKind::Fast);
                let settings = Settings { engine, ..Settings::of(model) };
                let bytes = performance::learner::bytes(&settings, batch);
                training::memory::check(&settings, batch, bytes)?;
                let data = data::drawn(batch, 1, 1);
                match engine {
                    EngineKind::Dfdx => profile(model, &data, batch, steps)?,
                    EngineKind::Fast => engine::profile(model, &data.train, batch, steps)?,
                }
            }
            Which::Gpt => {
                let (case, what) = self.text();
                let mut trainer = case.trainer()?;
                let turn = |own: &mut Trainer| own.step(&case.stream).map(drop);
                engine::of(what, &mut trainer, |own| &mut own.transformer.step, steps, turn)?
            }
        };
        let limits = report::limits().map(|limit| limit.value);
        let plain = Unit::Seconds.format(profile.plain.median());
        let note = format!("Without the recording a step takes {plain}.\n");
        Ok(Found { bars: of_profile(&profile), profile, limits, note })
    }

    /// A language model's run, and what it is.
    fn text(&self) -> (Case, String) {
        let (batch, config) = (self.batch.unwrap_or(8) as usize, Config::tiny());
        let what = format!("gpt (tiny) on {batch} sequences of {} tokens", config.context);
        (Case::new(config, batch, 1000 + self.steps), what)
    }

    /// The course's step in kernels.
    fn on_device(&self, gpu: &dyn Gpu) -> Result<Found> {
        let (traced, steps, name) = (Traced::new(gpu), self.steps as usize, &gpu.about().name);
        let (line, what) = match self.model {
            Which::Digits(model) => {
                let batch = self.batch.unwrap_or(128) as usize;
                let mut run = Run::new(&traced, model, batch, false)?; // each kernel is to be seen
                let line = Timeline::of(&traced, steps, &mut || run.steps(1, 0).map(drop))?;
                (line, report::on_images(model, batch))
            }
            Which::Gpt => {
                let (case, what) = self.text();
                let mut step =
                    language_model::gpu::trainer(&traced, &case.trainer()?, &case.stream)?;
                step.transformer.step.device.graphs = false;
                let line =
                    Timeline::of(&traced, steps, &mut || Ok(step.step(&case.stream).map(drop)?))?;
                (line, what)
            }
        };
        let note = format!("{name} works in {} of the step.\n", Unit::Share.format(line.busy()));
        let (profile, limits) =
            (line.profile(format!("{what}, on {name}")), timeline::limits(gpu)?);
        Ok(Found { profile, limits, bars: of_spans(&line.spans, name), note })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpu_gpu::gpu::testing;
    use performance::profile::cost::Cost;
    use std::collections::BTreeMap;

    fn trace(words: &[&str]) -> Trace {
        crate::parsed(words).unwrap()
    }

    #[test]
    fn a_step_on_the_cores_becomes_a_table_and_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.json");
        let out = file.to_string_lossy();
        let words = ["--model", "linear", "--batch", "4", "--steps", "2", "--device", "cpu"];
        let of = |engine| trace(&[&words[..], &["--engine", engine, "--out", &out]].concat());
        for engine in ["dfdx", "plain", "fast"] {
            of(engine).run().unwrap();
            let value: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            assert!(value["traceEvents"].as_array().unwrap().len() > 8, "{engine}");
        }
        let trace = of("fast");
        #[cfg(unix)]
        {
            let link = folder.path().join("link.json");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            fs::remove_file(&file).unwrap();
            Trace { out: link.clone(), ..trace.clone() }.run().unwrap();
            assert!(link.is_symlink() && file.is_file());
        }
        let lost = Trace { out: folder.path().join("none/t.json"), ..trace };
        let error = format!("{:#}", lost.run().unwrap_err());
        assert!(error.contains("name another file with --out"), "{error}");
    }

    #[test]
    fn a_refusal_leaves_the_folder_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old.json", "new.json"].map(|name| folder.path().join(name));
        fs::write(&old, "kept").unwrap();
        let gpt = "--model gpt --engine fast";
        for (out, words) in [(&old, "--device tpu"), (&new, "--device tpu"), (&new, gpt)] {
            let words: Vec<&str> =
                words.split(' ').chain(["--out", out.to_str().unwrap()]).collect();
            trace(&words).run().unwrap_err();
        }
        assert!(fs::read(&old).unwrap() == b"kept" && !new.exists());
    }

    #[test]
    fn a_step_on_a_device_has_its_kernels_below_the_calls() {
        let Some(gpu) = testing::opencl() else { return };
        for (model, what) in [
            ("mlp", "mlp on 5 images"),
            ("resnet", "resnet on 5 images"),
            ("transformer", "transformer on 5 images"),
            ("gpt", "gpt (tiny) on 5 sequences of 128 tokens"),
        ] {
            let words = ["--model", model, "--batch", "5", "--steps", "1", "--device", "cpu"];
            let [cores, device] =
                [trace(&words).on_cores().unwrap(), trace(&words).on_device(&*gpu).unwrap()];
            assert!(device.bars.len() > 20, "{model}");
            for found in [&cores, &device] {
                assert!(found.profile.what.starts_with(what), "{}", found.profile.what);
            }
            // Whoever computes it, an operation has the same FLOPs.
            let [wanted, found] = [&cores, &device].map(|found| flops(&found.profile));
            assert_eq!(found, wanted, "{model}");
        }
    }

    /// FLOPs by phase and operation, whatever its calls are.
    fn flops(profile: &Profile) -> BTreeMap<(String, String), f64> {
        let mut all = BTreeMap::new();
        for row in profile.rows.iter().filter(|row| row.cost.flops() > 0.0) {
            let op = row.name.split(' ').next().unwrap_or_default().to_owned();
            *all.entry((row.phase.name().to_owned(), op)).or_insert(0.0) += row.cost.flops();
        }
        all
    }

    #[test]
    fn a_language_models_step_on_the_cores_has_all_its_calls_cost() {
        let of = ["--model", "gpt", "--batch", "5", "--steps", "2", "--device", "cpu"];
        let profile = trace(&of).on_cores().unwrap().profile;
        let (case, _) = trace(&of).text();
        let mut trainer = case.trainer().unwrap();
        trainer.step(&case.stream).unwrap();
        // Five sequences of 128 tokens are a piece of 512, and one of 128.
        let all = trainer.transformer.step.programs().flat_map(|one| &one.calls);
        let costs = all.map(|call| Cost::of(call.name, call.flops, call.bytes() as f64));
        let sum = costs.fold(Cost::default(), |sum, cost| sum.plus(&cost));
        let cost = profile.rows.iter().fold(Cost::default(), |sum, row| sum.plus(&row.cost));
        assert_eq!(cost, sum);
        // Four layers are a row, and so are their pieces.
        let of = |phase| {
            let mut rows = profile.rows.iter().filter(|row| row.name == "qkv product");
            rows.find(|row| row.phase.name() == phase).unwrap().times
        };
        assert_eq!((of("forward"), of("backward")), (4 * 2, 2 * 4 * 2));
        let seconds: f64 = profile.rows.iter().map(|row| row.seconds.median()).sum();
        assert!(seconds > 0.0 && profile.rows.iter().all(|row| row.seconds.0.len() == 2));
    }

    #[test]
    fn the_device_is_one_that_is_there_and_has_the_step() {
        let mut there = Devices::default();
        let of = |words: &[&str], there: &Devices| {
            trace(words).device(there).map_err(|error| error.to_string())
        };
        assert_eq!(of(&[], &there), Ok(None));
        assert_eq!(of(&["--model", "gpt"], &there), Ok(None));
        assert_eq!(of(&["--model", "gpt", "--device", "cpu"], &there), Ok(None));
        assert!(of(&["--device", "cuda:3"], &there).unwrap_err().contains("one of auto, cpu"));
        there.found.push(testing::about(gpu::Api::Cuda, gpu::Kind::Gpu));
        there.found[0].id = "cuda".to_owned();
        assert_eq!(of(&[], &there), Ok(Some("cuda".into())));
        assert_eq!(of(&["--model", "gpt"], &there), Ok(Some("cuda".into())));
        assert_eq!(of(&["--device", "cuda:0"], &there), Ok(Some("cuda".into())));
        assert_eq!(of(&["--model", "cnn"], &there), Ok(Some("cuda".into())));
        // Who names an engine means the cores.
        for engine in ["dfdx", "fast"] {
            assert_eq!(of(&["--engine", engine], &there), Ok(None));
            let error = of(&["--engine", engine, "--device", "cuda"], &there).unwrap_err();
            assert!(error.contains("--engine") && error.contains("--device cpu"), "{error}");
        }
    }
}
