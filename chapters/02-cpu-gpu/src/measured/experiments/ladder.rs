//! What each rung gains on each device, held against the device's peak and the vendor's library; and which check finds
//! which mistake.

use super::devices::{DEVICES, why_missing};
use crate::{
    Result,
    devices::{Precision, peak_of},
    gpu::{self, Arg, Gpu, Kind, Launch, cublas::Cublas, cuda::Cuda, kernel, write_all},
    ladder::{self, Compiled, LADDER, Operands},
    tensor_cores::{self, CudaInputs, CudaKernel, CudaRung},
    truck,
    verify::{Problem, verify},
    wrong::{Check, Mistake, examine},
};
use lab::{Budget, Experiment, Recorder, Samples, Unit, peak, record::ParamList};
use matmul::Shape;
use std::time::{Duration, Instant};

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "cpu_gpu.wrong",
            shows: "which check finds which of the classic mistakes",
            values: &["cpu_gpu.wrong"],
            quick: true,
            run: mistakes,
        },
        Experiment {
            key: "cpu_gpu.ladder",
            shows: "what each rung gains, on every device there is",
            values: &[
                "cpu_gpu.ladder",
                "cpu_gpu.ladder.speedup",
                "cpu_gpu.ladder.tiled_over_naive",
                "cpu_gpu.ladder.of_cublas",
                "cpu_gpu.ladder.compile",
                "cpu_gpu.ladder.tiles",
                "cpu_gpu.ladder.bandwidth",
            ],
            quick: true,
            run: |r| rungs(r, None),
        },
    ]
}

/// All rungs by their names in records: the portable ones, those of CUDA alone, and what they are held against.
pub fn rung_names() -> impl Iterator<Item = &'static str> {
    let portable = LADDER.iter().map(|rung| rung.name);
    portable.chain(CudaRung::ALL.map(CudaRung::name)).chain(["cublas", "cublas_bf16"])
}

fn one(value: f64) -> Samples {
    Samples(vec![value])
}

fn mistakes(r: &mut Recorder) -> lab::Result<()> {
    const KEY: &str = "cpu_gpu.wrong";
    let devices = gpu::devices();
    let cpu_first = devices.found.iter().min_by_key(|about| about.kind == Kind::Gpu);
    let gpu = cpu_first.and_then(|about| gpu::open(&about.id).ok());
    for check in Check::ALL {
        for mistake in Mistake::ALL {
            let list: ParamList = &[("mistake", &mistake.name()), ("check", &check.name())];
            r.note(KEY, list);
            if check.needs_device() && gpu.is_none() {
                r.skip(KEY, list, why_missing(&devices, DEVICES[0]));
                continue;
            }
            let found = examine(mistake, check, gpu.as_deref())?;
            let caught = if found.is_some() { 1.0 } else { 0.0 };
            let found = found.unwrap_or_else(|| "passes".to_owned());
            let list: ParamList =
                &[("mistake", &mistake.name()), ("check", &check.name()), ("found", &found)];
            r.value(KEY, list, Unit::Count, one(caught));
        }
    }
    Ok(())
}

/// The sizes of the square products on a device.
fn sizes(kind: Kind, budget: Budget) -> &'static [usize] {
    match (kind, budget) {
        (Kind::Cpu, Budget::Quick) => &[256],
        (Kind::Cpu, Budget::Full) => &[256, 512],
        (Kind::Gpu, Budget::Quick) => &[512, 1024],
        (Kind::Gpu, Budget::Full) => &[512, 1024, 2048, 4096, 8192],
    }
}

/// All rungs on all devices, at these sizes or those of the budget.
fn rungs(r: &mut Recorder, only: Option<&[usize]>) -> lab::Result<()> {
    let devices = gpu::devices();
    let mut cpu_measured = Vec::new();
    for id in DEVICES {
        let skip = |r: &mut Recorder, why: &str| {
            for key in [
                "",
                ".speedup",
                ".tiled_over_naive",
                ".of_cublas",
                ".compile",
                ".tiles",
                ".bandwidth",
            ] {
                r.skip(&format!("cpu_gpu.ladder{key}"), &[("device", &id)], why);
            }
        };
        let Some(about) = devices.found.iter().find(|about| about.id == id) else {
            skip(r, &why_missing(&devices, id));
            continue;
        };
        match gpu::open(id) {
            Err(error) => skip(r, &error.to_string()),
            Ok(gpu) => {
                let sizes = only.unwrap_or_else(|| sizes(about.kind, r.budget));
                on_device(r, &*gpu, sizes, &mut cpu_measured)?;
            }
        }
    }
    Ok(())
}

