//! What each rung gains on each device, against the device's peak and the vendor's library.

use super::devices::{DEVICES, why_missing};
use crate::{
    Error, Result,
    devices::{Precision, peak_of},
    gpu::{self, Arg, Buffer, Gpu, Kind, Launch, cublas::Cublas, cuda::Cuda, kernel, write_all},
    ladder::{self, Compiled, LADDER, Operands},
    tensor_cores::{self, CudaInputs, CudaKernel, CudaRung},
    truck,
    verify::{Problem, verify},
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Samples, Unit, key::Quantity, peak,
    race::Results,
};
use matmul::Shape;
use std::time::{Duration, Instant};

const FLOPS: Unit = Unit::FlopsPerSecond;
/// The rate of a rung.
pub const RATE: Key = Key::measured("cpu_gpu.ladder", FLOPS, &["device", "rung", "n"]);
/// How many times as fast as the naive rung, round by round.
pub const SPEEDUP: Key =
    Key::measured("cpu_gpu.ladder.speedup", Unit::Ratio, &["device", "rung", "n"]);
/// How many times as fast tiles in shared memory are as the naive rung.
pub const TILED: Key =
    Key::measured("cpu_gpu.ladder.tiled_over_naive", Unit::Ratio, &["device", "n"]);
/// The fraction of what cuBLAS reaches with the same inputs, round by round.
pub const OF_CUBLAS: Key =
    Key::measured("cpu_gpu.ladder.of_cublas", Unit::Share, &["device", "rung", "n"]);
/// Until the first product is done, from a kernel's text.
pub const COMPILE: Key =
    Key::measured("cpu_gpu.ladder.compile", Unit::Seconds, &["device", "rung"]);
/// The rate of a rung with each of its tiles.
pub const TILES: Key =
    Key::measured("cpu_gpu.ladder.tiles", FLOPS, &["device", "rung", "n", "tiles"]);
/// At which a device copies: read and written together.
pub const BANDWIDTH: Key =
    Key::measured("cpu_gpu.ladder.bandwidth", Unit::BytesPerSecond, &["device"]);

const KEYS: [Key; 7] = [RATE, SPEEDUP, TILED, OF_CUBLAS, COMPILE, TILES, BANDWIDTH];

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    vec![Experiment {
        key: RATE.name,
        shows: "what each rung gains, on every device there is",
        values: &[RATE, SPEEDUP, TILED, OF_CUBLAS, COMPILE, TILES, BANDWIDTH],
        quick: true,
        run: |r| rungs(r, None),
    }]
}

/// The libraries that the rungs are compared with, and what they multiply.
const CUBLAS: [(&str, Precision); 2] =
    [("cublas", Precision::F32), ("cublas_bf16", Precision::Bf16)];

/// All rungs by their names in records: the portable ones, those of CUDA alone, and what they are compared with.
pub fn rung_names() -> impl Iterator<Item = &'static str> {
    let portable = LADDER.iter().map(|rung| rung.name);
    portable.chain(CudaRung::ALL.map(CudaRung::name)).chain(CUBLAS.map(|(name, _)| name))
}

