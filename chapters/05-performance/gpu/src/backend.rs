//! A GPU as the engine's backend: each call of a program is one launch or a few, and on CUDA all of them are one graph.

use crate::{
    cast::{FORM, Home, Launches, Meeting, Planned, Range, launches},
    graph::Graph,
    kernels::{Kernels, SET, length},
};
use cpu_gpu::{
    Error, Result,
    gpu::{
        self, Arg, Buffer, Element as _, Fetching, Kernel,
        cuda::{Cuda, sentence},
        read_all,
        trace::Label,
        upload, write_all,
    },
};
use cudarc::driver::result::mem_get_info;
use engine::{
    backend::{Backend, Form},
    device::{Launch, Macros, Number},
    plan::Plan,
    program::{Call, Program},
    ranks::{self, Failed, Ranks},
    state,
    tensor::{Place, Tensor},
};
use lab::Unit;
use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
    iter::successors,
    ops,
    rc::Rc,
};

const ALONE: &str = "this device has no other ranks to speak to";

/// A device of chapter 2 with the engine's buffers.
///
/// What fails first is kept, and nothing is done after it: see [`Gpu::check`].
pub struct Gpu<'g> {
    /// The way to other ranks; dropped before the memory that they may still sum.
    ranks: RefCell<Option<Box<dyn Ranks>>>,
    device: &'g dyn gpu::Gpu,
    /// Whether CUDA's launches are recorded in graphs; a timeline wants to see each of them.
    pub graphs: bool,
    kernels: Kernels,
    lasting: [Option<Buffer>; Place::LASTING.len()],
    /// Sums of the slices of a product.
    parts: Option<Buffer>,
    /// What temporaries share, of all programs: one runs at a time.
    memory: Option<Buffer>,
    /// What others are given, or give, of a buffer that has more.
    exchange: Option<Buffer>,
    /// How often a buffer was replaced by a larger one: graphs know the addresses of those before.
    replaced: usize,
    failed: RefCell<Option<Failed>>,
}

/// A program on a device.
#[derive(Default)]
pub struct Loaded<'g> {
    /// Graphs by their first launches. Dropped before what they launch.
    graphs: RefCell<HashMap<usize, (usize, Graph<'g>)>>,
    /// Its calls.
    pub calls: Vec<Call>,
    /// Words of the memory that its temporaries share.
    pub arena: usize,
    launches: Vec<Ready>,
    meetings: Vec<Meeting>,
    table: Option<Buffer>,
    /// What is read when it has run, each in memory of its own.
    outputs: Vec<(Tensor, Buffer)>,
}

/// A launch with its kernel.
struct Ready {
    kernel: Rc<Kernel>,
    how: gpu::Launch,
    operands: Vec<(Home, u32)>,
    numbers: Vec<Number>,
    label: Label,
}

impl<'g> Gpu<'g> {
    /// A device with nothing on it.
    pub fn new(device: &'g dyn gpu::Gpu) -> Self {
        Self {
            ranks: RefCell::default(),
            device,
            graphs: true,
            kernels: Kernels::default(),
            lasting: Default::default(),
            parts: None,
            memory: None,
            exchange: None,
            replaced: 0,
            failed: RefCell::default(),
        }
    }

    /// One of several.
    #[must_use]
    pub fn with_ranks(self, ranks: impl Ranks + 'static) -> Self {
        Self { ranks: RefCell::new(Some(Box::new(ranks))), ..self }
    }

    /// What has failed since the device was opened, if anything has.
    ///
    /// # Errors
    /// The first thing that failed.
    pub fn check(&self) -> Result<()> {
        let failed = self.failed.borrow();
        failed.as_ref().map_or(Ok(()), |why| Err(Error::message(why.to_string())))
    }

    /// Bytes of the device's memory that nobody has: CUDA tells; of OpenCL's devices all of it is hoped for.
    ///
    /// # Errors
    /// The driver's.
    pub fn free(&self) -> Result<u64> {
        let Some(cuda) = self.device.as_cuda() else { return Ok(self.device.about().memory) };
        cuda.bind()?;
        let told = mem_get_info();
        let (free, _) = told.map_err(|e| {
            Error::message(sentence(&self.device.about().name, "tell its memory", e.0))
        })?;
        Ok(free as u64)
    }