fn on_device(
    r: &mut Recorder,
    gpu: &dyn Gpu,
    sizes: &[usize],
    cpu_measured: &mut Vec<usize>,
) -> Result<()> {
    let id = gpu.about().id.clone();
    let bandwidth = bandwidth(r, gpu)?;
    r.value("cpu_gpu.ladder.bandwidth", &[("device", &id)], Unit::BytesPerSecond, bandwidth);
    let cublas = match gpu.as_cuda() {
        None => Err(crate::Error::message("cuBLAS is for CUDA alone")),
        Some(cuda) => Cublas::new(cuda),
    };
    if let Err(error) = &cublas {
        r.skip("cpu_gpu.ladder.of_cublas", &[("device", &id)], error.to_string());
    }
    for (first, &n) in sizes.iter().enumerate().map(|(at, n)| (at == 0, n)) {
        let needed = 4 * 4 * (n * n) as u64;
        if needed > gpu.about().memory {
            let why = format!("{} has no room for matrices of this size", gpu.about().name);
            r.skip("cpu_gpu.ladder", &[("device", &id), ("n", &n)], why);
            continue;
        }
        let size = Size { gpu, n, shape: Shape::square(n), first };
        size.measure(r, cublas.as_ref().ok(), cpu_measured)?;
    }
    Ok(())
}

/// One size on one device.
struct Size<'g> {
    gpu: &'g dyn Gpu,
    n: usize,
    shape: Shape,
    /// Whether it is the first one on this device: compilers are timed there.
    first: bool,
}

/// What takes its turn.
struct Contender<'c> {
    name: &'static str,
    precision: Precision,
    /// Seconds of one product, on the device's clock.
    time: Box<dyn FnMut(usize) -> Result<f64> + 'c>,
}

