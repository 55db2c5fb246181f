//! The limits of this machine, which every rate is compared with: measured, not read off a data sheet.
//!
//! A CPU's arithmetic peak is what it reaches when it does nothing but fused multiply-adds on registers; its
//! bandwidth is what it reaches when it does nothing but pass over arrays far larger than its caches.
//! Clock, hypervisor and neighbours take their part of both, as they do of the work that is compared with
//! them.

use crate::{Plan, Samples, machine, record::Limit, vectors::Width};
use std::{
    collections::BTreeMap,
    hint::black_box,
    sync::{
        Barrier, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

impl Width {
    /// `AVX2`, as people write it. The compiler's own baseline is SSE2 on x86-64 (a multiplication and an addition, no FMA),
    /// and NEON with FMA on 64-bit Arm.
    fn name(self) -> &'static str {
        match self {
            Self::Any if cfg!(target_arch = "aarch64") => "NEON",
            Self::Any if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Any => "portable",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }

    /// Runs `rounds` of the kernel and returns how many operations that were. An FMA counts as two.
    fn run(self, rounds: u64) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `best` gives this variant only where the CPU has AVX-512F.
            Self::Avx512 => unsafe { fma::avx512(rounds) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `best` gives this variant only where the CPU has AVX2 and FMA.
            Self::Avx2 => unsafe { fma::avx2(rounds) },
            _ => fma::portable(rounds),
        }
    }
}

/// Kernels that do nothing but multiply and add, on accumulators that stay in registers.
///
/// One FMA takes four cycles or so, and two start in each cycle: fewer than eight independent sums would wait
/// for themselves. The factor is below one, so that the sums stay finite and normal.
mod fma {
    use std::hint::black_box;

    const FACTOR: f32 = 0.999_9;
    const SUMMAND: f32 = 1e-4;

    // ANCHOR: fma_peak
    /// 12 accumulators of 8 lanes in the 16 registers.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    pub fn avx2(rounds: u64) -> f64 {
        use std::arch::x86_64::{_mm256_add_ps, _mm256_fmadd_ps, _mm256_set1_ps};
        let (factor, summand) = (_mm256_set1_ps(FACTOR), _mm256_set1_ps(SUMMAND));
        // Equal accumulators would be folded into one: start them apart.
        let start = |i: usize| _mm256_set1_ps(black_box(i as f32));
        let mut sums: [_; 12] = std::array::from_fn(start);
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, summand);
            }
        }
        black_box(sums.into_iter().reduce(|a, b| _mm256_add_ps(a, b)));
        (rounds * 12 * 8 * 2) as f64
    }
    // ANCHOR_END: fma_peak

    /// 24 accumulators of 16 lanes in the 32 registers.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    pub fn avx512(rounds: u64) -> f64 {
        use std::arch::x86_64::{_mm512_add_ps, _mm512_fmadd_ps, _mm512_set1_ps};
        let (factor, summand) = (_mm512_set1_ps(FACTOR), _mm512_set1_ps(SUMMAND));
        let mut sums: [_; 24] = std::array::from_fn(|i| _mm512_set1_ps(black_box(i as f32)));
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, summand);
            }
        }
        black_box(sums.into_iter().reduce(|a, b| _mm512_add_ps(a, b)));
        (rounds * 24 * 16 * 2) as f64
    }

    /// Accumulators of 4 lanes, the width of SSE2 and NEON, in plain Rust.
    pub fn portable(rounds: u64) -> f64 {
        // 64-bit Arm has 32 registers, and Apple's cores start four FMAs in a cycle.
        const SUMS: usize = if cfg!(target_arch = "aarch64") { 24 } else { 12 };
        let mut sums: [[f32; 4]; SUMS] = std::array::from_fn(|i| [black_box(i as f32); 4]);
        for _ in 0..rounds {
            for sum in &mut sums {
                for lane in sum {
                    // Where the target has no FMA, `mul_add` calls a slow function that rounds once.
                    *lane = if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
                        // Arm's FMA adds into its own register: the sum is what is added to.
                        FACTOR.mul_add(SUMMAND, *lane)
                    } else {
                        *lane * FACTOR + SUMMAND
                    };
                }
            }
        }
        black_box(sums);
        (rounds as usize * SUMS * 4 * 2) as f64
    }
}

