//! The engine's kernels as a compiler wants them, and how a product is cut for a GPU.

use cpu_gpu::{
    Error, Result,
    gpu::{Gpu, Kernel},
};
use engine::{device::Macros, state};
use std::{cell::RefCell, collections::HashMap, rc::Rc};

/// `product.cl`.
pub const PRODUCT: &str = include_str!("../../engine/kernels/product.cl");
/// The words of [`state`] that a host tells, set by arguments: a copy from the host would wait for all kernels before it.
pub const SET: &str = "
KERNEL THREADS_OF_BLOCK(1, 1) void set(
    GLOBAL uint *to, uint a, uint b, uint c, uint d, uint e, uint f, uint g, uint h, uint i, uint j,
    uint k)
{
    uint words[11] = {a, b, c, d, e, f, g, h, i, j, k};
    for (uint at = 0; at < 11; at++) to[at] = words[at];
}
";

/// The text of a kernel behind what all of them begin with: the names that CUDA and OpenCL share, those of functions, those of
/// operands, and where the words of [`state`] are.
pub fn text(source: &str) -> String {
    let words = [
        ("SEED", state::SEED),
        ("DRAW", state::DRAW),
        ("RATE", state::RATE),
        ("LIMIT", state::LIMIT),
        ("CLIP", state::CLIP),
        ("SHARE", state::SHARE),
        ("FIRST", state::FIRST),
        ("AHEAD", state::AHEAD),
        ("EPSILON", state::EPSILON),
        ("START", state::START),
    ];
    let words: String = words.map(|(name, at)| format!("#define {name} {at}\n")).concat();
    let files = [
        include_str!("../../../02-cpu-gpu/kernels/portable.h"),
        include_str!("../../engine/kernels/maths.h"),
        include_str!("../../engine/kernels/operands.h"),
    ];
    format!("{}{words}{source}", files.concat())
}

/// A kernel's text, name and macros: what it is compiled for, once on a device.
type Key = (&'static str, &'static str, Macros);

/// Kernels as machine code of one device.
#[derive(Default)]
pub struct Kernels {
    all: RefCell<HashMap<Key, Rc<Kernel>>>,
}

impl Kernels {
    /// The kernel, compiled when it is asked for first.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn get(
        &self,
        gpu: &dyn Gpu,
        (source, entry, macros): (&'static str, &'static str, &Macros),
    ) -> Result<Rc<Kernel>> {
        let key = (source, entry, macros.clone());
        if let Some(known) = self.all.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let options: Vec<(&str, String)> =
            macros.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let kernel = Rc::new(gpu.compile(&text(source), &options, entry)?);
        self.all.borrow_mut().insert(key, Rc::clone(&kernel));
        Ok(kernel)
    }
}

/// How a product is cut: sums of a thread along each side, terms of a slice, and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Sums along each side: a block has sixteen times as many.
    pub each: usize,
    /// Terms.
    pub slice: usize,
    /// Matrices of sums that are added at the end.
    pub slices: usize,
}

/// Blocks that keep a large GPU busy. It is no device's own number, so that all add in the same order.
const BLOCKS: usize = 256;
/// Terms that are worth a slice.
const WORTH: usize = 64;
/// Terms that a block fetches at once.
const DEPTH: usize = 16;

impl Cut {
    // ANCHOR: cut
    /// The largest tiles that leave enough blocks; where even the smallest
    /// are few, the sums are cut too.
    pub fn of([m, k, n]: [usize; 3]) -> Self {
        let tiles = |each: usize| m.div_ceil(16 * each) * n.div_ceil(16 * each);
        let side = m.min(n).next_multiple_of(32);
        let fits = |each: &usize| 16 * each <= side && tiles(*each) >= BLOCKS / 2;
        let each = [8, 4].into_iter().find(fits).unwrap_or(2);
        let slices = (BLOCKS / tiles(each)).min(k / WORTH).max(1);
        let slice = k.div_ceil(slices).next_multiple_of(DEPTH).max(DEPTH);
        Self { each, slice, slices: k.div_ceil(slice).max(1) }
    }
    // ANCHOR_END: cut

    /// Blocks along x and y.
    pub fn grid(self, [m, _, n]: [usize; 3]) -> [usize; 2] {
        let tile = 16 * self.each;
        [m.div_ceil(tile) * self.slices, n.div_ceil(tile)]
    }
}

/// A length as a kernel takes it. The kernels count in 32 bits.
///
/// # Errors
/// A sentence for more than 2³² − 1024 of them.
pub fn length(count: usize) -> Result<u32> {
    match u32::try_from(count) {
        Ok(count) if count <= u32::MAX - 1024 => Ok(count),
        _ => Err(Error::message(format!(
            "{count} numbers are too many: the kernels count in 32 bits; take a smaller batch"
        ))),
    }
}