impl Size<'_> {
    fn measure(
        &self,
        r: &mut Recorder,
        cublas: Option<&Cublas>,
        cpu_measured: &mut Vec<usize>,
    ) -> Result<()> {
        let (gpu, shape, n) = (self.gpu, self.shape, self.n);
        let problem = Problem::random(shape, 1);
        let operands = Operands::new(gpu, &problem.a, &problem.b, shape)?;
        let mut portable = Vec::new();
        for rung in &LADDER {
            portable.extend(self.prepare(r, rung, &operands, &problem)?);
        }
        let problem_bf16 = gpu.as_cuda().map(|_| Problem::random_bf16(shape, 1));
        let mut own = Vec::new();
        if let (Some(cuda), Some(bf16)) = (gpu.as_cuda(), &problem_bf16) {
            for rung in CudaRung::ALL {
                own.extend(self.prepare_own(r, cuda, rung, &problem, bf16)?);
            }
        } else {
            for rung in CudaRung::ALL {
                self.skip(r, rung.name(), "only CUDA has it");
            }
        }

        let [c, a16, b16] = [4, 2, 2].map(|bytes| gpu.alloc(bytes * n * n));
        let (c, a16, b16) = (c?, a16?, b16?);
        let mut on_cpu = vec![0.0; n * n];
        let mut contenders: Vec<Contender> = Vec::new();
        for (name, compiled) in &portable {
            let mut launch = || compiled.launch(gpu, operands.args(), shape);
            contenders.push(Contender {
                name,
                precision: Precision::F32,
                time: Box::new(move |times| timed(gpu, times, &mut launch)),
            });
        }
        for (rung, compiled, inputs) in &own {
            let Some(cuda) = gpu.as_cuda() else { continue };
            let mut launch = || compiled.launch(cuda, inputs, Arg::Buffer(&c));
            contenders.push(Contender {
                name: rung.name(),
                precision: if rung.bf16() { Precision::Bf16 } else { Precision::F32 },
                time: Box::new(move |times| timed(gpu, times, &mut launch)),
            });
        }
        let half =
            |x: &[f32]| -> Vec<u16> { x.iter().map(|x| (x.to_bits() >> 16) as u16).collect() };
        if let (Some(cublas), Some(bf16)) = (cublas, &problem_bf16) {
            let [a, b] = operands.inputs();
            write_all(gpu, &a16, &half(&bf16.a))?;
            write_all(gpu, &b16, &half(&bf16.b))?;
            let c = &c;
            let (a16, b16) = (&a16, &b16);
            contenders.push(Contender {
                name: "cublas",
                precision: Precision::F32,
                time: Box::new(move |times| {
                    timed(gpu, times, &mut || cublas.sgemm(a, b, c, shape))
                }),
            });
            contenders.push(Contender {
                name: "cublas_bf16",
                precision: Precision::Bf16,
                time: Box::new(move |times| {
                    timed(gpu, times, &mut || cublas.gemm_bf16(a16, b16, c, shape))
                }),
            });
        }
        if !cpu_measured.contains(&n) {
            cpu_measured.push(n);
            let (problem, on_cpu) = (&problem, &mut on_cpu);
            contenders.push(Contender {
                name: "sgemm",
                precision: Precision::F32,
                time: Box::new(move |times| {
                    let start = Instant::now();
                    for _ in 0..times {
                        truck::product_on_cpu(&problem.a, &problem.b, on_cpu, n, true)?;
                    }
                    Ok(start.elapsed().as_secs_f64() / times as f64)
                }),
            });
        }
        let seconds = in_turn(r.budget, gpu.about().kind, &mut contenders)?;
        let rounds: Vec<(&'static str, Precision, Samples)> = contenders
            .iter()
            .map(|c| (c.name, c.precision))
            .zip(seconds)
            .map(|((name, precision), s)| (name, precision, s))
            .collect();
        self.record(r, &rounds);
        Ok(())
    }

    fn skip(&self, r: &mut Recorder, rung: &str, why: impl Into<String>) {
        let list: ParamList = &[("device", &self.gpu.about().id), ("rung", &rung), ("n", &self.n)];
        r.skip("cpu_gpu.ladder", list, why);
    }

    fn note(&self, r: &Recorder, rung: &str) {
        let list: ParamList = &[("device", &self.gpu.about().id), ("rung", &rung), ("n", &self.n)];
        r.note("cpu_gpu.ladder", list);
    }

    /// A portable rung, compiled with the best of its tiles, and only if its product is right.
    fn prepare(
        &self,
        r: &mut Recorder,
        rung: &'static ladder::Rung,
        operands: &Operands,
        problem: &Problem,
    ) -> Result<Option<(&'static str, Compiled)>> {
        let id = &self.gpu.about().id;
        self.note(r, rung.name);
        let start = Instant::now();
        let mut compiled = match rung.compile(self.gpu, self.shape) {
            Ok(compiled) => compiled,
            Err(error) => {
                self.skip(r, rung.name, error.to_string());
                return Ok(None);
            }
        };
        // Some compilers work when a kernel first runs: the first product belongs to the time.
        compiled.launch(self.gpu, operands.args(), self.shape)?;
        self.gpu.finish()?;
        if self.first {
            let list: ParamList = &[("device", id), ("rung", &rung.name)];
            r.value(
                "cpu_gpu.ladder.compile",
                list,
                Unit::Seconds,
                one(start.elapsed().as_secs_f64()),
            );
        }
        // On a GPU always, on a CPU where there is time.
        let tune = rung.name == "warp_tiles"
            && (self.gpu.about().kind == Kind::Gpu || r.budget == Budget::Full);
        if tune {
            let timed = ladder::autotune(self.gpu, rung, operands)?;
            for (candidate, seconds) in &timed {
                self.tiles(r, rung.name, candidate.tiles.name, *seconds);
            }
            if let Some((best, _)) = timed.into_iter().next() {
                compiled = best;
            }
        }
        let verdict = verify(self.gpu, problem, |abc| compiled.launch(self.gpu, abc, self.shape))?;
        if let Err(fault) = verdict {
            self.skip(r, rung.name, format!("its product is wrong: {fault}"));
            return Ok(None);
        }
        Ok(Some((rung.name, compiled)))
    }

    fn tiles(&self, r: &mut Recorder, rung: &str, tiles: &str, seconds: f64) {
        let list: ParamList =
            &[("device", &self.gpu.about().id), ("rung", &rung), ("n", &self.n), ("tiles", &tiles)];
        let rate = one(self.shape.operations() / seconds);
        r.value("cpu_gpu.ladder.tiles", list, Unit::FlopsPerSecond, rate);
    }

    /// A rung that CUDA alone has.
    fn prepare_own(
        &self,
        r: &mut Recorder,
        cuda: &Cuda,
        rung: CudaRung,
        problem: &Problem,
        bf16: &Problem,
    ) -> Result<Option<(CudaRung, CudaKernel, CudaInputs)>> {
        self.note(r, rung.name());
        if let Err(why) = rung.runs_on(cuda.capability()) {
            self.skip(r, rung.name(), why.to_string());
            return Ok(None);
        }
        let mut rung = rung;
        if let CudaRung::AsyncCopy(_) = rung {
            let timed = tensor_cores::tune(cuda, self.shape)?;
            for (tiles, seconds) in &timed {
                self.tiles(r, rung.name(), &tiles.name(), *seconds);
            }
            if let Some((best, _)) = timed.first() {
                rung = CudaRung::AsyncCopy(*best);
            }
        }
        let problem = if rung.bf16() { bf16 } else { problem };
        if let Err(fault) = tensor_cores::check(cuda, rung, problem)? {
            self.skip(r, rung.name(), format!("its product is wrong: {fault}"));
            return Ok(None);
        }
        let start = Instant::now();
        let compiled = rung.compile(cuda, self.shape)?;
        if self.first {
            let list: ParamList = &[("device", &cuda.about().id), ("rung", &rung.name())];
            r.value(
                "cpu_gpu.ladder.compile",
                list,
                Unit::Seconds,
                one(start.elapsed().as_secs_f64()),
            );
        }
        let inputs = CudaInputs::new(cuda, rung, &problem.a, &problem.b, self.shape)?;
        Ok(Some((rung, compiled, inputs)))
    }

    /// Rates, and ratios from the rounds in which all took their turn.
    fn record(&self, r: &mut Recorder, rounds: &[(&'static str, Precision, Samples)]) {
        let about = self.gpu.about();
        let (id, n) = (&about.id, self.n);
        let of = |name: &str| rounds.iter().find(|(other, ..)| *other == name).map(|(.., s)| s);
        let ratio = |seconds: &Samples, over: &Samples| {
            Samples(seconds.0.iter().zip(&over.0).map(|(mine, other)| other / mine).collect())
        };
        for (name, precision, seconds) in rounds {
            let rates = seconds.map(|seconds| self.shape.operations() / seconds);
            if *name == "sgemm" {
                let list: ParamList = &[("device", &"cpu"), ("rung", name), ("n", &n)];
                let limit = Some(peak::fma_f32(matmul::parallel::available()));
                r.limited("cpu_gpu.ladder", list, Unit::FlopsPerSecond, rates, limit);
                continue;
            }
            let list: ParamList = &[("device", id), ("rung", name), ("n", &n)];
            r.limited(
                "cpu_gpu.ladder",
                list,
                Unit::FlopsPerSecond,
                rates,
                peak_of(about, *precision),
            );
            if let Some(naive) = of("naive").filter(|_| *name != "naive") {
                r.value("cpu_gpu.ladder.speedup", list, Unit::Ratio, ratio(seconds, naive));
            }
            let library = if *precision == Precision::Bf16 { "cublas_bf16" } else { "cublas" };
            if let Some(cublas) = of(library).filter(|_| *name != library) {
                r.value("cpu_gpu.ladder.of_cublas", list, Unit::Share, ratio(seconds, cublas));
            }
        }
        if let (Some(naive), Some(shared)) = (of("naive"), of("shared")) {
            let list: ParamList = &[("device", id), ("n", &n)];
            r.value("cpu_gpu.ladder.tiled_over_naive", list, Unit::Ratio, ratio(shared, naive));
        }
    }
}

/// Seconds of one launch when there are `times` of them, on the device's clock.
fn timed(gpu: &dyn Gpu, times: usize, launch: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let seconds = gpu.seconds(&mut || (0..times).try_for_each(|_| launch()))?;
    Ok(seconds / times as f64)
}

/// Seconds of each contender, round after round, so that a change of the clock
/// meets all of them alike. Short products are repeated until a sample takes
/// a few milliseconds.
fn in_turn(budget: Budget, kind: Kind, contenders: &mut [Contender]) -> Result<Vec<Samples>> {
    let (rounds, time) = match (budget, kind) {
        (Budget::Quick, _) => (3, Duration::from_millis(300)),
        (Budget::Full, Kind::Cpu) => (5, Duration::from_secs(5)),
        (Budget::Full, Kind::Gpu) => (7, Duration::from_secs(3)),
    };
    let mut repeats = Vec::new();
    for contender in contenders.iter_mut() {
        (contender.time)(1)?; // warms up
        let seconds = (contender.time)(1)?;
        repeats.push((0.004 / seconds).ceil().clamp(1.0, 1000.0) as usize);
    }
    let mut samples = vec![Samples::default(); contenders.len()];
    let start = Instant::now();
    for round in 0..50 {
        if round >= rounds && start.elapsed() >= time {
            break;
        }
        for ((contender, times), samples) in contenders.iter_mut().zip(&repeats).zip(&mut samples) {
            samples.0.push((contender.time)(*times)?);
        }
    }
    Ok(samples)
}

/// Bytes per second at which the device copies: read and written together.
fn bandwidth(r: &Recorder, gpu: &dyn Gpu) -> Result<Samples> {
    const SOURCE: &str = kernel!("map.cl");
    r.note("cpu_gpu.ladder.bandwidth", &[("device", &gpu.about().id)]);
    let about = gpu.about();
    let most = if about.kind == Kind::Cpu { 16 << 20 } else { 64 << 20 };
    let count = most.min(about.memory as usize / 64);
    let kernel = gpu.compile(SOURCE, &[("STEPS", "1".to_owned())], "map")?;
    let (x, y) = (gpu.alloc(4 * count)?, gpu.alloc(4 * count)?);
    write_all(gpu, &x, &vec![1.0_f32; count])?;
    let args = [Arg::Buffer(&x), Arg::Buffer(&y), Arg::U32(count as u32)];
    let launch = Launch::new([count.div_ceil(256), 1], [256, 1]);
    let mut copy = || gpu.launch(&kernel, launch, &args);
    copy()?;
    gpu.finish()?;
    let samples = (0..5).map(|_| Ok(8.0 * count as f64 / timed(gpu, 1, &mut copy)?));
    samples.collect::<Result<Vec<f64>>>().map(Samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::testing;
    use lab::{Device, progress::Progress, record::Value};

    fn values(key: &str, run: impl FnOnce(&mut Recorder) -> lab::Result<()>) -> Vec<Value> {
        let experiments = all();
        let experiment = experiments.iter().find(|e| e.key == key).expect("there is one");
        let progress = Progress::hidden();
        let mut recorder = Recorder::new(experiment, Budget::Quick, Device::Cpu, &progress);
        run(&mut recorder).unwrap_or_else(|error| panic!("{key}: {error}"));
        let (values, skipped) = recorder.finish();
        for declared in experiment.values {
            let left = values.iter().any(|value| value.key == *declared)
                || skipped.iter().any(|skipped| skipped.key == *declared);
            assert!(left, "{key} declares {declared} and leaves none");
        }
        values
    }

    #[test]
    fn every_device_is_measured_or_missed() {
        let turn = testing::opencl();
        let values = values("cpu_gpu.ladder", |r| rungs(r, Some(&[24])));
        if turn.is_none() {
            return;
        }
        for rung in LADDER.iter().map(|rung| rung.name) {
            let found =
                values.iter().filter(|v| v.key == "cpu_gpu.ladder" && v.params["rung"] == rung);
            assert!(found.count() >= 1, "{rung} is missing");
        }
        let cpu = values.iter().find(|v| v.params.get("device").is_some_and(|d| d == "cpu"));
        assert!(cpu.is_some_and(|v| v.of_limit().is_some()), "{cpu:?}");
        for value in &values {
            assert!(value.median.is_finite() && value.median > 0.0, "{value:?}");
        }
        let naive = values.iter().find(|v| v.key.ends_with("tiled_over_naive"));
        assert!(naive.is_some());
    }

    #[test]
    fn mistakes_are_found_or_pass() {
        let turn = testing::opencl();
        let values = values("cpu_gpu.wrong", mistakes);
        let of = |check: &str| {
            values.iter().filter(|v| v.params["check"] == check).map(|v| v.median).sum::<f64>()
        };
        assert!(of("simulator") > 6.5, "the simulator finds all seven");
        if turn.is_some() {
            assert!(of("careless") <= 2.0 && of("odd") >= 5.0);
        }
    }
}
