//! The CPU: products by chapter 1, kernels in blocks of rows on chapter 1's threads.

use crate::{
    backend::{Backend, Form},
    memory::Memory,
    ops::relu::at_least,
    plan::Plan,
    program::{Call, Collective, Numbers, Product, Program, What, Work, block_of, blocks_of},
    ranks::{self, Failed, Ranks},
    spans::Bases,
    state,
    tensor::{Matrix, Place, Tensor},
    words,
};
use matmul::{Epilogue, MatMut, MatRef, Options, Threads, bgemm, sgemm, team};
use std::{
    borrow::Cow,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// A group with less to do, in bytes or operations, is not worth a second thread: about 10 µs of work.
const WORTH: usize = 1 << 16;

/// Memory and threads.
pub struct Cpu {
    /// The next block of each thread, and what keeps it from the next one's cache line.
    next: Vec<[AtomicUsize; 8]>,
    lasting: [Memory; Place::LASTING.len()],
    arena: Memory,
    scratch: Memory,
    /// The way to other ranks, and what went wrong there.
    ranks: Option<Mutex<Box<dyn Ranks>>>,
    failed: Option<Failed>,
    /// What it may do.
    pub ways: Ways,
    /// Whether [`Loaded::profile`] has something to tell; looking at the clock takes some time, too.
    pub clock: bool,
}

/// What makes a step fast, each to be left out to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Whether bias and `ReLU` are part of a product, and a block of rows goes through several kernels while it is in
    /// the cache.
    pub fused: bool,
    /// Whether all temporaries lie where the plan put them, and not in memory that each step asks the system for.
    pub planned: bool,
    /// Whether the gradient of the data, which nobody reads, is left out.
    pub unused: bool,
}

impl Default for Ways {
    fn default() -> Self {
        Self { fused: true, planned: true, unused: true }
    }
}

/// A program and its plan.
pub struct Loaded {
    /// Its calls.
    pub calls: Vec<Call>,
    /// What runs as one, and where everything lies.
    pub plan: Plan,
    /// What is read when it has run.
    pub outputs: Vec<Tensor>,
    /// Whether a group of kernels has less to do than is worth a second thread.
    small: Vec<bool>,
    /// What the threads have spent in each call of the group that runs.
    spent: Vec<AtomicU64>,
    nanoseconds: Vec<AtomicU64>,
    /// Runs with the clock.
    pub runs: AtomicU64,
}

impl Cpu {
    /// So many threads, at least one.
    pub fn new(threads: usize) -> Self {
        Self {
            next: (0..threads.max(1)).map(|_| Default::default()).collect(),
            lasting: Default::default(),
            arena: Memory::default(),
            scratch: Memory::default(),
            ranks: None,
            failed: None,
            ways: Ways::default(),
            clock: false,
        }
    }

    /// One of several.
    #[must_use]
    pub fn with_ranks(self, ranks: impl Ranks + 'static) -> Self {
        Self { ranks: Some(Mutex::new(Box::new(ranks))), ..self }
    }

    /// Bytes of a buffer.
    pub fn bytes(&self, place: Place) -> usize {
        size_of_val(self.lasting[place.lasting()].slice())
    }

    /// The numbers of a tensor that outlives its program.
    pub fn slice(&self, tensor: Tensor) -> &[f32] {
        let memory = &self.lasting[tensor.place.lasting()];
        &memory.slice()[tensor.start..tensor.start + tensor.words()]
    }

    /// The same, to be written.
    pub fn slice_mut(&mut self, tensor: Tensor) -> &mut [f32] {
        let memory = &mut self.lasting[tensor.place.lasting()];
        &mut memory.slice_mut()[tensor.start..tensor.start + tensor.words()]
    }

    /// The numbers of two tensors of different places.
    pub fn slices_mut(&mut self, tensors: [Tensor; 2]) -> [&mut [f32]; 2] {
        let places = tensors.map(|tensor| tensor.place.lasting());
        let memory = self.lasting.get_disjoint_mut(places).expect("two places");
        let [one, two] = memory.map(Memory::slice_mut);
        let [a, b] = tensors.map(|tensor| tensor.start..tensor.start + tensor.words());
        [&mut one[a], &mut two[b]]
    }

