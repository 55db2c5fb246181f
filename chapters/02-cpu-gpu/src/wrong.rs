//! Kernels with the classic bugs, and which check sees which.
//!
//! Each is `kernels/shared.cl` with one thing wrong ([`Mistake::source`]), and has a twin on the simulator of
//! [`crate::simt`]. All of them pass some test that people do make: see [`Check::Careless`]. A missing barrier even
//! passes the best test of results, where the device happens to keep the threads in step: it takes the simulator, which
//! looks at who may come first, not at who came.

use crate::{
    Result,
    gpu::{Arg, Gpu, Launch, kernel, read_all, upload},
    simt::{self, Global, Machine, Thread},
    verify::{Problem, Verdict, passes_as_in_the_wild, verify},
};
use matmul::Shape;

lab::named! {
    /// What can be wrong with a tiled product.
    pub enum Mistake("mistake") {
        /// Tiles are used before they are whole: a thread takes stale numbers. It hides within a warp, whose threads often
        /// keep step.
        NoBarrierBefore = "no_barrier_before",
        /// Tiles are overwritten while they are in use. It hides where k is no larger than a tile.
        NoBarrierAfter = "no_barrier_after",
        /// Threads beyond an edge write: those of the last column into the next row, those of the last row behind C. It hides
        /// where m and n are multiples of the tile.
        UnguardedWrite = "unguarded_write",
        /// The last tile reads beyond the end of A's rows. The numbers are multiplied by zeros, so it hides as long as no
        /// infinity and no NaN lies there.
        UnguardedRead = "unguarded_read",
        /// A last tile that is not whole is left out. It hides in every round benchmark, and is a little faster elsewhere.
        LastTile = "last_tile",
        /// The sums are added to what C held. It hides because fresh memory is often zero.
        NotZeroed = "not_zeroed",
        /// The indices of B are exchanged. It hides where B is symmetric, such as the identity.
        Swapped = "swapped",
    }
}

/// Threads along each side of a block, and the size of a tile.
const TILE: usize = 16;

impl Mistake {
    /// For tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::NoBarrierBefore => "no barrier before the tiles are used",
            Self::NoBarrierAfter => "no barrier after it",
            Self::UnguardedWrite => "writes beyond the edge",
            Self::UnguardedRead => "reads beyond the edge",
            Self::LastTile => "leaves the last tile out",
            Self::NotZeroed => "adds to what was there",
            Self::Swapped => "indices of B exchanged",
        }
    }

    /// What of `shared.cl` it changes, and into what.
    fn change(self) -> [&'static str; 2] {
        match self {
            Self::NoBarrierBefore => ["BARRIER(); // both tiles are whole", ""],
            Self::NoBarrierAfter => ["BARRIER(); // they are no longer needed", ""],
            Self::UnguardedWrite => ["if (row < m && column < n) c[", "c["],
            Self::UnguardedRead => ["row < m && start + x < k", "row < m"],
            Self::LastTile => ["start < k; start", "start + TILE <= k; start"],
            Self::NotZeroed => ["column] = sum", "column] += sum"],
            Self::Swapped => ["b[(start + y) * n + column]", "b[column * n + start + y]"],
        }
    }

    /// The kernel's text.
    pub fn source(self) -> String {
        let [right, wrong] = self.change();
        kernel!("shared.cl").replacen(right, wrong, 1)
    }
}

lab::named! {
    /// A way to look for bugs.
    pub enum Check("check") {
        /// A round size, symmetric matrices, C full of zeros, and any difference above 0.01 is a bug.
        Careless = "careless",
        /// [`verify`] with random matrices of a round size.
        RoundSize = "round",
        /// [`verify`] with random matrices that fit no tile.
        OddSize = "odd",
        /// The simulator, with the same matrices: it looks for races, reads of unwritten words and steps outside, and
        /// its result is also compared.
        Simulator = "simulator",
    }
}

impl Check {
    /// Whether it needs a device.
    pub fn needs_device(self) -> bool {
        self != Self::Simulator
    }
}

/// A size that is a multiple of every tile.
const ROUND: usize = 64;
/// One that is a multiple of none.
pub const ODD: Shape = Shape::new(37, 41, 35);

/// What a check says of a kernel with this bug: nothing if it passes, else what is wrong, in a word or two.
///
/// # Errors
/// If the device fails, or is none where the check needs one.
pub fn examine(mistake: Mistake, check: Check, gpu: Option<&dyn Gpu>) -> Result<Option<String>> {
    let gpu =
        || gpu.ok_or_else(|| crate::Error::message("this check needs a device that runs kernels"));
    let told = |verdict: Verdict| verdict.err().map(|fault| fault.name().to_owned());
    Ok(match check {
        Check::Careless => carelessly(mistake, gpu()?)?,
        Check::RoundSize => told(on_device(mistake, gpu()?, &round())?),
        Check::OddSize => told(on_device(mistake, gpu()?, &Problem::random(ODD, 3))?),
        Check::Simulator => match simulate(Some(mistake), &Problem::random(ODD, 3)) {
            Ok(verdict) => told(verdict),
            Err(fault) => Some(name(&fault).to_owned()),
        },
    })
}

