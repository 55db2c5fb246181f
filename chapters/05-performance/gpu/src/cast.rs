//! A program as launches: what a GPU does for each call, and where each operand lies. No device is needed for it.

use crate::kernels::{Cut, PRODUCT, length};
use cpu_gpu::{Error, Result, gpu::trace::Label};
use engine::{
    backend::Form,
    device::{Device, Implicit, Launch, Macros},
    model::Model,
    needs::Needs,
    philox::Dropout,
    plan::{Plan, Slot},
    program::{Call, Collective, Epilogue, Numbers, Product, Program, What, Work},
    ranks,
    record::{Pass, SUMS},
    state,
    step::Whole,
    tensor::{Place, Tensor},
};
use std::{mem::take, sync::Arc};

/// What suits a GPU: more parts of rows than the CPU's, for more multiprocessors.
pub const FORM: Form = Form { blocks: 64, cached: false, unused: true };

/// Where slices begin that are summed at once, until it is known how many stay.
const AT_ONCE: u32 = u32::MAX;

/// A launch with the homes of its operands, and where in each the tensor begins.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The kernel, its macros, numbers and blocks.
    pub launch: Launch,
    /// Its operands.
    pub operands: Vec<(Home, u32)>,
    /// Whose it is. The first launch of a call has all of its cost; one that sums for many calls has theirs.
    pub label: Label,
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// One of [`Place::LASTING`].
    Lasting(usize),
    /// The memory that temporaries share.
    Memory,
    /// An output of the program.
    Output(usize),
    /// The sums of products' slices.
    Parts,
    /// [`Launches::table`].
    Table,
    /// What goes to other ranks by way of the host, or comes from there.
    Exchange,
}

/// What other ranks are asked for, between two launches.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// How many launches come before it.
    pub after: usize,
    /// What is done, and by which group.
    pub what: (What, usize),
    /// Numbers for others: where they are, where they begin and how many there are.
    pub given: Option<Range>,
    /// Numbers that change.
    pub result: Option<Range>,
}

/// So many numbers of a home, from one on.
pub type Range = (Home, u32, usize);

/// What a run of a program launches.
#[derive(Debug, Default)]
pub struct Launches {
    /// The launches in their order.
    pub all: Vec<Planned>,
    /// What other ranks are asked for, in its order.
    pub meetings: Vec<Meeting>,
    /// Words for the sums of slices.
    pub parts: usize,
    /// The launches' tables. One that sums many gradients has six words for each: its first thread, whether its parts are
    /// [`Home::Parts`], where they begin, where its gradient begins, its length and its parts.
    pub table: Vec<u32>,
}

/// The launches of a program that was recorded for a GPU.
///
/// # Errors
/// A sentence for a call that a GPU can't do, or numbers that are too many.
pub fn launches(program: &Program, plan: &Plan) -> Result<Launches> {
    length(plan.arena)?;
    let (calls, outputs) = (&program.calls, &program.outputs);
    let (added, made) = (&program.added[..], Launches::default());
    let (tables, sums, label, owed, end, slices, total) = Default::default();
    let mut cast =
        Cast { plan, outputs, added, end, slices, tables, sums, total, label, owed, made };
    for (at, call) in calls.iter().enumerate() {
        // Parts stay where they are while nothing but sums follows, until somebody wants these.
        let alone = |call: &&Call| !wants_gradients(call);
        cast.end = calls[at..].iter().take_while(alone).all(|call| call.name == "sum");
        cast.call(call)?;
    }
    cast.finish()
}

/// Whether a call wants gradients that are summed: other ranks do, and who reads one, or moves parameters by it.
fn wants_gradients(call: &Call) -> bool {
    let reads = || call.reads().iter().any(|read| read.tensor.place == Place::Gradient);
    let moves = || call.writes().iter().any(|to| to.tensor.place == Place::Params);
    matches!(call.work, Work::Collective(_)) || reads() || moves()
}

/// Bytes that passes of a model take on a GPU, one after the other: of sums of slices and of tables, too, which the plan does not
/// know.
pub fn bytes(model: &Model, passes: &[Pass]) -> u64 {
    let (mut parts, mut tables) = (0, 0);
    let needs = Needs::seen(&Whole, model, passes, FORM, 1, |program, plan| {
        let made = launches(program, plan).unwrap_or_default();
        parts = made.parts.max(parts);
        tables += made.table.len();
    });
    needs.total() + 4 * (parts + tables) as u64
}

/// The launches of a program in the making.
struct Cast<'a> {
    plan: &'a Plan,
    outputs: &'a [Tensor],
    /// Gradients that have to be whole at once: they are added to. Whether nothing but sums follows.
    added: &'a [Tensor],
    end: bool,
    /// Words of slices that are summed at once.
    slices: usize,
    /// Tables of launches, and where they begin; that of the last launch, and its sums.
    tables: Vec<(Arc<[u32]>, u32)>,
    sums: Vec<u32>,
    total: usize,
    /// The call's, until a launch has its cost; and that of the last launch.
    label: Label,
    owed: Label,
    made: Launches,
}