    /// Where everything lies while a program runs.
    fn bases<'a>(&mut self, loaded: &'a Loaded) -> Bases<'a> {
        let lasting = self.lasting.each_mut().map(Memory::start);
        let (arena, scratch) = (self.arena.start(), self.scratch.start());
        Bases { plan: &loaded.plan, lasting, arena, scratch }
    }

    /// How many threads a pass over so many words is worth.
    pub fn threads_for(&self, words: usize) -> usize {
        self.next.len().min(4 * words / WORTH).max(1)
    }

    /// Calls `work` with a thread and a block, once for each block.
    fn each_block(&self, units: usize, alone: bool, work: impl Fn(usize, usize) + Sync) {
        // ANCHOR: blocks
        let threads = if alone { 1 } else { self.next.len() };
        let first = |thread| thread * blocks_of(units) / threads;
        for (thread, next) in self.next[..threads].iter().enumerate() {
            next[0].store(first(thread), Relaxed);
        }
        team::run(threads, &|thread| {
            // Its own blocks, and then what others have not begun.
            for of in (thread..threads).chain(0..thread) {
                loop {
                    let block = self.next[of][0].fetch_add(1, Relaxed);
                    if block >= first(of + 1) {
                        break;
                    }
                    work(thread, block);
                }
            }
        });
        // ANCHOR_END: blocks
    }

    /// Takes block after block through the calls of a group.
    fn rows(
        &self,
        loaded: &Loaded,
        bases: &Bases,
        group: &Range<usize>,
        (units, small): (usize, bool),
    ) {
        let (calls, spent) = (&loaded.calls[group.clone()], &loaded.spent[group.clone()]);
        self.each_block(units, small, |thread, block| {
            for (call, spent) in calls.iter().zip(spent) {
                if let Work::Rows(rows) = &call.work {
                    self.timed(spent, || bases.kernel(rows, block, thread));
                }
            }
        });
    }

    fn product(&self, bases: &Bases, product: &Product) {
        let Product { c, a, b, accumulate, numbers, epilogue, units } = product;
        let matrix = |m: &Matrix| {
            let rows = MatRef::new(bases.whole(m.tensor), m.tensor.rows, m.tensor.cols);
            let rows = rows.expect("a tensor has the words of its shape");
            if m.transposed { rows.t() } else { rows }
        };
        // `ReLU` alone comes behind a bias of zeros.
        let zeros = vec![0.0; if epilogue.relu && epilogue.bias.is_none() { c.cols } else { 0 }];
        let bias = epilogue.bias.map(|bias| bases.whole(bias)).or(epilogue.relu.then_some(&zeros));
        let fused = match (bias.filter(|_| self.ways.fused), epilogue.relu) {
            (Some(bias), true) => Epilogue::BiasRelu(bias),
            (Some(bias), false) => Epilogue::Bias(bias),
            (None, _) => Epilogue::None,
        };
        let threads = Threads::Count(self.next.len()); // at most: a product asks for as many as it is worth
        let options = Options { accumulate: *accumulate, epilogue: fused, threads };
        let whole = Bases::written(bases.span(c.whole(), 1, 0, 0));
        let sums = MatMut::new(whole, c.rows, c.cols).expect("as above");
        // ANCHOR: numbers
        match numbers {
            Numbers::Bf16 => bgemm(sums, matrix(a), matrix(b), options),
            Numbers::F32 | Numbers::F16 => sgemm(sums, matrix(a), matrix(b), options),
        }
        .expect("the recorder has seen the shapes");
        // ANCHOR_END: numbers
        let each = |work: &(dyn Fn(usize, &mut [f32]) + Sync)| {
            self.each_block(*units, c.words() < WORTH / 8, |_, block| {
                let first = block * block_of(*units) * (c.words() / units);
                work(first, Bases::written(bases.span(c.by_rows(), *units, block, 0)));
            });
        };
        if let Some(bias) = bias.filter(|_| !self.ways.fused) {
            let floor = if epilogue.relu { 0.0 } else { f32::NEG_INFINITY };
            each(&|_, y| {
                lab::wide!(|| for row in y.chunks_exact_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(y, bias)| *y = at_least(floor, *y + bias));
                });
            });
        }
        if let Some(dropout) = epilogue.dropout {
            let state = bases.whole(dropout.state);
            let first = words::whole(state)[state::FIRST] as usize + dropout.first;
            let before = first * (c.words() / units);
            each(&|first, y| dropout.apply(state, before + first, y));
        }
    }

    /// Does something with other ranks.
    fn collective(&mut self, bases: &Bases, collective: &Collective) -> Result<(), Failed> {
        let Collective { what, group, given, result } = *collective;
        let given = given.map_or(&[][..], |given| bases.whole(given));
        let numbers =
            result.map_or(&mut [][..], |to| Bases::written(bases.span(to.whole(), 1, 0, 0)));
        let copied = !matches!(what, What::Message { .. } | What::Begin);
        if copied && !given.is_empty() {
            numbers.copy_from_slice(given);
        }
        let ranks = self.ranks.as_mut().ok_or("this device has no other ranks to speak to")?;
        ranks.get_mut().map_err(|_| "a rank has panicked")?.meet(what, group, given, numbers)
    }

    /// Adds a thread's time in `work` to what was spent, if the clock runs.
    fn timed(&self, spent: &AtomicU64, work: impl FnOnce()) {
        if !self.clock {
            return work();
        }
        let start = Instant::now();
        work();
        spent.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
    }
}