    /// Refuses a step on a batch of so many, images or whatever `of` calls them, that needs more memory than is free, and says what
    /// would fit. So many replicas have a part of it each, and of them so many share this device; `bytes` tells what a part needs.
    ///
    /// # Errors
    /// A sentence; the driver's.
    pub fn fits(
        &self,
        batch: usize,
        of: &str,
        [replicas, here]: [usize; 2],
        bytes: impl Fn(usize) -> u64,
    ) -> Result<()> {
        let free = self.free()?;
        let needed = |batch: usize, replicas: usize| {
            bytes(batch.div_ceil(replicas)).saturating_mul(here.min(replicas) as u64)
        };
        if needed(batch, replicas) <= free {
            return Ok(());
        }
        let smaller = successors(Some(batch / 2), |rows| Some(rows / 2));
        let smaller = smaller.take_while(|rows| *rows >= replicas);
        let smaller = smaller.map(|rows| (rows, replicas, format!("--batch {rows}")));
        let fewer = (1..replicas).rev().map(|fewer| (batch, fewer, format!("--replicas {fewer}")));
        let fitting = smaller.chain(fewer).find(|(batch, some, _)| needed(*batch, *some) <= free);
        let way = fitting.map_or("--device cpu".to_owned(), |(.., way)| way);
        let by = if here > 1 { format!(" by {here} replicas") } else { String::new() };
        let [needed, free] =
            [needed(batch, replicas), free].map(|bytes| Unit::Bytes.format(bytes as f64));
        Err(Error::message(format!(
            "a step of {batch} {of}{by} needs {needed} on {}, which has {free} free; take {way}",
            self.device.about().name
        )))
    }

    /// What `work` gives, unless something failed before or fails now.
    fn noted<R, E>(&self, work: impl FnOnce() -> Result<R, E>) -> Option<R>
    where
        E: Into<Failed>,
    {
        if self.failed.borrow().is_some() {
            return None;
        }
        work().map_err(|why| *self.failed.borrow_mut() = Some(why.into())).ok()
    }

    fn lasting(&self, place: Place) -> Result<&Buffer> {
        let found = self.lasting[place.lasting()].as_ref();
        found.ok_or_else(|| Error::message(format!("{place:?} has no memory on the device")))
    }

    /// A buffer of at least so many words with what another one holds, and zeros behind it.
    fn larger(&self, old: Option<&Buffer>, words: usize) -> Result<Buffer> {
        length(words)?;
        let new = upload(self.device, &vec![0_u32; words])?;
        if let Some(old) = old {
            self.device.copy(old, &new, old.bytes.min(new.bytes))?;
        }
        Ok(new)
    }