/// A product with what it is compiled for and what follows it.
struct Task<'a> {
    shape: [usize; 3],
    macros: Macros,
    operands: [Tensor; 3],
    b_step: usize,
    epilogue: &'a Epilogue,
    accumulate: bool,
    /// Numbers of C for each image.
    image: usize,
}

impl Cast<'_> {
    fn call(&mut self, call: &Call) -> Result<()> {
        if wants_gradients(call) {
            self.sum_up()?;
        }
        let (of, bytes) = ([call.op.clone(), call.name.to_owned()], call.bytes() as f64);
        self.label = Label { of, flops: call.flops, bytes };
        match &call.work {
            Work::Product(product) => self.product(call, product),
            Work::Collective(collective) => self.meet(collective),
            Work::Rows(rows) => {
                let tensors: Vec<Tensor> = rows.operands.iter().map(|o| o.tensor).collect();
                match &rows.device {
                    Some(Device::Launches(all)) => {
                        all.iter().try_for_each(|launch| self.launch(launch, &tensors))
                    }
                    Some(Device::Product(implicit)) => self.implicit(implicit, &tensors),
                    None if tensors.is_empty() => Ok(()), // it looks at the host's clock
                    None => Err(Error::message(format!(
                        "`{}` ({}) has no kernel for a GPU; take --device cpu",
                        call.op.trim(),
                        call.name
                    ))),
                }
            }
        }
    }

    fn home(&self, tensor: Tensor) -> Result<(Home, u32)> {
        let (home, start) = match tensor.place {
            Place::Temporary(id) => match self.outputs.iter().position(|o| o.place == tensor.place)
            {
                Some(at) => (Home::Output(at), 0),
                None => match self.plan.slots[id as usize] {
                    Slot::Arena(start) | Slot::Scratch(start) => (Home::Memory, start),
                },
            },
            place => (Home::Lasting(place.lasting()), 0),
        };
        Ok((home, length(start + tensor.start)?))
    }

    fn add(&mut self, launch: Launch, operands: Vec<(Home, u32)>) {
        let label = self.label.clone();
        (self.label.flops, self.label.bytes) = (0.0, 0.0); // the next launch of the call
        self.made.all.push(Planned { launch, operands, label });
    }

    fn launch(&mut self, launch: &Launch, tensors: &[Tensor]) -> Result<()> {
        let homes: Result<Vec<(Home, u32)>> = match &launch.operands {
            Some(some) => some.iter().map(|at| self.home(tensors[*at])).collect(),
            None => tensors.iter().map(|tensor| self.home(*tensor)).collect(),
        };
        let mut homes = homes?;
        if let (true, "sum", [(Home::Memory, from), (_, to)]) = (self.end, launch.entry, &*homes)
            && self.waits(tensors[1])
        {
            let parts = &tensors[0];
            return self.later([0, *from, *to], [tensors[1].words(), parts.rows]);
        }
        if !launch.table.is_empty() {
            homes.push((Home::Table, self.table(&launch.table)?));
        }
        self.add(launch.clone(), homes);
        Ok(())
    }

    /// Whether a gradient may be summed at the end.
    fn waits(&self, to: Tensor) -> bool {
        to.place == Place::Gradient && self.added.iter().all(|added| added.start != to.start)
    }

    /// Where a launch's table lies.
    fn table(&mut self, words: &Arc<[u32]>) -> Result<u32> {
        if let Some((_, at)) = self.tables.iter().find(|(known, _)| known == words) {
            return Ok(*at);
        }
        let at = length(self.made.table.len())?;
        self.made.table.extend(&**words);
        self.tables.push((words.clone(), at));
        Ok(at)
    }

    /// One more sum of the last launch.
    fn later(&mut self, [whose, from, to]: [u32; 3], [len, parts]: [usize; 2]) -> Result<()> {
        let first = length(self.total)?;
        self.sums.extend([first, whose, from, to, length(len)?, length(parts)?]);
        self.total += len;
        self.owed.flops += take(&mut self.label.flops);
        self.owed.bytes += take(&mut self.label.bytes);
        Ok(())
    }

    /// Sums what has waited for it.
    fn sum_up(&mut self) -> Result<()> {
        let total = take(&mut self.total);
        if total > 0 {
            length(total)?;
            self.label = take(&mut self.owed);
            self.label.of = [" backward", "sums"].map(str::to_owned);
            let sums = Launch::each(SUMS, "sum_all", total).with(&[self.sums.len() / 6]);
            let table = (Home::Table, length(self.made.table.len())?);
            self.made.table.append(&mut self.sums);
            let gradient = Home::Lasting(Place::Gradient.lasting());
            let others = [Home::Memory, Home::Parts, gradient].map(|home| (home, 0));
            self.add(sums, [&[table][..], &others].concat());
        }
        Ok(())
    }

    /// What becomes of a tensor becomes of its copy.
    fn meet(&mut self, collective: &Collective) -> Result<()> {
        let Collective { what, group, mut given, result } = *collective;
        let copied = !matches!(what, What::Message { .. } | What::Begin);
        if copied && let (Some(from), Some(to)) = (given.take(), result) {
            let operands = vec![self.home(from)?, self.home(to)?];
            self.add(ranks::copy(to.words()), operands);
        }
        let range = |tensor: Tensor| self.home(tensor).map(|(home, at)| (home, at, tensor.words()));
        let [given, result] = [given, result].map(|tensor| tensor.map(range).transpose());
        let (after, what) = (self.made.all.len(), (what, group));
        self.made.meetings.push(Meeting { after, what, given: given?, result: result? });
        Ok(())
    }

    fn finish(mut self) -> Result<Launches> {
        self.sum_up()?;
        // Slices that are summed at once lie behind those that stay.
        for (_, start) in self.made.all.iter_mut().flat_map(|planned| &mut planned.operands) {
            if *start == AT_ONCE {
                *start = length(self.made.parts)?;
            }
        }
        self.made.parts += self.slices;
        length(self.made.parts)?;
        Ok(self.made)
    }

    fn product(&mut self, call: &Call, product: &Product) -> Result<()> {
        let Product { c, a, b, accumulate, numbers, epilogue, units } = product;
        if *numbers != Numbers::F32 {
            return Err(Error::message(format!(
                "`{}`: products of 16-bit numbers are for the CPU; take --device cpu, or --precision f32",
                call.op
            )));
        }
        let ((m, k), (_, n)) = (a.shape(), b.shape());
        let ways = [("A", usize::from(a.transposed)), ("B", usize::from(b.transposed))];
        self.multiply(&Task {
            shape: [m, k, n],
            macros: ways.to_vec(),
            operands: [a.tensor, b.tensor, *c],
            b_step: b.step.unwrap_or(b.tensor.cols),
            epilogue,
            accumulate: *accumulate,
            image: c.words() / units,
        })
    }

    fn implicit(&mut self, implicit: &Implicit, tensors: &[Tensor]) -> Result<()> {
        let Implicit { shape, macros, bias, accumulate } = implicit;
        let c = tensors[tensors.len() - 1];
        let epilogue = Epilogue { bias: bias.then(|| tensors[2]), ..Epilogue::default() };
        self.multiply(&Task {
            shape: *shape,
            macros: macros.clone(),
            operands: [tensors[0], tensors[1], c],
            b_step: shape[2],
            epilogue: &epilogue,
            accumulate: *accumulate,
            image: 0,
        })
    }

    fn multiply(&mut self, task: &Task) -> Result<()> {
        let Task { shape, macros, operands: [a, b, c], b_step, epilogue, accumulate, image } = task;
        let [m, k, n] = *shape;
        let (cut, dropout) = (Cut::of(*shape), epilogue.dropout);
        let split = cut.slices > 1;
        let follows = [
            ("ACCUMULATE", *accumulate),
            ("BIAS", epilogue.bias.is_some()),
            ("RELU", epilogue.relu),
            ("DROPOUT", dropout.is_some()),
        ];
        let mut follows = follows.map(|(name, on)| (name, usize::from(on))).to_vec();
        if let Some(Dropout { first, .. }) = dropout {
            follows.extend([("IMAGE", *image), ("BEFORE", first)]);
        }
        let (below, scale, site) = dropout.map_or((0, 1.0, 0), |d| (d.below, d.scale, d.site));
        let ends =
            |launch: Launch| launch.with(&[below as usize]).real(scale).with(&[site as usize]);
        let [a, b, c, bias, state] =
            [*a, *b, *c, epilogue.bias.unwrap_or(state::tensor()), state::tensor()]
                .map(|tensor| self.home(tensor));
        let (c, bias, state) = (c?, bias?, state?);
        // A gradient's slices can wait for all others.
        let later = split && self.waits(task.operands[2]);
        let parts = if later { length(self.made.parts)? } else { AT_ONCE };
        let parts = (Home::Parts, parts);
        let numbers = [length(m)?, length(k)?, length(n)?].map(|number| number as usize);
        let product = Launch::new(PRODUCT, "product", cut.grid(*shape), [16, 16])
            .compiled(&[("EACH", cut.each), ("SPLIT", usize::from(split))])
            .compiled(macros);
        let product = product.compiled(if split { &[] } else { &follows });
        let product = ends(product.with(&numbers).with(&[*b_step, cut.slice]));
        self.add(product, vec![a?, b?, if split { parts } else { c }, bias, state]);
        if later {
            self.made.parts += (cut.slices * m * n).next_multiple_of(64);
            return self.later([1, parts.1, c.1], [m * n, cut.slices]);
        }
        if split {
            length(cut.slices * m * n)?;
            self.slices = self.slices.max(cut.slices * m * n);
            let macros = [("EACH", 2), ("SPLIT", 1), ("A", 0), ("B", 0)];
            let finish = Launch::each(PRODUCT, "finish", m * n).with(&[cut.slices, n]);
            let finish = ends(finish.compiled(&macros).compiled(&follows));
            self.add(finish, vec![parts, c, bias, state]);
        }
        Ok(())
    }
}