/// What a rung multiplies.
fn precision(rung: &str) -> Precision {
    let own = CudaRung::ALL.into_iter().any(|own| own.name() == rung && own.bf16());
    if own || rung == "cublas_bf16" { Precision::Bf16 } else { Precision::F32 }
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
        let there = devices.found.iter().find(|about| about.id == id);
        let opened = match there {
            Some(_) => gpu::open(id).map_err(|error| error.to_string()),
            None => Err(why_missing(&devices, id)),
        };
        match opened {
            Err(why) => {
                for key in KEYS {
                    r.skip_at(key.at(&[("device", &id)]), &why);
                }
            }
            Ok(gpu) => {
                let sizes = only.unwrap_or_else(|| sizes(gpu.about().kind, r.budget));
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
) -> lab::Result<()> {
    let id = gpu.about().id.clone();
    let bandwidth = bandwidth(r, gpu)?;
    r.record(BANDWIDTH.at(&[("device", &id)]), bandwidth);
    let cublas = match gpu.as_cuda() {
        None => Err(Error::message("cuBLAS is for CUDA alone")),
        Some(cuda) => Cublas::new(cuda),
    };
    if let Err(error) = &cublas {
        r.skip_at(OF_CUBLAS.at(&[("device", &id)]), error.to_string());
    }
    for (first, &n) in sizes.iter().enumerate().map(|(at, n)| (at == 0, n)) {
        let needed = 4 * 4 * (n * n) as u64;
        if needed > gpu.about().memory {
            let why = format!("{} has no room for matrices of this size", gpu.about().name);
            r.skip_at(RATE.at(&[("device", &id), ("n", &n)]), why);
            continue;
        }
        let with_cpu = !cpu_measured.contains(&n);
        let size = Size { gpu, n, shape: Shape::square(n), first };
        size.measure(r, cublas.as_ref().ok(), with_cpu)?;
        cpu_measured.push(n);
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

/// The rungs that CUDA alone has, ready to be launched, and inputs in bf16 for cuBLAS.
struct OnCuda {
    rungs: Vec<(CudaRung, CudaKernel, CudaInputs)>,
    c: Buffer,
    halves: [Buffer; 2],
}

impl Size<'_> {
    /// A rung's quantity under one of the keys.
    fn of(&self, key: Key, rung: &str) -> Quantity {
        let what = key.at(&[("device", &self.gpu.about().id), ("rung", &rung)]);
        if key.params.contains(&"n") { what.with("n", self.n) } else { what }
    }

    /// Every rung that compiles and is right takes its turn, with the libraries.
    fn measure(
        &self,
        r: &mut Recorder,
        cublas: Option<&Cublas>,
        with_cpu: bool,
    ) -> lab::Result<()> {
        let (gpu, shape, n) = (self.gpu, self.shape, self.n);
        let problem = Problem::random(shape, 1);
        let operands = Operands::new(gpu, &problem.a, &problem.b, shape)?;
        let mut portable = Vec::new();
        for rung in &LADDER {
            portable.extend(self.prepare(r, rung, &operands, &problem)?);
        }
        let on_cuda = self.prepare_cuda(r, &problem)?;
        let mut on_cpu = vec![0.0; n * n];

        let mut race = Race::new();
        for (name, compiled) in &portable {
            let mut launch = || compiled.launch(gpu, operands.args(), shape);
            race.turn(*name, repeated(move |times| timed(gpu, times, &mut launch)));
        }
        if let Some((cuda, on_cuda)) = gpu.as_cuda().zip(on_cuda.as_ref()) {
            let c = &on_cuda.c;
            for (rung, compiled, inputs) in &on_cuda.rungs {
                let mut launch = move || compiled.launch(cuda, inputs, Arg::Buffer(c));
                race.turn(rung.name(), repeated(move |times| timed(gpu, times, &mut launch)));
            }
            if let Some(cublas) = cublas {
                let [a, b] = operands.inputs();
                let mut sgemm = move || cublas.sgemm(a, b, c, shape);
                race.turn("cublas", repeated(move |times| timed(gpu, times, &mut sgemm)));
                let [a, b] = &on_cuda.halves;
                let mut gemm = move || cublas.gemm_bf16(a, b, c, shape);
                race.turn("cublas_bf16", repeated(move |times| timed(gpu, times, &mut gemm)));
            }
        }
        if with_cpu {
            race.turn(
                "sgemm",
                repeated(|times| {
                    let start = Instant::now();
                    for _ in 0..times {
                        truck::product_on_cpu(&problem.a, &problem.b, &mut on_cpu, n, true)?;
                    }
                    Ok(start.elapsed().as_secs_f64() / times as f64)
                }),
            );
        }
        let results = race.run(plan(r.budget, gpu.about().kind))?;
        self.record(r, &results)
    }

    /// A portable rung, compiled with the best of its tiles, and only if its product is right.
    fn prepare(
        &self,
        r: &mut Recorder,
        rung: &'static ladder::Rung,
        operands: &Operands,
        problem: &Problem,
    ) -> Result<Option<(&'static str, Compiled)>> {
        let rate = self.of(RATE, rung.name);
        r.note_at(&rate);
        let start = Instant::now();
        let mut compiled = match rung.compile(self.gpu, self.shape) {
            Ok(compiled) => compiled,
            Err(error) => {
                r.skip_at(rate, error.to_string());
                return Ok(None);
            }
        };
        // Some compilers work when a kernel first runs: the first product belongs to the time.
        compiled.launch(self.gpu, operands.args(), self.shape)?;
        self.gpu.finish()?;
        self.compiled(r, rung.name, start);
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
            r.skip_at(rate, format!("its product is wrong: {fault}"));
            return Ok(None);
        }
        Ok(Some((rung.name, compiled)))
    }

    /// The rungs of CUDA alone, on a device that CUDA drives; elsewhere the reason why not.
    fn prepare_cuda(&self, r: &mut Recorder, problem: &Problem) -> Result<Option<OnCuda>> {
        let Some(cuda) = self.gpu.as_cuda() else {
            for rung in CudaRung::ALL {
                r.skip_at(self.of(RATE, rung.name()), "only CUDA has it");
            }
            return Ok(None);
        };
        let bf16 = Problem::random_bf16(self.shape, 1);
        let mut rungs = Vec::new();
        for rung in CudaRung::ALL {
            let problem = if rung.bf16() { &bf16 } else { problem };
            rungs.extend(self.prepare_own(r, cuda, rung, problem)?);
        }
        let alloc = |bytes| self.gpu.alloc(bytes * self.n * self.n);
        let (c, halves) = (alloc(4)?, [alloc(2)?, alloc(2)?]);
        for (half, x) in halves.iter().zip([&bf16.a, &bf16.b]) {
            let bits: Vec<u16> = x.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
            write_all(self.gpu, half, &bits)?;
        }
        Ok(Some(OnCuda { rungs, c, halves }))
    }

    /// A rung that CUDA alone has.
    fn prepare_own(
        &self,
        r: &mut Recorder,
        cuda: &Cuda,
        mut rung: CudaRung,
        problem: &Problem,
    ) -> Result<Option<(CudaRung, CudaKernel, CudaInputs)>> {
        let rate = self.of(RATE, rung.name());
        r.note_at(&rate);
        if let Err(why) = rung.runs_on(cuda.capability()) {
            r.skip_at(rate, why.to_string());
            return Ok(None);
        }
        if let CudaRung::AsyncCopy(_) = rung {
            let timed = tensor_cores::tune(cuda, self.shape)?;
            for (tiles, seconds) in &timed {
                self.tiles(r, rung.name(), &tiles.name(), *seconds);
            }
            if let Some((best, _)) = timed.first() {
                rung = CudaRung::AsyncCopy(*best);
            }
        }
        if let Err(fault) = tensor_cores::check(cuda, rung, problem)? {
            r.skip_at(rate, format!("its product is wrong: {fault}"));
            return Ok(None);
        }
        let start = Instant::now();
        let compiled = rung.compile(cuda, self.shape)?;
        self.compiled(r, rung.name(), start);
        let inputs = CudaInputs::new(cuda, rung, &problem.a, &problem.b, self.shape)?;
        Ok(Some((rung, compiled, inputs)))
    }

    fn compiled(&self, r: &mut Recorder, rung: &str, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        if self.first {
            r.record(self.of(COMPILE, rung), Samples::one(seconds));
        }
    }

    fn tiles(&self, r: &mut Recorder, rung: &str, tiles: &str, seconds: f64) {
        let rate = Samples::one(self.shape.operations() / seconds);
        r.record(self.of(TILES, rung).with("tiles", tiles), rate);
    }

    /// Rates, and ratios from the rounds in which all took their turn.
    fn record(&self, r: &mut Recorder, results: &Results) -> lab::Result<()> {
        let ran: Vec<&str> = results.ran().collect();
        for rung in &ran {
            let rate = results.rate(rung, self.shape.operations())?;
            if *rung == "sgemm" {
                let limit = peak::fma_f32(matmul::parallel::available());
                let list = RATE.at(&[("device", &"cpu"), ("rung", rung), ("n", &self.n)]);
                r.record(list.against(limit), rate);
                continue;
            }
            let precision = precision(rung);
            r.record(self.of(RATE, rung).against(peak_of(self.gpu.about(), precision)), rate);
            let library = CUBLAS.iter().find(|(_, inputs)| *inputs == precision);
            for (key, other) in [(SPEEDUP, Some("naive")), (OF_CUBLAS, library.map(|l| l.0))] {
                if let Some(other) = other.filter(|other| ran.contains(other) && rung != other) {
                    r.record(self.of(key, rung), results.ratio(other, rung)?);
                }
            }
        }
        if ["naive", "shared"].iter().all(|rung| ran.contains(rung)) {
            let gain = results.ratio("naive", "shared")?;
            r.record(TILED.at(&[("device", &self.gpu.about().id), ("n", &self.n)]), gain);
        }
        Ok(())
    }
}

/// Seconds of one launch when there are `times` of them, on the device's clock.
fn timed(gpu: &dyn Gpu, times: usize, launch: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let seconds = gpu.seconds(&mut || (0..times).try_for_each(|_| launch()))?;
    Ok(seconds / times as f64)
}

/// Turns of a product that is timed so many times in a row: as many as take a few milliseconds together, which the first
/// turn finds out.
fn repeated(
    mut seconds: impl FnMut(usize) -> Result<f64>,
) -> impl FnMut(usize) -> lab::Result<f64> {
    let mut times = 1;
    move |turn| {
        if turn == 0 {
            seconds(1)?; // warms up
            times = (0.004 / seconds(1)?).ceil().clamp(1.0, 1000.0) as usize;
        }
        Ok(seconds(times)?)
    }
}

/// Rounds of the race, and the seconds for each contender: there are about ten.
fn plan(budget: Budget, kind: Kind) -> Plan {
    let (min_samples, time) = match (budget, kind) {
        (Budget::Quick, _) => (3, Duration::from_millis(30)),
        (Budget::Full, Kind::Cpu) => (5, Duration::from_millis(500)),
        (Budget::Full, Kind::Gpu) => (7, Duration::from_millis(300)),
    };
    Plan { warm_up: Duration::ZERO, time, min_samples, max_samples: 50 }
}

/// Bytes per second at which the device copies: read and written together.
fn bandwidth(r: &Recorder, gpu: &dyn Gpu) -> Result<Samples> {
    const SOURCE: &str = kernel!("map.cl");
    r.note_at(BANDWIDTH.at(&[("device", &gpu.about().id)]));
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

    #[test]
    fn every_device_is_measured_or_missed() {
        let turn = testing::opencl();
        let experiment = Experiment { run: |r| rungs(r, Some(&[24])), ..all().remove(0) };
        let values = lab::testing::run(&experiment).values;
        if turn.is_none() {
            return;
        }
        for rung in LADDER.iter().map(|rung| rung.name) {
            let found = values.iter().filter(|v| v.key == RATE.name && v.params["rung"] == rung);
            assert!(found.count() >= 1, "{rung} is missing");
        }
        let cpu = values.iter().find(|v| v.param("device") == Some("cpu"));
        assert!(cpu.is_some_and(|v| v.of_limit().is_some()), "{cpu:?}");
        for value in &values {
            assert!(value.median.is_finite() && value.median > 0.0, "{value:?}");
        }
        assert!(values.iter().any(|v| v.key == TILED.name));
    }

    #[test]
    fn short_products_are_repeated_and_the_first_one_is_not_timed() -> lab::Result<()> {
        let mut calls = Vec::new();
        let mut turn = repeated(|times| {
            calls.push(times);
            Ok(0.001)
        });
        for at in 0..3 {
            turn(at)?;
        }
        drop(turn);
        assert_eq!(calls, [1, 1, 4, 4, 4]);
        Ok(())
    }
}
