//! A program: the calls of a pass, in order, with all that a device and a ledger must know of each.

use crate::{
    device::{Device, Implicit, Launch},
    philox::Dropout,
    tensor::{Cut, Matrix, Operand, Place, Tensor},
};
use matmul::narrow;
use serde::{Deserialize, Serialize};

/// Blocks into which the CPU cuts rows, whatever the number of threads: sums over rows are added block by block.
pub const BLOCKS: usize = 16;

/// Rows of a block on the CPU.
pub fn block_of(units: usize) -> usize {
    units.div_ceil(BLOCKS).max(1)
}

/// Blocks of so many rows.
pub fn blocks_of(units: usize) -> usize {
    units.div_ceil(block_of(units))
}

/// What products, convolutions and attention read; sums, parameters and all else are f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// All 32 bits.
    #[default]
    F32,
    /// Rounded to bf16.
    Bf16,
    /// Rounded to f16, derivatives with a factor: [`crate::state::SCALE`].
    F16,
}

impl Numbers {
    /// Rounds what a product reads; what f16 would lose is multiplied by a factor first, and divided by it afterwards.
    pub fn round(self, values: &mut [f32], factor: f32) {
        match self {
            Self::F32 => {}
            Self::Bf16 => narrow::to_bf16(values),
            Self::F16 => narrow::to_f16(values, factor),
        }
    }
}

/// Calls in their order, and the words of each temporary tensor.
#[derive(Default)]
pub struct Program {
    /// The calls.
    pub calls: Vec<Call>,
    /// Words of each temporary.
    pub temporaries: Vec<usize>,
    /// What is read when it has run, before another program runs: memory that no other tensor of this one gets.
    pub outputs: Vec<Tensor>,
    /// Whether each output lies in memory of its own, and not where the other temporaries do: on a GPU.
    pub apart: bool,
    /// Gradients that a call adds to, which another one, or another program, wrote.
    pub added: Vec<Tensor>,
}

impl Program {
    /// These calls, and behind them those of another program.
    #[must_use]
    pub fn then(mut self, mut next: Self) -> Self {
        let before = self.temporaries.len() as u32;
        let tensors = next.calls.iter_mut().flat_map(Call::tensors_mut).chain(&mut next.outputs);
        for tensor in tensors {
            if let Place::Temporary(id) = &mut tensor.place {
                *id += before;
            }
        }
        self.calls.append(&mut next.calls);
        self.temporaries.append(&mut next.temporaries);
        self.outputs.append(&mut next.outputs);
        self.added.append(&mut next.added);
        self
    }
}

/// One thing that a device does.
pub struct Call {
    /// The operation that asked for it.
    pub op: String,
    /// What it is.
    pub name: &'static str,
    /// Multiplications and additions.
    pub flops: f64,
    /// The work itself.
    pub work: Work,
}

/// A product, a kernel over rows, or what ranks do together.
pub enum Work {
    /// A product of matrices.
    Product(Product),
    /// A kernel.
    Rows(Rows),
    /// A collective operation, or a message.
    Collective(Collective),
}

/// What all ranks of a group do with some numbers, each when its program comes to this call.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// What is done.
    pub what: What,
    /// Which of the device's groups of ranks does it.
    pub group: usize,
    /// What this rank gives, if it is not what becomes of it.
    pub given: Option<Tensor>,
    /// What becomes of it.
    pub result: Option<Tensor>,
}

/// A collective operation of a group, or messages between two ranks.
// ANCHOR: collective
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The sum over the ranks.
    Sum,
    /// The sum begins; the program goes on.
    Begin,
    /// The sum that was begun first has ended.
    End,
    /// The sum, of which this rank gets its part.
    Scatter,
    /// All ranks' parts.
    Gather,
    /// Numbers for a rank, and numbers of a rank.
    Message {
        /// To whom.
        to: Option<usize>,
        /// From whom.
        from: Option<usize>,
    },
}
// ANCHOR_END: collective

impl What {
    /// Its name in a ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "all-reduce",
            Self::Begin => "begin all-reduce",
            Self::End => "end all-reduce",
            Self::Scatter => "reduce-scatter",
            Self::Gather => "all-gather",
            Self::Message { .. } => "message",
        }
    }
}

/// C = A·B, or C + A·B, and what follows while the sums are at hand.
pub struct Product {
    /// The sums.
    pub c: Tensor,
    /// The left operand.
    pub a: Matrix,
    /// The right operand.
    pub b: Matrix,
    /// Whether the sums are added to what C holds.
    pub accumulate: bool,
    /// What it reads.
    pub numbers: Numbers,
    /// What follows.
    pub epilogue: Epilogue,
    /// Images of the pass: C has as many rows for each.
    pub units: usize,
}

/// What a product ends with, in this order. A device does as much of it in registers as its product can.
#[derive(Clone, Copy, Default)]
pub struct Epilogue {
    /// A row that is added to each of C's.
    pub bias: Option<Tensor>,
    /// The larger of each number and zero.
    pub relu: bool,
    /// Then some are left out.
    pub dropout: Option<Dropout>,
}

/// A kernel over rows that do not see each other.
pub struct Rows {
    /// Rows.
    pub units: usize,
    /// Those that are read, then those that are written.
    pub operands: Vec<Operand>,
    /// How many are read.
    pub reads: usize,
    /// The code.
    pub kernel: Kernel,
    /// What a GPU does instead; none for what a GPU can't do yet.
    pub device: Option<Device>,
}

/// Plain code for a block of rows on one thread.
pub type Kernel = Box<dyn Fn(&Block) + Send + Sync>;