    fn ready(&mut self, program: Program) -> Result<Loaded<'g>> {
        let plan = Plan::new(&program, false);
        let Launches { all, meetings, parts, table } = launches(&program, &plan)?;
        let ready = |Planned { launch, operands, label }| {
            let Launch { source, entry, macros, numbers, grid, block, .. } = launch;
            let kernel = self.kernels.get(self.device, (source, entry, &macros))?;
            Ok(Ready { kernel, how: gpu::Launch::new(grid, block), operands, numbers, label })
        };
        let launches = all.into_iter().map(ready).collect::<Result<_>>()?;
        let Program { calls, outputs, .. } = program;
        let ranges = meetings.iter().flat_map(|meeting| [meeting.given, meeting.result]).flatten();
        let parts_of = ranges.filter(|(_, start, _)| *start > 0);
        let most = parts_of.map(|(.., words)| words).max().unwrap_or(0);
        let all = [(&mut self.parts, parts), (&mut self.memory, plan.arena)];
        for (shared, words) in all.into_iter().chain([(&mut self.exchange, most)]) {
            if shared.as_ref().is_none_or(|known| known.bytes < 4 * words) {
                drop(shared.take()); // never two at a time
                *shared = Some(self.device.alloc(4 * words.max(1))?);
                self.replaced += 1;
            }
        }
        let table = Some(upload(self.device, &table)?);
        let own = |tensor: &Tensor| Ok((*tensor, self.device.alloc(4 * tensor.words())?));
        let outputs = outputs.iter().map(own).collect::<Result<_>>()?;
        let (arena, graphs) = (plan.arena, RefCell::default());
        Ok(Loaded { graphs, calls, arena, launches, meetings, table, outputs })
    }

    fn buffer<'b>(&'b self, loaded: &'b Loaded, home: Home) -> Result<&'b Buffer> {
        let there = match home {
            Home::Lasting(at) => self.lasting[at].as_ref(),
            Home::Memory => self.memory.as_ref(),
            Home::Output(at) => loaded.outputs.get(at).map(|(_, buffer)| buffer),
            Home::Parts => self.parts.as_ref(),
            Home::Table => loaded.table.as_ref(),
            Home::Exchange => self.exchange.as_ref(),
        };
        there.ok_or_else(|| Error::message("an operand has no memory on the device"))
    }

    fn launch(&self, loaded: &Loaded, all: ops::Range<usize>) -> Result<()> {
        for Ready { kernel, how, operands, numbers, label } in &loaded.launches[all] {
            let mut args = Vec::with_capacity(2 * operands.len() + numbers.len());
            for (home, start) in operands {
                args.extend([Arg::Buffer(self.buffer(loaded, *home)?), Arg::U32(*start)]);
            }
            args.extend(numbers.iter().map(|number| match number {
                Number::Whole(number) => Arg::U32(*number),
                Number::Real(number) => Arg::F32(*number),
            }));
            self.device.label(label);
            self.device.launch(kernel, *how, &args)?;
        }
        Ok(())
    }

    /// Starts what is between two meetings with other ranks, then meets them, and so on.
    fn start(&self, loaded: &Loaded<'g>) -> Result<(), Failed> {
        let mut from = 0;
        for meeting in &loaded.meetings {
            self.replay(loaded, from..meeting.after)?;
            self.meet(loaded, meeting)?;
            from = meeting.after;
        }
        Ok(self.replay(loaded, from..loaded.launches.len())?)
    }

    fn replay(&self, loaded: &Loaded<'g>, all: ops::Range<usize>) -> Result<()> {
        let cuda = self.device.as_cuda().filter(|_| self.graphs && !all.is_empty());
        let Some(cuda) = cuda else { return self.launch(loaded, all) };
        // ANCHOR: start
        let (mut graphs, first) = (loaded.graphs.borrow_mut(), all.start);
        graphs.retain(|_, (replaced, _)| *replaced == self.replaced);
        if let Entry::Vacant(empty) = graphs.entry(first) {
            // SAFETY: kernels and memory are the program's, which has the graph;
            // a buffer of the device is replaced only with another count, and
            // then this graph is not started again.
            let graph = unsafe { Graph::capture(cuda, || self.launch(loaded, all)) }?;
            empty.insert((self.replaced, graph));
        }
        graphs[&first].1.replay()
        // ANCHOR_END: start
    }

    // ANCHOR: meet
    /// What other ranks do with this one: where the numbers lie, if they can;
    /// else the numbers go to the host and come back.
    fn meet(&self, loaded: &Loaded, meeting: &Meeting) -> Result<(), Failed> {
        let Meeting { what: (what, group), given, result, .. } = *meeting;
        let mut ranks = self.ranks.borrow_mut();
        let ranks = ranks.as_mut().ok_or(ALONE)?;
        if let Some((cuda, at)) = self.device.as_cuda().zip(result.or(given)) {
            let numbers = (self.address(cuda, loaded, at)?, at.2);
            let mark = self.device.mark()?;
            let event = cuda.event(&mark)?;
            // SAFETY: the numbers are computed before the mark; a program uses
            // them again behind the meeting, or behind the end of what begins.
            let met = unsafe { ranks.meet_in_place(what, group, numbers, event) };
            if met?.is_some() {
                return Ok(());
            }
        }
        let given = self.words(loaded, given)?; // waits for the kernels before
        let mut numbers = self.words(loaded, result)?;
        ranks.meet(what, group, &given, &mut numbers)?;
        Ok(self.put(loaded, result, &numbers)?)
    }
    // ANCHOR_END: meet

    fn address(&self, cuda: &Cuda, loaded: &Loaded, (home, start, _): Range) -> Result<u64> {
        Ok(cuda.address(self.buffer(loaded, home)?)? + 4 * u64::from(start))
    }

    /// The numbers of a range, when all that was started is done.
    fn words(&self, loaded: &Loaded, range: Option<Range>) -> Result<Vec<f32>> {
        let Some((mut home, start, words)) = range else { return Ok(vec![]) };
        if start > 0 {
            self.copy(loaded, (home, start), (Home::Exchange, 0), words)?;
            home = Home::Exchange;
        }
        read_all(self.device, self.buffer(loaded, home)?, words)
    }

    fn put(&self, loaded: &Loaded, range: Option<Range>, values: &[f32]) -> Result<()> {
        let Some((home, start, words)) = range else { return Ok(()) };
        if start == 0 {
            return write_all(self.device, self.buffer(loaded, home)?, values);
        }
        write_all(self.device, self.buffer(loaded, Home::Exchange)?, values)?;
        self.copy(loaded, (Home::Exchange, 0), (home, start), words)
    }

    fn copy(
        &self,
        loaded: &Loaded,
        from: (Home, u32),
        to: (Home, u32),
        words: usize,
    ) -> Result<()> {
        let Launch { source, entry, macros, grid, block, .. } = ranks::copy(words);
        let kernel = self.kernels.get(self.device, (source, entry, &macros))?;
        let (a, b) = (self.buffer(loaded, from.0)?, self.buffer(loaded, to.0)?);
        let args = [Arg::Buffer(a), Arg::U32(from.1), Arg::Buffer(b), Arg::U32(to.1)];
        let args = [&args[..], &[Arg::U32(words as u32)]].concat();
        self.device.launch(&kernel, gpu::Launch::new(grid, block), &args)
    }

    /// Starts the kernel that sets the words of the state that a host tells.
    fn set(&self, words: &[f32]) -> Result<()> {
        let kernel = self.kernels.get(self.device, (SET, "set", &Macros::new()))?;
        let mut args = vec![Arg::Buffer(self.lasting(Place::State)?)];
        args.extend(words.iter().map(|word| Arg::U32(word.to_bits())));
        self.device.launch(&kernel, gpu::Launch::new([1, 1], [1, 1]), &args)
    }

    fn copy_to(&self, to: Tensor, words: &[f32]) -> Result<()> {
        let buffer = self.lasting(to.place)?;
        if to.start == 0 {
            return write_all(self.device, buffer, words);
        }
        let mut all = read_all::<f32>(self.device, buffer, to.start + words.len())?;
        all[to.start..].copy_from_slice(words);
        write_all(self.device, buffer, &all)
    }
}

