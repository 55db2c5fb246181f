//! How an operation writes its calls down: once, before the first step. Every temporary is written by one call and
//! never changed, so that no operation has to know what another one still needs.

use crate::{
    backend::Form,
    device::Launch,
    philox::Dropout,
    program::{
        BLOCKS, Block, Call, Collective, Epilogue, Numbers, Product, Program, Rows, What, Work,
    },
    state,
    tensor::{Cut, Matrix, Operand, Place, Tensor},
};
use std::{array::from_fn, ops::Range};

/// `sums.cl`: sums down rows.
pub const SUMS: &str =
    concat!(include_str!("../kernels/down.h"), include_str!("../kernels/sums.cl"));

/// What a pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pass {
    /// Images.
    pub rows: usize,
    /// Whether dropout drops and a batch normalisation sees its own batch.
    pub training: bool,
    /// What products read.
    pub numbers: Numbers,
    /// Whether its gradients are added to those that are there, because it is a further piece of a batch.
    pub adds: bool,
}

impl Pass {
    /// A training pass on a piece of a batch: the first one writes gradients, the others add to them.
    pub fn piece(images: &Range<usize>, numbers: Numbers) -> Self {
        Self { rows: images.len(), training: true, numbers, adds: images.start > 0 }
    }
}

/// A batch in pieces of at most so many images.
///
/// ```
/// assert_eq!(engine::record::pieces(10, 4).collect::<Vec<_>>(), [0..4, 4..8, 8..10]);
/// ```
pub fn pieces(images: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..images).step_by(most.max(1)).map(move |start| start..images.min(start.saturating_add(most)))
}

/// The program so far.
pub struct Recorder {
    /// What it is for.
    pub pass: Pass,
    /// What suits the device.
    pub form: Form,
    /// The first image of the pass, if a program has several passes one after the other.
    pub first: usize,
    /// Whether sums, and what is made of parameters alone, are recorded where they are asked for: what other ranks wait for is
    /// early, and little is kept.
    pub at_once: bool,
    /// Its calls.
    pub program: Program,
    op: String,
    /// Gradients that this pass has written to.
    written: Vec<Tensor>,
    /// Calls that come before all others, and whether these are recorded now.
    ahead: Vec<Call>,
    early: bool,
    /// Sums that come behind all others.
    sums: Vec<(String, Tensor, Tensor)>,
    /// Whether a forward pass is recorded for a second time.
    again: bool,
}

impl Recorder {
    /// No calls yet.
    pub fn new(pass: Pass, form: Form) -> Self {
        Self {
            pass,
            form,
            first: 0,
            at_once: false,
            program: Program { apart: !form.cached, ..Program::default() },
            op: String::new(),
            written: Vec::new(),
            ahead: Vec::new(),
            early: false,
            sums: Vec::new(),
            again: false,
        }
    }