/// Pairs of bf16 in vectors. The caller has seen [`machine::avx512_bf16`].
#[cfg(target_arch = "x86_64")]
mod pairs {
    use std::hint::black_box;

    /// 24 accumulators of 16 lanes; an instruction adds two products to each lane.
    #[target_feature(enable = "avx512bf16,avx512f")]
    pub fn run(rounds: u64) -> f64 {
        use std::arch::x86_64::{
            __m512bh, __m512i, _mm512_add_ps, _mm512_dpbf16_ps, _mm512_set1_epi32, _mm512_set1_ps,
        };
        // SAFETY: both are 64 bytes of numbers.
        let pairs = |word: i32| unsafe {
            std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(black_box(word)))
        };
        // Pairs of 1 and of 2⁻¹⁰: the sums grow slowly and stay normal.
        let (factor, summand) = (pairs(0x3f80_3f80), pairs(0x3a80_3a80));
        let mut sums: [_; 24] = std::array::from_fn(|i| _mm512_set1_ps(black_box(i as f32)));
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = _mm512_dpbf16_ps(*sum, factor, summand);
            }
        }
        black_box(sums.into_iter().reduce(|a, b| _mm512_add_ps(a, b)));
        (rounds * 24 * 16 * 4) as f64
    }
}

/// Bf16 tiles: the CPU's matrix unit. The caller has seen [`machine::amx_bf16`].
#[cfg(target_arch = "x86_64")]
mod amx {
    use std::{arch::asm, hint::black_box};

    /// The layout that LDTILECFG reads (Intel SDM, volume 2, LDTILECFG).
    #[repr(C, align(64))]
    struct Config {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    #[repr(align(64))]
    struct Tile([u16; 16 * 32]);

    /// Runs `rounds` times four products of 16×32 by 32×16 tiles into four sums, so that none waits for
    /// itself, and returns how many operations that were.
    ///
    /// # Safety
    /// The process has the permission to use AMX, and the CPU has AMX-BF16.
    pub unsafe fn run(rounds: u64) -> f64 {
        if rounds == 0 {
            return 0.0;
        }
        let mut config = Config {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        config.row_bytes[..8].fill(64);
        config.rows[..8].fill(16);
        let ones = Tile([0x3f80; 16 * 32]);
        let mut sums = Tile([0; 16 * 32]);
        // SAFETY: eight tiles of 16 rows by 64 bytes are configured; all loads and the store stay in the two
        // tiles of 1 KiB that are borrowed here; the tiles' state is released before Rust goes on.
        unsafe {
            asm!(
                "ldtilecfg [{config}]",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "tileloadd tmm4, [{ones} + {stride}]",
                "tileloadd tmm5, [{ones} + {stride}]",
                "tileloadd tmm6, [{ones} + {stride}]",
                "tileloadd tmm7, [{ones} + {stride}]",
                "2:",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "dec {rounds}",
                "jnz 2b",
                "tilestored [{sums} + {stride}], tmm0",
                "tilerelease",
                config = in(reg) &raw const config,
                ones = in(reg) ones.0.as_ptr(),
                sums = in(reg) sums.0.as_mut_ptr(),
                stride = in(reg) 64_u64,
                rounds = inout(reg) rounds => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
        black_box(&sums.0);
        (rounds * 4 * 2 * 16 * 16 * 32) as f64
    }
}

crate::named! {
    /// How memory is traversed. Bytes are counted as the program names them: those that a CPU reads before
    /// it overwrites them (write-allocate) are not, though the memory also moves them.
    #[derive(PartialOrd, Ord)]
    pub enum Traffic("traffic") {
        /// A sum over an array: 8 bytes an element.
        Read = "read",
        /// One array into another: 16 bytes an element, read and written.
        Copy = "copy",
        /// `a = b + s·c`, as in STREAM (J. D. `McCalpin`, 1995): 24 bytes an element.
        Triad = "triad",
    }
}

impl Traffic {
    /// Bytes that the program reads and writes for each element of 8 bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Read => 8,
            Self::Copy => 16,
            Self::Triad => 24,
        }
    }

    /// Passes once over the arrays.
    fn walk(self, a: &mut [f64], b: &[f64], c: &[f64]) {
        match self {
            Self::Read => {
                // Sixteen sums: one would wait for itself at every addition.
                let mut sums = [0.0; 16];
                for chunk in b.chunks_exact(16) {
                    for (sum, x) in sums.iter_mut().zip(chunk) {
                        *sum += x;
                    }
                }
                black_box(sums.iter().sum::<f64>());
            }
            Self::Copy => a.copy_from_slice(b),
            Self::Triad => {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = b + 3.0 * c;
                }
            }
        }
        black_box(a);
    }
}

/// What does arithmetic in a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// f32 in vectors.
    FmaF32,
    /// bf16 in vectors: AVX512-BF16.
    PairsBf16,
    /// bf16 in tiles: AMX.
    AmxBf16,
}