impl Loaded<'_> {
    /// Kernels that a run of it launches.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }
}

impl<'g> Backend for Gpu<'g> {
    type Loaded = Loaded<'g>;
    type Fetching = Option<Fetching>;

    fn form(&self) -> Form {
        FORM
    }

    fn allocate(&mut self, place: Place, words: usize) {
        let at = place.lasting();
        let known = self.lasting[at].as_ref();
        if known.is_some_and(|known| known.bytes >= 4 * words) {
            return;
        }
        if let Some(new) = self.noted(|| self.larger(known, words)) {
            self.lasting[at] = Some(new);
            self.replaced += 1;
        }
    }

    fn write(&mut self, to: Tensor, words: &[f32]) {
        self.noted(|| match to.place {
            Place::State if words.len() == state::TOLD => self.set(words),
            _ => self.copy_to(to, words),
        });
    }

    fn read(&self, from: Tensor) -> Cow<'_, [f32]> {
        let end = from.start + from.words();
        let all = self.noted(|| read_all::<f32>(self.device, self.lasting(from.place)?, end));
        let all = all.unwrap_or_else(|| vec![0.0; end]);
        all[from.start..].to_vec().into()
    }

    fn load(&mut self, program: Program) -> Loaded<'g> {
        if self.check().is_err() {
            return Loaded::default();
        }
        let loaded = self.ready(program);
        loaded.unwrap_or_else(|why| {
            *self.failed.borrow_mut() = Some(why.into());
            Loaded::default()
        })
    }

    fn run(&mut self, loaded: &Loaded<'g>) {
        self.noted(|| self.start(loaded));
    }

    fn fetch(&mut self, loaded: &Loaded<'g>, number: usize) -> Option<Fetching> {
        let (tensor, buffer) = loaded.outputs.get(number)?;
        self.noted(|| self.device.fetch(buffer, 4 * tensor.words()))
    }

    fn fetched(&mut self, fetching: Option<Fetching>) -> Vec<f32> {
        let bytes = fetching.and_then(|own| self.noted(|| self.device.fetched(own)));
        bytes.map(|bytes| f32::values(&bytes)).unwrap_or_default()
    }

    fn told(&mut self) -> Result<(), Failed> {
        // The device's own failure stays one, however often it is told.
        let own = self.failed.get_mut().as_ref().and_then(|why| why.downcast_ref::<Error>());
        match own.map(ToString::to_string) {
            Some(own) => Err(Error::Message(own).into()),
            None => ranks::told(self.failed.get_mut()),
        }
    }
}
