//! What each rung gains on each device, against the device's peak and the vendor's library.

use super::devices::{DEVICES, open, skip_device};
use crate::{
    Error, Result,
    devices::{Precision, peak_of},
    gpu::{Arg, Buffer, Gpu, Kind, copying, cublas::Cublas, cuda::Cuda, nvrtc, upload},
    in_rust::{InRust, Turns},
    ladder::{self, Compiled, LADDER, Operands},
    tensor_cores::{self, CudaInputs, CudaKernel, CudaRung},
    truck,
    verify::{Problem, Verdict, Verifier},
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Samples, key::Quantity, peak, race::Results,
};
use matmul::Shape;
use std::time::{Duration, Instant};

lab::keys! {
    /// The rate of a rung.
    pub RATE: measured "cpu_gpu.ladder", FlopsPerSecond, ["device", "rung", "n"];
    /// How many times as fast as the naive rung, round by round.
    pub SPEEDUP: measured "cpu_gpu.ladder.speedup", Ratio, ["device", "rung", "n"];
    /// The fraction of what cuBLAS reaches with the same inputs, round by round.
    pub OF_CUBLAS: measured "cpu_gpu.ladder.of_cublas", Share, ["device", "rung", "n"];
    /// Until the first product is done, from a kernel's text.
    pub COMPILE: measured "cpu_gpu.ladder.compile", Seconds, ["device", "rung"];
    /// The rate of a rung with each of its tiles.
    TILES: measured "cpu_gpu.ladder.tiles", FlopsPerSecond, ["device", "rung", "n", "tiles"];
    /// At which a device copies: read and written together.
    pub BANDWIDTH: measured "cpu_gpu.ladder.bandwidth", BytesPerSecond, ["device"];
}

const KEYS: [Key; 6] = [RATE, SPEEDUP, OF_CUBLAS, COMPILE, TILES, BANDWIDTH];

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        quick RATE.name => &KEYS, |r| rungs(r, None),
            "what each rung gains, on every device there is";
    }
}

/// The libraries that the rungs are compared with, and what they multiply.
const CUBLAS: [(&str, Precision); 2] =
    [("cublas", Precision::F32), ("cublas_bf16", Precision::Bf16)];

/// Products written in Rust, of crates that have been built: their names in records, and what the crates call them.
const IN_RUST: [(&str, InRust, &[&str]); 5] = [
    ("tile", InRust::Tile, &["product", "f32"]),
    ("tile_bf16", InRust::Tile, &["product", "bf16"]),
    ("tile_nt_bf16", InRust::Tile, &["product_nt", "bf16"]),
    ("tile_tn_bf16", InRust::Tile, &["product_tn", "bf16"]),
    ("cube", InRust::Cube, &["tiled"]),
];

/// All rungs by their names in records: the portable ones, those of CUDA alone, and what they are compared with.
pub fn rung_names() -> impl Iterator<Item = &'static str> {
    let own = LADDER.iter().map(|rung| rung.name).chain(CudaRung::ALL.map(CudaRung::name));
    own.chain(CUBLAS.map(|(name, _)| name))
}