impl Unit {
    /// Samples of the rate in FLOP/s of `threads` cores together; `None` where this CPU has no such unit.
    pub fn samples(self, threads: usize, plan: Plan) -> Option<Samples> {
        match self {
            Self::FmaF32 => Some(fma_f32_samples(threads, plan)),
            #[cfg(target_arch = "x86_64")]
            Self::PairsBf16 if machine::avx512_bf16() => {
                // SAFETY: the CPU has the instructions.
                Some(arithmetic(threads, plan, |rounds| unsafe { pairs::run(rounds) }))
            }
            #[cfg(target_arch = "x86_64")]
            Self::AmxBf16 if machine::amx_bf16() => {
                // SAFETY: `amx_bf16` has seen the instructions and got the permission, for every thread.
                Some(arithmetic(threads, plan, |rounds| unsafe { amx::run(rounds) }))
            }
            _ => None,
        }
    }

    /// The best of some samples, measured once in a process (0.2 s).
    fn peak(self, threads: usize) -> Option<Limit> {
        let threads = threads.max(1);
        let what = match self {
            Self::FmaF32 => format!("FMA peak ({})", Width::best().name()),
            Self::PairsBf16 => "AVX512-BF16 peak".to_owned(),
            Self::AmxBf16 => "AMX bf16 peak".to_owned(),
        };
        let value = once(Kind::Unit(self), threads, || self.samples(threads, QUICK))?;
        Some(Limit { name: format!("{} {what}", cores_of(threads)), value })
    }
}

/// The f32 peak of `threads` cores, measured once in a process (0.2 s): the best of its samples.
///
/// ```
/// let peak = lab::peak::fma_f32(1);
/// assert!(peak.value > 1e8, "{} is {}", peak.name, lab::Unit::FlopsPerSecond.format(peak.value));
/// ```
pub fn fma_f32(threads: usize) -> Limit {
    Unit::FmaF32.peak(threads).expect("every CPU has one")
}

/// The bf16 peak of `threads` cores' vectors, measured once in a process; `None` where there is no AVX512-BF16.
pub fn pairs_bf16(threads: usize) -> Option<Limit> {
    Unit::PairsBf16.peak(threads)
}

/// The bf16 peak of `threads` cores' matrix units, measured once in a process; `None` where there is no AMX.
pub fn amx_bf16(threads: usize) -> Option<Limit> {
    Unit::AmxBf16.peak(threads)
}

/// The memory bandwidth that `threads` cores reach, measured once in a process: the best of its samples.
pub fn bandwidth(traffic: Traffic, threads: usize) -> Limit {
    let threads = threads.max(1);
    let samples = || Some(bandwidth_samples(traffic, threads, QUICK));
    Limit {
        name: format!("{} memory bandwidth ({})", cores_of(threads), traffic.name()),
        value: once(Kind::Memory(traffic), threads, samples).expect("every CPU has memory"),
    }
}

/// Samples of the f32 rate in FLOP/s of `threads` cores together.
pub fn fma_f32_samples(threads: usize, plan: Plan) -> Samples {
    let width = Width::best();
    arithmetic(threads, plan, |rounds| width.run(rounds))
}

/// Samples of the bandwidth in B/s that `threads` cores reach together.
pub fn bandwidth_samples(traffic: Traffic, threads: usize, plan: Plan) -> Samples {
    walk_samples(traffic, threads, plan, array_elements(threads))
}