/// Where a block's operands lie.
pub struct Block<'a> {
    /// The block's first row.
    pub first: usize,
    /// Start and words of each operand.
    pub spans: &'a [(*mut f32, usize)],
}

impl Block<'_> {
    /// An operand that is read.
    ///
    /// # Safety
    /// Nobody writes to the operand while the slice lives.
    pub unsafe fn read(&self, operand: usize) -> &[f32] {
        let (at, words) = self.spans[operand];
        // SAFETY: a device's spans lie in its memory; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(at, words) }
    }

    /// An operand that is written.
    ///
    /// # Safety
    /// Nobody else reads or writes the operand while the slice lives.
    #[allow(clippy::mut_from_ref, reason = "the spans are pointers")]
    pub unsafe fn write(&self, operand: usize) -> &mut [f32] {
        let (at, words) = self.spans[operand];
        // SAFETY: as in `read`.
        unsafe { std::slice::from_raw_parts_mut(at, words) }
    }
}

impl Call {
    /// What ranks do together, for an operation.
    pub fn collective(op: &str, collective: Collective) -> Self {
        let (name, work) = (collective.what.name(), Work::Collective(collective));
        Self { op: op.to_owned(), name, flops: 0.0, work }
    }

    /// All tensors that it reads and writes, to be put elsewhere.
    pub fn tensors_mut(&mut self) -> Vec<&mut Tensor> {
        match &mut self.work {
            Work::Rows(rows) => rows.operands.iter_mut().map(|o| &mut o.tensor).collect(),
            Work::Product(Product { c, a, b, epilogue, .. }) => {
                let all = [c, &mut a.tensor, &mut b.tensor];
                all.into_iter().chain(&mut epilogue.bias).collect()
            }
            Work::Collective(c) => c.given.iter_mut().chain(&mut c.result).collect(),
        }
    }

    /// Says what it computes, for the ledger.
    pub fn costs(&mut self, flops: usize) -> &mut Self {
        self.flops = flops as f64;
        self
    }

    /// Says what a GPU does for it: one more launch.
    pub fn launches(&mut self, launch: Launch) -> &mut Self {
        if let Work::Rows(rows) = &mut self.work {
            match &mut rows.device {
                Some(Device::Launches(all)) => all.push(launch),
                none => *none = Some(Device::Launches(vec![launch])),
            }
        }
        self
    }

    /// Says that it is a product for a GPU.
    pub fn multiplies(&mut self, product: Implicit) {
        if let Work::Rows(rows) = &mut self.work {
            rows.device = Some(Device::Product(product));
        }
    }

    /// What is read, and how it is cut.
    pub fn reads(&self) -> Vec<Operand> {
        match &self.work {
            Work::Rows(rows) => rows.operands[..rows.reads].to_vec(),
            Work::Product(p) => {
                let all = [Some(p.a.tensor), Some(p.b.tensor), p.epilogue.bias];
                all.into_iter().flatten().map(Tensor::whole).collect()
            }
            Work::Collective(c) => c.given.into_iter().map(Tensor::whole).collect(),
        }
    }

    /// What is written, and how it is cut.
    pub fn writes(&self) -> Vec<Operand> {
        match &self.work {
            Work::Rows(rows) => rows.operands[rows.reads..].to_vec(),
            Work::Product(p) => vec![p.c.whole()],
            Work::Collective(c) => c.result.into_iter().map(Tensor::whole).collect(),
        }
    }

    /// Bytes of all operands, each once.
    pub fn bytes(&self) -> usize {
        let (reads, writes) = (self.reads(), self.writes());
        4 * reads.iter().chain(&writes).map(|operand| operand.tensor.words()).sum::<usize>()
    }

    /// Whether rows of this call may follow rows of `before` at once, block by block: each block sees of the other's results
    /// its own rows alone.
    pub fn follows(&self, before: &Self) -> bool {
        let (Work::Rows(mine), Work::Rows(other)) = (&self.work, &before.work) else {
            return false;
        };
        let apart = |a: &[Operand], b: &[Operand]| {
            a.iter().all(|a| {
                let near = |b: &&Operand| a.tensor.overlaps(b.tensor);
                let same = |b: &Operand| {
                    (a.cut, b.cut) == (Cut::Rows, Cut::Rows)
                        && (a.tensor.start, a.tensor.words()) == (b.tensor.start, b.tensor.words())
                };
                b.iter().filter(near).all(same)
            })
        };
        mine.units == other.units
            && apart(&mine.operands, &other.operands[other.reads..])
            && apart(&mine.operands[mine.reads..], &other.operands)
    }
}

/// What an operation's calls of one kind cost in a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The operation.
    pub op: String,
    /// The kind.
    pub name: &'static str,
    /// How often it is called.
    pub calls: usize,
    /// Multiplications and additions.
    pub flops: f64,
    /// Bytes of operands.
    pub bytes: usize,
}

/// Calls, FLOPs and bytes of each operation, in the order of the calls: what a roofline needs, without a device.
pub fn ledger(calls: &[Call]) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for call in calls {
        let (op, name) = (call.op.clone(), call.name);
        let known = all.iter().position(|entry| entry.op == op && entry.name == name);
        let at = known.unwrap_or_else(|| {
            all.push(Entry { op, name, calls: 0, flops: 0.0, bytes: 0 });
            all.len() - 1
        });
        let entry = &mut all[at];
        entry.calls += 1;
        entry.flops += call.flops;
        entry.bytes += call.bytes();
    }
    all
}