/// What a rung multiplies.
fn precision(rung: &str) -> Precision {
    let own = CudaRung::ALL.into_iter().any(|own| own.name() == rung && own.bf16());
    if own || rung.ends_with("_bf16") { Precision::Bf16 } else { Precision::F32 }
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
///
/// # Errors
/// If a device fails as a whole, or the record can't be written. A rung that fails is skipped.
pub fn rungs(r: &mut Recorder, only: Option<&[usize]>) -> Result<()> {
    let mut cpu_measured = Vec::new();
    for id in DEVICES {
        let gpu = match open(id) {
            Ok(gpu) => gpu,
            Err(why) => {
                skip_device(r, id, &why, &KEYS);
                continue;
            }
        };
        let sizes = only.unwrap_or_else(|| sizes(gpu.about().kind, r.budget));
        on_device(r, &*gpu, sizes, &mut cpu_measured)?;
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
    match bandwidth(r, gpu) {
        Ok(bandwidth) => {
            r.record(BANDWIDTH.at(&[("device", &id)]), bandwidth);
        }
        Err(why) => r.skip_at(BANDWIDTH.at(&[("device", &id)]), why.to_string()),
    }
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
        // The largest take a CPU many seconds, and the card waits.
        let with_cpu = n <= LARGEST_ON_CPU && !cpu_measured.contains(&n);
        let size = Size { gpu, n, shape: Shape::square(n), first };
        if let Err(why) = size.measure(r, cublas.as_ref().ok(), with_cpu) {
            for rung in rung_names() {
                let rate = size.of(RATE, rung);
                if !r.has(&rate) {
                    r.skip_at(rate, why.to_string());
                }
            }
        }
        let on_cpu = RATE.at(&[("device", &"cpu"), ("rung", &"sgemm"), ("n", &n)]);
        if n > LARGEST_ON_CPU && !r.has(&on_cpu) {
            r.skip_at(on_cpu, "a CPU takes many seconds for it");
        }
        cpu_measured.push(n);
        r.keep()?; // what is measured is not lost with what may fail
    }
    Ok(())
}

/// The largest n whose product a CPU computes too.
const LARGEST_ON_CPU: usize = 4096;

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
    fn measure(&self, r: &mut Recorder, cublas: Option<&Cublas>, with_cpu: bool) -> Result<()> {
        let (gpu, shape, n) = (self.gpu, self.shape, self.n);
        let problem = Problem::random(shape, 1);
        let operands = Operands::new(gpu, &problem.a, &problem.b, shape)?;
        let verifier = Verifier::new(gpu, &problem)?;
        let mut portable = Vec::new();
        for rung in &LADDER {
            let ready = self.prepare(r, rung, &operands, &verifier);
            portable.extend(self.or_skip(r, rung.name, ready));
        }
        let on_cuda = self.prepare_cuda(r, &problem)?;
        drop(verifier); // four matrices
        let mut in_rust = self.prepare_in_rust(r);
        let mut on_cpu = vec![0.0; n * n];

        let (mut race, operands) = (Race::new(), &operands);
        for (name, compiled) in &portable {
            enter(&mut race, gpu, name, move || compiled.launch(gpu, operands.args(), shape));
        }
        if let Some((cuda, OnCuda { rungs, c, halves })) = gpu.as_cuda().zip(on_cuda.as_ref()) {
            for (rung, compiled, inputs) in rungs {
                let launch = move || compiled.launch(cuda, inputs, Arg::Buffer(c));
                enter(&mut race, gpu, rung.name(), launch);
            }
            if let Some(cublas) = cublas {
                let halves = halves.each_ref();
                for (name, inputs) in CUBLAS {
                    let ab = if inputs == Precision::F32 { operands.inputs() } else { halves };
                    enter(&mut race, gpu, name, move || cublas.gemm(ab, c, shape, inputs));
                }
            }
        }
        for (rung, turns) in &mut in_rust {
            race.peer(*rung, Ok(repeated(LONG, |times| turns.seconds(times))));
        }
        if with_cpu {
            race.turn(
                "sgemm",
                repeated(LONG, |times| {
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

    /// What is ready to be timed. A rung that failed costs no other: its reason goes into the record.
    fn or_skip<T>(&self, r: &mut Recorder, rung: &str, ready: Result<T>) -> Option<T> {
        ready.map_err(|why| r.skip_at(self.of(RATE, rung), why.to_string())).ok()
    }

    /// A portable rung, compiled with the best of its tiles, and only if its product is right.
    fn prepare(
        &self,
        r: &mut Recorder,
        rung: &'static ladder::Rung,
        operands: &Operands,
        verifier: &Verifier,
    ) -> Result<(&'static str, Compiled)> {
        r.note_at(self.of(RATE, rung.name));
        let start = self.start();
        let mut compiled = rung.compile(self.gpu, self.shape)?;
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
        right(verifier.run(self.gpu, |abc| compiled.launch(self.gpu, abc, self.shape))?)?;
        Ok((rung.name, compiled))
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
        for rung in CudaRung::ALL.map(|rung| rung.fitting(self.gpu.about().shared_memory)) {
            let problem = if rung.bf16() { &bf16 } else { problem };
            let ready = self.prepare_own(r, cuda, rung, problem);
            rungs.extend(self.or_skip(r, rung.name(), ready));
        }
        let upload = |x: &[f32]| {
            let bits: Vec<u16> = x.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
            upload(self.gpu, &bits)
        };
        let (c, halves) =
            (self.gpu.alloc(4 * self.n * self.n)?, [upload(&bf16.a)?, upload(&bf16.b)?]);
        Ok(Some(OnCuda { rungs, c, halves }))
    }

    /// A rung that CUDA alone has.
    fn prepare_own(
        &self,
        r: &mut Recorder,
        cuda: &Cuda,
        mut rung: CudaRung,
        problem: &Problem,
    ) -> Result<(CudaRung, CudaKernel, CudaInputs)> {
        r.note_at(self.of(RATE, rung.name()));
        rung.runs_on(cuda.capability())?;
        let inputs = CudaInputs::new(cuda, rung, &problem.a, &problem.b, self.shape)?;
        let start = self.start();
        rung.compile(cuda, self.shape)?;
        self.compiled(r, rung.name(), start);
        if let CudaRung::AsyncCopy(_) = rung {
            let timed = tensor_cores::tune(cuda, &inputs, self.shape)?;
            for (tiles, seconds) in &timed {
                self.tiles(r, rung.name(), &tiles.name(), *seconds);
            }
            if let Some((best, _)) = timed.first() {
                rung = CudaRung::AsyncCopy(*best);
            }
        }
        right(tensor_cores::check(cuda, rung, problem)?)?;
        Ok((rung, rung.compile(cuda, self.shape)?, inputs))
    }

    /// Those of [`IN_RUST`] that are built and right. Their programs take the first card.
    fn prepare_in_rust(&self, r: &mut Recorder) -> Vec<(&'static str, Turns)> {
        let first = self.gpu.about().id == "cuda";
        let mut ready = Vec::new();
        for (rung, of, kernel) in IN_RUST.into_iter().filter(|_| first) {
            let turns = self.or_skip(r, rung, Turns::start(of, kernel, self.n));
            ready.extend(turns.map(|turns| (rung, turns)));
        }
        ready
    }

    /// The time before a kernel is compiled; where that is measured, nothing is at hand from before.
    fn start(&self) -> Instant {
        if self.first {
            nvrtc::forget();
        }
        Instant::now()
    }

    fn compiled(&self, r: &mut Recorder, rung: &str, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        nvrtc::remember();
        if self.first {
            r.record(self.of(COMPILE, rung), Samples::one(seconds));
        }
    }

    fn tiles(&self, r: &mut Recorder, rung: &str, tiles: &str, seconds: f64) {
        let rate = Samples::one(self.shape.operations() / seconds);
        r.record(self.of(TILES, rung).with("tiles", tiles), rate);
    }

    /// Rates, and ratios from the rounds in which all took their turn.
    fn record(&self, r: &mut Recorder, results: &Results) -> Result<()> {
        let ran: Vec<&str> = results.ran().collect();
        for (rung, why) in results.skipped() {
            r.skip_at(self.of(RATE, rung), why);
        }
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
        Ok(())
    }
}

/// Refuses to time a wrong product.
fn right(verdict: Verdict) -> Result<()> {
    verdict.map(drop).map_err(|fault| Error::message(format!("its product is wrong: {fault}")))
}

/// A contender whose launches are timed on the device's clock.
fn enter<'w>(
    race: &mut Race<'w>,
    gpu: &'w dyn Gpu,
    name: &str,
    mut launch: impl FnMut() -> Result<()> + 'w,
) {
    race.peer(name, Ok(repeated(LONG, move |times| timed(gpu, times, &mut launch))));
}

/// Seconds of one launch when there are `times` of them, on the device's clock.
fn timed(gpu: &dyn Gpu, times: usize, launch: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let seconds = gpu.seconds(&mut || (0..times).try_for_each(|_| launch()))?;
    Ok(seconds / times as f64)
}

/// Seconds of a sample of products.
const LONG: f64 = 0.004;

/// Turns of a job that is timed so many times in a row: as many as take `enough` seconds together, which the first turn
/// finds out.
pub fn repeated(
    enough: f64,
    mut seconds: impl FnMut(usize) -> Result<f64>,
) -> impl FnMut(usize) -> Result<f64> {
    let mut times = 1;
    move |turn| {
        if turn == 0 {
            seconds(1)?; // warms up
            times = (enough / seconds(1)?).ceil().clamp(1.0, 10_000.0) as usize;
        }
        seconds(times)
    }
}

/// Rounds of the race, and the seconds for each contender: there are about ten.
fn plan(budget: Budget, kind: Kind) -> Plan {
    let (min_samples, time) = match (budget, kind) {
        (Budget::Quick, _) => (3, Duration::from_millis(30)),
        (Budget::Full, Kind::Cpu) => (5, Duration::from_millis(500)),
        (Budget::Full, Kind::Gpu) => (7, Duration::from_millis(300)),
    };
    Plan::within(time, min_samples, 50)
}

/// Bytes per second at which the device copies: read and written together.
fn bandwidth(r: &Recorder, gpu: &dyn Gpu) -> Result<Samples> {
    r.note_at(BANDWIDTH.at(&[("device", &gpu.about().id)]));
    let (kind, memory) = (gpu.about().kind, gpu.about().memory as usize);
    let (most, times) = if kind == Kind::Cpu { (16 << 20, 1) } else { (128 << 20, 20) };
    copying::bandwidth(gpu, (most.min(memory / 64) / 4 * 4).max(4), times, 5)
}