fn walk_samples(traffic: Traffic, threads: usize, plan: Plan, elements: usize) -> Samples {
    let each = (elements / threads.max(1)).next_multiple_of(16);
    let used = |wanted: bool| if wanted { each } else { 0 };
    let arrays = || {
        // Each thread makes its own arrays: the pages then lie near its core.
        let a = vec![1.0; used(traffic != Traffic::Read)];
        (a, vec![2.0; each], vec![3.0; used(traffic == Traffic::Triad)])
    };
    let bytes = (each * threads.max(1) * traffic.bytes()) as f64;
    together(threads, plan, arrays, |(a, b, c)| traffic.walk(a, b, c)).map(|s| bytes / s)
}

/// A limit should be found fast: others wait for it.
const QUICK: Plan = Plan {
    warm_up: Duration::from_millis(40),
    time: Duration::from_millis(160),
    min_samples: 5,
    max_samples: 40,
};

/// Elements of 8 bytes in each of the arrays, of which there are up to three, over all threads together. No cache holds them:
/// for each thread four times the second and third cache that the first core sees, as if none were shared; at least 64 MiB, but
/// at most a sixteenth of the memory.
fn array_elements(threads: usize) -> usize {
    let (caches, memory) = machine::caches_and_memory();
    let caches = caches.l3.unwrap_or(0) + caches.l2.unwrap_or(0);
    let room = if memory == 0 { 256 << 20 } else { memory / 16 };
    let wanted = 4 * caches * threads.max(1) as u64;
    (wanted.max(64 << 20).min(room.max(1 << 20)) / 8) as usize
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unit(Unit),
    Memory(Traffic),
}

/// The best sample of a measurement, taken the first time that it is asked for. A caller at the same time
/// waits: two measurements at once would halve each other.
fn once(kind: Kind, threads: usize, measure: impl FnOnce() -> Option<Samples>) -> Option<f64> {
    static KNOWN: Mutex<BTreeMap<(Kind, usize), Option<f64>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry((kind, threads)).or_insert_with(|| Some(measure()?.quantile(1.0)))
}

/// The rate of a kernel that takes a number of rounds and returns how many operations they were.
fn arithmetic(threads: usize, plan: Plan, kernel: impl Fn(u64) -> f64 + Sync) -> Samples {
    // Rounds for some 8 ms: long next to the threads' meeting, short next to the time that there is.
    let mut rounds = 1000;
    loop {
        let began = Instant::now();
        kernel(rounds);
        let took = began.elapsed().as_secs_f64();
        if took > 1e-3 {
            rounds = (rounds as f64 * 8e-3 / took).max(1.0) as u64;
            break;
        }
        rounds *= 2;
    }
    let operations = kernel(rounds) * threads.max(1) as f64;
    let work = |(): &mut ()| {
        black_box(kernel(rounds));
    };
    let seconds = together(threads, plan, || (), work);
    seconds.map(|seconds| operations / seconds)
}

/// Seconds from the moment when all threads start `work` to the moment when the last one has ended it.
fn together<State>(
    threads: usize,
    plan: Plan,
    prepare: impl Fn() -> State + Sync,
    work: impl Fn(&mut State) + Sync,
) -> Samples {
    let others = threads.max(1) - 1;
    let barrier = Barrier::new(others + 1);
    let done = AtomicBool::new(false);
    // Waits for all threads; whether there is another round.
    let starts = || {
        barrier.wait();
        !done.load(Relaxed)
    };
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                let mut state = prepare();
                while starts() {
                    work(&mut state);
                    barrier.wait();
                }
            });
        }
        let mut state = prepare();
        let samples = crate::measure::time(plan, || {
            starts();
            work(&mut state);
            barrier.wait();
        });
        done.store(true, Relaxed);
        barrier.wait();
        samples
    })
}