impl Backend for Cpu {
    type Loaded = Loaded;
    type Fetching = Vec<f32>;

    fn form(&self) -> Form {
        Form { unused: self.ways.unused, ..Form::CPU }
    }

    fn allocate(&mut self, place: Place, words: usize) {
        self.lasting[place.lasting()].at_least(words);
    }

    fn write(&mut self, to: Tensor, words: &[f32]) {
        self.slice_mut(to).copy_from_slice(words);
    }

    fn read(&self, from: Tensor) -> Cow<'_, [f32]> {
        self.slice(from).into()
    }

    fn load(&mut self, program: Program) -> Loaded {
        let plan = Plan::new(&program, self.ways.fused);
        self.arena.at_least(plan.arena);
        self.scratch.at_least(plan.scratch * self.next.len());
        let Program { calls, outputs, .. } = program;
        let work = |call: &Call| call.bytes().max(call.flops as usize);
        let small =
            |group: &Range<usize>| calls[group.clone()].iter().map(work).sum::<usize>() < WORTH;
        let small = plan.groups.iter().map(small).collect();
        let [spent, nanoseconds] =
            [(); 2].map(|()| calls.iter().map(|_| AtomicU64::new(0)).collect());
        Loaded { calls, plan, outputs, small, spent, nanoseconds, runs: AtomicU64::new(0) }
    }

    fn told(&mut self) -> Result<(), Failed> {
        ranks::told(&mut self.failed)
    }

    fn run(&mut self, loaded: &Loaded) {
        if self.failed.is_some() {
            return;
        }
        if !self.ways.planned && loaded.plan.arena > 0 {
            self.arena = Memory::default();
            self.arena.at_least(loaded.plan.arena);
        }
        let bases = self.bases(loaded);
        let mut since = self.clock.then(Instant::now);
        loaded.runs.fetch_add(u64::from(self.clock), Relaxed);
        for (group, small) in loaded.plan.groups.iter().zip(&loaded.small) {
            let (call, spent) = (&loaded.calls[group.start], &loaded.spent[group.start]);
            match &call.work {
                Work::Rows(rows) => self.rows(loaded, &bases, group, (rows.units, *small)),
                Work::Product(product) => {
                    self.timed(spent, || self.product(&bases, product));
                }
                Work::Collective(collective) => {
                    spent.store(1, Relaxed); // all of the call's time is its own
                    if let Err(why) = self.collective(&bases, collective) {
                        self.failed = Some(why);
                        return;
                    }
                }
            }
            if let Some(since) = &mut since {
                let now = Instant::now();
                loaded.count(group, now - std::mem::replace(since, now));
            }
        }
    }

    /// # Panics
    /// If another program has run since, which takes less memory, and the memory was not planned: see [`Ways::planned`].
    fn fetch(&mut self, loaded: &Loaded, number: usize) -> Vec<f32> {
        assert!(self.arena.slice().len() >= loaded.plan.arena, "the program has not run");
        self.bases(loaded).whole(loaded.outputs[number]).to_vec()
    }

    fn fetched(&mut self, fetching: Vec<f32>) -> Vec<f32> {
        fetching
    }
}

impl Loaded {
    /// Each of a group's calls has the part of its time that threads have spent in the call, however many these were. So the
    /// calls' times add up to the program's.
    fn count(&self, group: &Range<usize>, time: Duration) {
        let spent: Vec<u64> =
            self.spent[group.clone()].iter().map(|spent| spent.swap(0, Relaxed)).collect();
        let all = spent.iter().sum::<u64>().max(1) as f64;
        for (sum, spent) in self.nanoseconds[group.clone()].iter().zip(spent) {
            sum.fetch_add((time.as_nanos() as f64 * spent as f64 / all) as u64, Relaxed);
        }
    }

    /// Each call with its seconds of all runs since it was loaded.
    pub fn profile(&self) -> impl Iterator<Item = (&Call, f64)> {
        let seconds = self.nanoseconds.iter().map(|spent| spent.load(Relaxed) as f64 * 1e-9);
        self.calls.iter().zip(seconds)
    }
}