/// A product whose lengths all tiles divide.
pub fn round() -> Problem {
    Problem::random(Shape::square(ROUND), 3)
}

fn launch(shape: Shape) -> Launch {
    Launch::new([shape.n.div_ceil(TILE), shape.m.div_ceil(TILE)], [TILE, TILE])
}

/// Compiles and runs a kernel on A, B and C.
fn run(mistake: Mistake, gpu: &dyn Gpu, abc: [Arg; 3], shape: Shape) -> Result<()> {
    let kernel = gpu.compile(&mistake.source(), &[("TILE", TILE.to_string())], "shared")?;
    let [a, b, c] = abc;
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|length| Arg::U32(length as u32));
    gpu.launch(&kernel, launch(shape), &[a, b, c, m, n, k])?;
    gpu.finish()
}

fn on_device(mistake: Mistake, gpu: &dyn Gpu, problem: &Problem) -> Result<Verdict> {
    verify(gpu, problem, |abc| run(mistake, gpu, abc, problem.shape))
}

/// Friendly matrices, a C of zeros, and a comparison that NaN passes.
fn carelessly(mistake: Mistake, gpu: &dyn Gpu) -> Result<Option<String>> {
    let problem = Problem::symmetric(ROUND, 3);
    let size = ROUND * ROUND;
    let [a, b] = [upload(gpu, &problem.a)?, upload(gpu, &problem.b)?];
    let c = upload(gpu, &vec![0.0_f32; size])?;
    run(mistake, gpu, [Arg::Buffer(&a), Arg::Buffer(&b), Arg::Buffer(&c)], problem.shape)?;
    let got: Vec<f32> = read_all(gpu, &c, size)?;
    let passes = passes_as_in_the_wild(&problem.exact(), &got);
    Ok((!passes).then(|| "wrong sums".to_owned()))
}

/// Runs the twin of a kernel with this bug, or the right one, on the simulator.
///
/// # Errors
/// What the simulator finds. If it finds nothing, the verdict is on the result.
pub fn simulate(
    mistake: Option<Mistake>,
    problem: &Problem,
) -> std::result::Result<Verdict, Box<simt::KernelFault>> {
    let shape = problem.shape;
    let mut machine = Machine::new(1);
    let abc = [
        machine.array(&problem.a),
        machine.array(&problem.b),
        machine.unwritten(shape.m * shape.n),
    ];
    let Launch { grid, block, .. } = launch(shape);
    let name = mistake.map_or("shared", Mistake::name);
    machine
        .launch(name, grid, block, |thread| twin(thread, mistake, abc, shape))
        .map_err(Box::new)?;
    Ok(problem.check(&machine.read(abc[2])))
}

/// `kernels/shared.cl` for the simulator, line by line, with the bug.
async fn twin(thread: Thread, mistake: Option<Mistake>, abc: [Global; 3], shape: Shape) {
    let wrong = |this: Mistake| mistake == Some(this);
    let ([a, b, c], Shape { m, k, n }) = (abc, shape);
    let [a_tile, b_tile] = thread.shared([TILE * TILE; 2]);
    let [x, y] = thread.index;
    let row = thread.block_index[1] * TILE + y;
    let column = thread.block_index[0] * TILE + x;
    let tiles = if wrong(Mistake::LastTile) { k / TILE } else { k.div_ceil(TILE) };

    let mut sum = 0.0;
    for start in (0..tiles).map(|tile| tile * TILE) {
        let a_inside = row < m && (start + x < k || wrong(Mistake::UnguardedRead));
        let b_inside = start + y < k && column < n;
        let b_at =
            if wrong(Mistake::Swapped) { column * n + start + y } else { (start + y) * n + column };
        let from_a = if a_inside { thread.load(a, row * k + start + x).await } else { 0.0 };
        thread.store(a_tile, y * TILE + x, from_a).await;
        let from_b = if b_inside { thread.load(b, b_at).await } else { 0.0 };
        thread.store(b_tile, y * TILE + x, from_b).await;
        if !wrong(Mistake::NoBarrierBefore) {
            thread.barrier().await;
        }
        for p in 0..TILE {
            let from_a = thread.load(a_tile, y * TILE + p).await;
            let from_b = thread.load(b_tile, p * TILE + x).await;
            sum = thread.fma(from_a, from_b, sum);
        }
        if !wrong(Mistake::NoBarrierAfter) {
            thread.barrier().await;
        }
    }
    if (row < m && column < n) || wrong(Mistake::UnguardedWrite) {
        let at = row * n + column;
        let before = if wrong(Mistake::NotZeroed) { thread.load(c, at).await } else { 0.0 };
        thread.store(c, at, before + sum).await;
    }
}

/// A word or two for a table.
fn name(fault: &simt::KernelFault) -> &'static str {
    match fault {
        simt::KernelFault::Race { .. } => "race",
        simt::KernelFault::BarrierDivergence { .. } => "barrier not reached by all",
        simt::KernelFault::OutOfBounds { .. } => "step outside",
        simt::KernelFault::Unwritten { .. } => "read what nobody wrote",
        simt::KernelFault::Misaligned { .. } => "misaligned",
        simt::KernelFault::Launch { .. } => "launch",
    }
}