/// `one core's`, `two cores'`, `16 cores'`.
fn cores_of(threads: usize) -> String {
    const WORDS: [&str; 9] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"];
    match (threads, WORDS.get(threads)) {
        (1, _) => "one core's".to_owned(),
        (_, Some(word)) => format!("{word} cores'"),
        _ => format!("{threads} cores'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Plan = Plan::within(Duration::from_millis(20), 3, 10);

    #[test]
    fn every_kernel_counts_its_operations() {
        assert!(fma::portable(0).abs() < 1.0);
        let rounds = 1000;
        let lanes = match Width::best() {
            Width::Any => 4.0 * if cfg!(target_arch = "aarch64") { 24.0 } else { 12.0 },
            Width::Avx2 => 8.0 * 12.0,
            Width::Avx512 => 16.0 * 24.0,
        };
        assert!((Width::best().run(rounds) - 2.0 * lanes * rounds as f64).abs() < 1.0);
    }

    /// The rule has no clock, so the clock is held against it: pairs are never taken where f32 is clearly faster, nor left
    /// where it is clearly slower.
    #[test]
    fn pairs_pay_where_they_are_faster_than_f32() {
        let agree = || match Unit::PairsBf16.samples(1, SHORT) {
            None => !machine::pairs_pay(),
            Some(pairs) => {
                let ratio = pairs.quantile(1.0) / fma_f32_samples(1, SHORT).quantile(1.0);
                (0.7..1.4).contains(&ratio) || machine::pairs_pay() == (ratio > 1.0)
            }
        };
        // On a busy machine a moment may belong to others.
        assert!((0..5).any(|_| agree()));
    }

    #[test]
    fn a_peak_is_measured_once_and_has_the_threads_in_its_name() {
        let first = fma_f32(1);
        assert!(first.value > 1e8, "{first:?}");
        assert_eq!(fma_f32(1), first);
        assert_eq!(fma_f32(0), first);
        assert!(first.name.starts_with("one core's FMA peak ("), "{}", first.name);
        let two = fma_f32(2);
        assert!(two.name.starts_with("two cores' FMA peak ("), "{}", two.name);
        assert_eq!(cores_of(16), "16 cores'");
    }

    #[test]
    fn arithmetic_beats_the_portable_kernel_or_is_it() {
        let portable = arithmetic(1, SHORT, fma::portable).quantile(1.0);
        let best = fma_f32_samples(1, SHORT).quantile(1.0);
        // Half: another test may hold the core for a while.
        assert!(best > 0.5 * portable, "{best} against {portable}");
    }

    #[test]
    fn there_is_a_peak_of_bf16_exactly_where_the_cpu_has_the_unit() {
        let named = machine::Machine::of_cpu().features;
        for (limit, feature) in [(pairs_bf16(1), "avx512bf16"), (amx_bf16(1), "amx-bf16")] {
            assert_eq!(limit.is_some(), named.contains(&feature.to_owned()));
            assert!(limit.is_none_or(|limit| limit.value > 1e10), "{feature}");
        }
    }

    #[test]
    fn every_walk_reads_and_writes_what_it_says() {
        let (b, c): (Vec<f64>, Vec<f64>) =
            (0..64).map(|i| (f64::from(i), f64::from(2 * i))).unzip();
        let mut a = vec![-1.0; 64];
        Traffic::Read.walk(&mut a, &b, &c);
        assert_eq!(a, vec![-1.0; 64]);
        Traffic::Copy.walk(&mut a, &b, &c);
        assert_eq!(a, b);
        Traffic::Triad.walk(&mut a, &b, &c);
        assert_eq!(a, b.iter().map(|b| 7.0 * b).collect::<Vec<_>>());
        assert_eq!(Traffic::ALL.map(Traffic::bytes), [8, 16, 24]);
    }

    #[test]
    fn a_walk_has_a_rate_for_any_number_of_threads() {
        for threads in [1, 3] {
            for traffic in Traffic::ALL {
                let samples = walk_samples(traffic, threads, SHORT, 1 << 16);
                assert!(samples.0.len() >= SHORT.min_samples);
                assert!(
                    samples.0.iter().all(|&rate| rate.is_finite() && rate > 1e6),
                    "{samples:?}"
                );
            }
        }
    }

    #[test]
    fn arrays_outgrow_the_caches_and_spare_the_memory() {
        let (caches, memory) = machine::caches_and_memory();
        for threads in [1, 2, 64] {
            let bytes = 8 * array_elements(threads) as u64;
            let room = (memory / 16).max(1 << 20);
            assert!(memory == 0 || bytes <= room, "{bytes} of {memory}");
            let outgrown = bytes >= 4 * threads as u64 * caches.l3.unwrap_or(0);
            assert!(memory == 0 || outgrown || bytes >= room / 8 * 8, "{bytes}");
        }
    }

    #[test]
    fn all_threads_take_part_in_every_round() {
        let count = Mutex::new(0);
        let samples = together(3, SHORT, || (), |()| *count.lock().unwrap() += 1);
        // One round of warm-up comes before the samples.
        assert_eq!(*count.lock().unwrap(), 3 * (samples.0.len() + 1));
    }
}