    /// Names the operation whose calls `work` records.
    pub fn of<R>(&mut self, op: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.op, op.to_owned());
        let result = work(self);
        self.op = outer;
        result
    }

    /// Records calls that come before all others: what is made of parameters alone, between kernels that would else be one
    /// group.
    pub fn ahead<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.early = !self.at_once;
        let result = work(self);
        self.early = false;
        result
    }

    /// Records a forward pass for a second time, in the backward pass.
    pub fn again<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.again, true);
        let result = work(self);
        self.again = outer;
        result
    }

    /// Whether what a batch leaves behind is there already: a forward pass is recorded for a second time.
    pub fn is_again(&self) -> bool {
        self.again
    }

    /// All calls in their order.
    pub fn finish(mut self) -> Program {
        // Those that blocks have equal parts of are one group.
        self.sums.sort_by_key(|(_, to, _)| !to.words().is_multiple_of(BLOCKS));
        for (op, to, parts) in std::mem::take(&mut self.sums) {
            self.of(&op, |cx| cx.sum_now(to, parts));
        }
        let calls = std::mem::take(&mut self.program.calls);
        let calls = self.ahead.into_iter().chain(calls).collect();
        Program { calls, ..self.program }
    }

    /// A new tensor.
    pub fn tensor(&mut self, rows: usize, cols: usize) -> Tensor {
        self.program.temporaries.push(rows * cols);
        let id = self.program.temporaries.len() as u32 - 1;
        Tensor::new(Place::Temporary(id), 0, rows, cols)
    }

    /// Another tensor of the same shape.
    pub fn like(&mut self, tensor: Tensor) -> Tensor {
        self.tensor(tensor.rows, tensor.cols)
    }

    /// A row of sums for each block of the pass.
    pub fn parts(&mut self, cols: usize) -> Tensor {
        self.tensor(self.blocks_of(self.pass.rows), cols)
    }

    /// Images of a block.
    pub fn block(&self) -> usize {
        self.pass.rows.div_ceil(self.form.blocks).max(1)
    }

    fn blocks_of(&self, units: usize) -> usize {
        units.div_ceil(units.div_ceil(self.form.blocks).max(1))
    }

    /// A kernel for the sums of all rows of a tensor, block by block, down to `cols` columns.
    pub fn down(&self, source: &'static str, entry: &'static str, tensor: Tensor) -> Launch {
        let (images, Tensor { rows, cols, .. }) = (self.pass.rows, tensor);
        let each = self.block() * rows / images;
        Launch::down(source, entry, [rows, cols], self.blocks_of(images), each)
    }

    /// Whether a new part of a gradient is added to what is there: where operations share a parameter, and in a further piece
    /// of a batch.
    pub fn adds(&mut self, to: Tensor) -> bool {
        let known = self.pass.adds || self.written.contains(&to);
        self.written.push(to);
        let adds = to.place == Place::Gradient && known;
        self.program.added.extend(adds.then_some(to));
        adds
    }

    /// What an operation on rows is given: rows of so many numbers, or as many of each image in all, as one row.
    ///
    /// # Panics
    /// As [`Recorder::images_of`].
    #[must_use]
    pub fn rows_of(&self, x: Tensor, cols: usize) -> Tensor {
        let images = self.pass.rows;
        let all = x.cols != cols && x.words() == images * cols;
        self.images_of(x, [if all { 1 } else { x.rows / images }, cols])
    }

    /// What an operation on images is given: so many rows of so many numbers of each. Only one row is cut into several, or
    /// several are joined to one.
    ///
    /// # Panics
    /// If it is something else: a sentence that begins with the operation's name.
    #[must_use]
    pub fn images_of(&self, x: Tensor, [rows, cols]: [usize; 2]) -> Tensor {
        let (op, images, own) = (&self.op, self.pass.rows, x.rows / self.pass.rows);
        let (given, all) = (x.cols, own * x.cols);
        assert!(
            all == rows * cols && (rows == 1 || own == 1 || own == rows),
            "{op}: it takes {rows}×{cols} numbers of each image and is given {own}×{given}, {all} in all; \
             make it for these, or change the operation before it"
        );
        x.shaped(images * rows, cols)
    }

    /// C = A·B with what follows.
    ///
    /// # Panics
    /// If the shapes do not fit, or columns are not the right side of a GPU's product; the message names the operation.
    pub fn product(
        &mut self,
        c: Tensor,
        a: impl Into<Matrix>,
        b: impl Into<Matrix>,
        epilogue: Epilogue,
    ) {
        let (a, b) = (a.into(), b.into());
        let ((m, k), (inner, n)) = (a.shape(), b.shape());
        assert!(
            k == inner && (c.rows, c.cols) == (m, n),
            "{}: {m}×{k} · {inner}×{n} is not {}×{}",
            self.op,
            c.rows,
            c.cols
        );
        let columns = a.step.is_some() || self.form.cached && b.step.is_some();
        assert!(!columns, "{}: only the right side of a GPU's product may be columns", self.op);
        let accumulate = self.adds(c);
        let numbers = self.pass.numbers;
        let units = self.pass.rows;
        let first = self.first;
        let dropout = epilogue.dropout.map(|dropout| Dropout { first, ..dropout });
        let epilogue = Epilogue { dropout, ..epilogue };
        let product = Product { c, a, b, accumulate, numbers, epilogue, units };
        self.push("product", 2.0 * (m * n * k) as f64, Work::Product(product));
    }

    /// A kernel over `units` rows: `kernel` gets the first row of a block, what it reads and what it writes. What is
    /// written may be changed in place, and is no other operand.
    ///
    /// # Panics
    /// If an operand can't be cut into so many rows, or is written and is another operand, too.
    pub fn rows<const R: usize, const W: usize>(
        &mut self,
        name: &'static str,
        units: usize,
        reads: [Operand; R],
        writes: [Operand; W],
        kernel: impl Fn(usize, [&[f32]; R], [&mut [f32]; W]) + Send + Sync + 'static,
    ) -> &mut Call {
        let operands = [&reads[..], &writes[..]].concat();
        for (at, operand) in operands.iter().enumerate() {
            let Operand { tensor, cut } = *operand;
            let (words, op) = (tensor.words(), &self.op);
            assert!(
                cut != Cut::Rows || words.is_multiple_of(units),
                "{op}, {name}: {words} numbers are not cut into {units} rows"
            );
            assert!(
                cut != Cut::Part || tensor.rows == self.blocks_of(units),
                "{op}, {name}: {} rows of sums for {} blocks",
                tensor.rows,
                self.blocks_of(units)
            );
            let alone = operands.iter().enumerate().all(|(other, operand)| {
                at == other || at.max(other) < R || !operand.tensor.overlaps(tensor)
            });
            assert!(alone, "{op}, {name}: {tensor:?} is written and is another operand, too");
        }
        let kernel = Box::new(move |block: &Block| {
            // SAFETY: what is written is no other operand (above). Blocks write to their own rows; `Call::follows` keeps
            // calls apart that would see each other's.
            unsafe {
                kernel(block.first, from_fn(|i| block.read(i)), from_fn(|i| block.write(R + i)));
            }
        });
        let rows = Rows { units, operands, reads: R, kernel, device: None };
        self.push(name, 0.0, Work::Rows(rows))
    }

    /// The sum of all rows of `parts`, in their order: written to a gradient, or added to it. It comes behind all other calls,
    /// so that it ends no group.
    pub fn sum(&mut self, to: Tensor, parts: Tensor) {
        if self.at_once {
            return self.sum_now(to, parts);
        }
        self.sums.push((self.op.clone(), to, parts));
    }

    /// What the ranks of a group do together: [`Collective`].
    pub fn collective(
        &mut self,
        what: What,
        group: usize,
        given: Option<Tensor>,
        result: Option<Tensor>,
    ) {
        let work = Work::Collective(Collective { what, group, given, result });
        self.push(what.name(), 0.0, work);
    }

    fn sum_now(&mut self, to: Tensor, parts: Tensor) {
        let (len, add) = (to.words(), self.adds(to));
        let units = if len.is_multiple_of(BLOCKS) { BLOCKS } else { len };
        self.rows("sum", units, [parts.whole()], [to.by_rows()], move |first, [parts], [to]| {
            let own = first * (len / units)..first * (len / units) + to.len();
            let all = parts.chunks_exact(len).map(|row| &row[own.clone()]);
            lab::wide!(|| {
                if !add {
                    to.fill(0.0);
                }
                for row in all {
                    to.iter_mut().zip(row).for_each(|(sum, part)| *sum += part);
                }
            });
        })
        .launches(Launch::each(SUMS, "sum", len).with(&[parts.rows, usize::from(add)]));
    }

    // ANCHOR: operand
    /// What a product reads of numbers: themselves, or a rounded copy. A
    /// product rounds to bf16 by itself.
    #[must_use]
    pub fn operand(&mut self, numbers: Tensor) -> Tensor {
        let copied = self.pass.numbers == Numbers::F16;
        if copied { self.rounded(numbers, false) } else { numbers }
    }
    // ANCHOR_END: operand

    /// [`Recorder::operand`] of derivatives, which f16 needs a factor for.
    #[must_use]
    pub fn operand_gradient(&mut self, numbers: Tensor) -> Tensor {
        if self.pass.numbers == Numbers::F16 { self.rounded(numbers, true) } else { numbers }
    }

    /// Numbers as [`Pass::numbers`] has them, still in words of 32 bits: a copy, unless that is f32.
    #[must_use]
    pub fn rounded(&mut self, numbers: Tensor, gradient: bool) -> Tensor {
        let to = self.pass.numbers;
        if to == Numbers::F32 {
            return numbers;
        }
        let (copy, state) = (self.like(numbers), state::tensor());
        let units = if matches!(numbers.place, Place::Params) { 1 } else { self.pass.rows };
        let reads = [numbers.by_rows(), state.whole()];
        self.rows("round", units, reads, [copy.by_rows()], move |_, [from, state], [copy]| {
            copy.copy_from_slice(from);
            to.round(copy, if gradient { state[state::SCALE] } else { 1.0 });
        });
        Tensor { constant: numbers.constant, ..copy }
    }

    fn push(&mut self, name: &'static str, flops: f64, work: Work) -> &mut Call {
        let calls = if self.early { &mut self.ahead } else { &mut self.program.calls };
        calls.push(Call { op: self.op.clone(), name, flops, work });
        calls.last_mut().expect("there is one now")
    }
}
