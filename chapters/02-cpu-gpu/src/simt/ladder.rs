//! The matrix product on the simulated machine, rung by rung: the indices are those of `kernels/*.cl`, so that
//! the counts are theirs.
//!
//! C = A·B, row-major, A m×k, B k×n. Tiles have the sizes that the kernels' files give them.

use super::{
    counts::Counts,
    fault::KernelFault,
    machine::Machine,
    memory::{Global, Shared},
    thread::Thread,
};
use matmul::Shape;
use std::future::Future;

/// Threads along each side of a block of the first three rungs, and their tile.
const TILE: usize = 32;
/// Columns of A and rows of B in shared memory at a time, for `tile1d` and later rungs.
const DEPTH: usize = 8;
/// Rows and columns of the tile of C for `tile2d` and later rungs.
const SIZE: usize = 128;
/// Each thread's elements of C for `tile2d` and later rungs: 8×8, or 2×2 pieces of 4×4.
const EACH: usize = 8;
/// Words between two columns of A's tile where it lies transposed.
const PADDED: usize = SIZE + 4;

/// The three matrices.
#[derive(Clone, Copy)]
pub struct Matrices {
    /// A, m×k.
    pub a: Global,
    /// B, k×n.
    pub b: Global,
    /// C, m×n.
    pub c: Global,
    /// m, n and k.
    pub shape: Shape,
}

/// One thread for each element; a warp covers part of a column of C.
async fn naive(t: Thread, Matrices { a, b, c, shape }: Matrices) {
    let row = t.block_index[0] * TILE + t.index[0]; // x counts the rows
    let column = t.block_index[1] * TILE + t.index[1];
    dot(t, a, b, c, shape, row, column).await;
}

/// The same, but a warp covers part of a row.
async fn coalesced(t: Thread, Matrices { a, b, c, shape }: Matrices) {
    let row = t.block_index[1] * TILE + t.index[1];
    let column = t.block_index[0] * TILE + t.index[0]; // x counts the columns
    dot(t, a, b, c, shape, row, column).await;
}

async fn dot(t: Thread, a: Global, b: Global, c: Global, s: Shape, row: usize, column: usize) {
    if row < s.m && column < s.n {
        let mut sum = 0.0;
        for p in 0..s.k {
            let x = t.load(a, row * s.k + p).await;
            let y = t.load(b, p * s.n + column).await;
            sum = t.fma(x, y, sum);
        }
        t.store(c, row * s.n + column, sum).await;
    }
}

/// Tiles of both matrices in shared memory, fetched once for the whole block.
async fn shared(t: Thread, Matrices { a, b, c, shape: s }: Matrices) {
    let [a_tile, b_tile] = t.shared([TILE * TILE; 2]);
    let [x, y] = t.index;
    let (row, column) = (t.block_index[1] * TILE + y, t.block_index[0] * TILE + x);
    let mut sum = 0.0;
    for start in (0..s.k).step_by(TILE) {
        let from_a = guarded(&t, a, s.m, s.k, row, start + x).await;
        let from_b = guarded(&t, b, s.k, s.n, start + y, column).await;
        t.store(a_tile, y * TILE + x, from_a).await;
        t.store(b_tile, y * TILE + x, from_b).await;
        t.barrier().await; // both tiles are whole
        for p in 0..TILE {
            let x_a = t.load(a_tile, y * TILE + p).await;
            let x_b = t.load(b_tile, p * TILE + x).await;
            sum = t.fma(x_a, x_b, sum);
        }
        t.barrier().await; // they are no longer needed
    }
    if row < s.m && column < s.n {
        t.store(c, row * s.n + column, sum).await;
    }
}

/// The number in `row` and `column`, zero beyond the matrix.
async fn guarded(
    t: &Thread,
    x: Global,
    rows: usize,
    columns: usize,
    row: usize,
    column: usize,
) -> f32 {
    if row < rows && column < columns { t.load(x, row * columns + column).await } else { 0.0 }
}

/// Both tiles of a step, fetched by all `threads` of a block together, number by number.
async fn fetch(
    t: &Thread,
    o: Matrices,
    tiles: [Shared; 2],
    corner: [usize; 3],
    size: [usize; 2],
    threads: usize,
) {
    let (s, [top, left, start], [rows, columns]) = (o.shape, corner, size);
    for at in (t.number()..rows * DEPTH).step_by(threads) {
        let value = guarded(t, o.a, s.m, s.k, top + at / DEPTH, start + at % DEPTH).await;
        t.store(tiles[0], at, value).await;
    }
    for at in (t.number()..DEPTH * columns).step_by(threads) {
        let value = guarded(t, o.b, s.k, s.n, start + at / columns, left + at % columns).await;
        t.store(tiles[1], at, value).await;
    }
}

/// Eight elements of C below each other for a thread: what it reads of B serves them all.
async fn tile1d(t: Thread, o: Matrices) {
    const SIDE: usize = 64;
    let s = o.shape;
    let tiles @ [a_tile, b_tile] = t.shared([SIDE * DEPTH; 2]);
    let [left, top] = t.block_index.map(|block| block * SIDE);
    let (x, y) = (t.index[0], t.index[1] * EACH);
    let mut sums = [0.0; EACH];
    for start in (0..s.k).step_by(DEPTH) {
        fetch(&t, o, tiles, [top, left, start], [SIDE; 2], SIDE * SIDE / EACH).await;
        t.barrier().await;
        for p in 0..DEPTH {
            let from_b = t.load(b_tile, p * SIDE + x).await;
            for (i, sum) in sums.iter_mut().enumerate() {
                let from_a = t.load(a_tile, (y + i) * DEPTH + p).await;
                *sum = t.fma(from_a, from_b, *sum);
            }
        }
        t.barrier().await;
    }
    for (i, sum) in sums.into_iter().enumerate() {
        let (row, column) = (top + y + i, left + x);
        if row < s.m && column < s.n {
            t.store(o.c, row * s.n + column, sum).await;
        }
    }
}

/// 8×8 elements for a thread: 16 reads serve 64 of them.
async fn tile2d(t: Thread, o: Matrices) {
    const STEP: usize = SIZE / EACH; // threads along each side
    let s = o.shape;
    let tiles @ [a_tile, b_tile] = t.shared([SIZE * DEPTH; 2]);
    let [left, top] = t.block_index.map(|block| block * SIZE);
    let [x, y] = t.index;
    let mut sums = [[0.0; EACH]; EACH];
    for start in (0..s.k).step_by(DEPTH) {
        fetch(&t, o, tiles, [top, left, start], [SIZE; 2], STEP * STEP).await;
        t.barrier().await;
        for p in 0..DEPTH {
            let (mut from_a, mut from_b) = ([0.0; EACH], [0.0; EACH]);
            for (i, value) in from_a.iter_mut().enumerate() {
                *value = t.load(a_tile, (y + i * STEP) * DEPTH + p).await;
            }
            for (j, value) in from_b.iter_mut().enumerate() {
                *value = t.load(b_tile, p * SIZE + x + j * STEP).await;
            }
            multiply(&t, &mut sums, from_a, from_b);
        }
        t.barrier().await;
    }
    for (i, sums) in sums.into_iter().enumerate() {
        for (j, sum) in sums.into_iter().enumerate() {
            let (row, column) = (top + y + i * STEP, left + x + j * STEP);
            if row < s.m && column < s.n {
                t.store(o.c, row * s.n + column, sum).await;
            }
        }
    }
}

/// Every number of one column with every number of one row.
fn multiply(t: &Thread, sums: &mut [[f32; EACH]; EACH], column: [f32; EACH], row: [f32; EACH]) {
    for (sums, x) in sums.iter_mut().zip(column) {
        for (sum, y) in sums.iter_mut().zip(row) {
            *sum = t.fma(x, y, *sum);
        }
    }
}

/// Four neighbouring numbers, as far as they are in the matrix: one instruction if rows begin at multiples of
/// sixteen bytes (`wide`).
async fn load4(
    t: &Thread,
    x: Global,
    [rows, columns]: [usize; 2],
    wide: bool,
    row: usize,
    column: usize,
) -> [f32; 4] {
    let at = row * columns + column;
    let mut four = [0.0; 4];
    if row < rows && column < columns {
        if wide {
            return t.load4(x, at).await;
        }
        for (i, value) in four.iter_mut().enumerate() {
            if column + i < columns {
                *value = t.load(x, at + i).await;
            }
        }
    }
    four
}

/// The tiles of a step in the registers of the threads, 4 numbers of each for every one of 256 threads.
async fn fetch4(t: &Thread, o: Matrices, [top, left, start]: [usize; 3]) -> [[f32; 4]; 2] {
    let (s, at) = (o.shape, t.number());
    let wide = wide(s);
    let (row, p) = (at / (DEPTH / 4), at % (DEPTH / 4) * 4);
    let from_a = load4(t, o.a, [s.m, s.k], wide, top + row, start + p).await;
    let (p, column) = (at / (SIZE / 4), at % (SIZE / 4) * 4);
    let from_b = load4(t, o.b, [s.k, s.n], wide, start + p, left + column).await;
    [from_a, from_b]
}

/// Whether rows of A and B begin at multiples of sixteen bytes.
fn wide(s: Shape) -> bool {
    s.k.is_multiple_of(4) && s.n.is_multiple_of(4)
}

/// From registers into shared memory; A's tile lies transposed there, and its columns are padded.
async fn stash(t: &Thread, tiles: [Shared; 2], [from_a, from_b]: [[f32; 4]; 2]) {
    let at = t.number();
    let (row, p) = (at / (DEPTH / 4), at % (DEPTH / 4) * 4);
    for (i, value) in from_a.into_iter().enumerate() {
        t.store(tiles[0], (p + i) * PADDED + row, value).await;
    }
    t.store4(tiles[1], 4 * at, from_b).await;
}

/// Where a thread's pieces of 4×4 are in the block's tile: the first, and from one to the next.
#[derive(Clone, Copy)]
struct Pieces {
    first: [usize; 2],
    step: [usize; 2],
}

impl Pieces {
    /// The first row (or column) of piece `i`.
    fn row(self, i: usize) -> usize {
        4 * (self.first[1] + i * self.step[1])
    }
    fn column(self, j: usize) -> usize {
        4 * (self.first[0] + j * self.step[0])
    }
}

/// The products of one step: 16 bytes at a time from shared memory.
async fn steps(t: &Thread, [a, b]: [Shared; 2], at: Pieces, sums: &mut [[f32; EACH]; EACH]) {
    for p in 0..DEPTH {
        let (mut from_a, mut from_b) = ([0.0; EACH], [0.0; EACH]);
        for (i, four) in from_a.as_chunks_mut().0.iter_mut().enumerate() {
            *four = t.load4(a, p * PADDED + at.row(i)).await;
        }
        for (j, four) in from_b.as_chunks_mut().0.iter_mut().enumerate() {
            *four = t.load4(b, p * SIZE + at.column(j)).await;
        }
        multiply(t, sums, from_a, from_b);
    }
}

async fn store_pieces(
    t: &Thread,
    o: Matrices,
    [top, left]: [usize; 2],
    at: Pieces,
    sums: [[f32; EACH]; EACH],
) {
    let s = o.shape;
    for (i, sums) in sums.into_iter().enumerate() {
        for (j, four) in sums.as_chunks::<4>().0.iter().enumerate() {
            let (row, column) = (top + at.row(i / 4) + i % 4, left + at.column(j));
            if row >= s.m || column >= s.n {
                continue;
            }
            if wide(s) {
                t.store4(o.c, row * s.n + column, *four).await;
                continue;
            }
            for (l, value) in four.iter().enumerate() {
                if column + l < s.n {
                    t.store(o.c, row * s.n + column + l, *value).await;
                }
            }
        }
    }
}

/// Sixteen bytes at a time from global and from shared memory.
async fn vectorised(t: Thread, o: Matrices) {
    let tiles = t.shared([DEPTH * PADDED, DEPTH * SIZE]);
    let [left, top] = t.block_index.map(|block| block * SIZE);
    let at = Pieces { first: t.index, step: [SIZE / EACH; 2] };
    let mut sums = [[0.0; EACH]; EACH];
    for start in (0..o.shape.k).step_by(DEPTH) {
        let next = fetch4(&t, o, [top, left, start]).await;
        stash(&t, tiles, next).await;
        t.barrier().await;
        steps(&t, tiles, at, &mut sums).await;
        t.barrier().await;
    }
    store_pieces(&t, o, [top, left], at, sums).await;
}

/// Two pairs of tiles: one is used while the next is in flight. One barrier a step.
async fn pipelined(t: Thread, o: Matrices, at: Pieces) {
    let [a0, b0, a1, b1] = t.shared([DEPTH * PADDED, DEPTH * SIZE, DEPTH * PADDED, DEPTH * SIZE]);
    let pairs = [[a0, b0], [a1, b1]];
    let [left, top] = t.block_index.map(|block| block * SIZE);
    let mut sums = [[0.0; EACH]; EACH];
    let first = fetch4(&t, o, [top, left, 0]).await;
    stash(&t, pairs[0], first).await;
    for start in (0..o.shape.k).step_by(DEPTH) {
        let now = start / DEPTH % 2;
        let next = fetch4(&t, o, [top, left, start + DEPTH]).await;
        t.barrier().await;
        steps(&t, pairs[now], at, &mut sums).await;
        stash(&t, pairs[1 - now], next).await;
    }
    store_pieces(&t, o, [top, left], at, sums).await;
}

async fn double_buffered(t: Thread, o: Matrices) {
    let at = Pieces { first: t.index, step: [SIZE / EACH; 2] };
    pipelined(t, o, at).await;
}

/// The lanes of a warp lie 4 down and 8 along, over 32×64 elements.
async fn warp_tiles(t: Thread, o: Matrices) {
    let (warp, lane) = (t.number() / 32, t.number() % 32);
    let down = lane / 16 * 2 + lane / 2 % 2;
    let along = lane / 4 % 4 * 2 + lane % 2;
    let first = [warp % 2 * 16 + along, warp / 2 * 8 + down];
    pipelined(t, o, Pieces { first, step: [8, 4] }).await;
}

/// The portable rungs, in the order of the page.
pub const RUNGS: [&str; 8] = [
    "naive",
    "coalesced",
    "shared",
    "tile1d",
    "tile2d",
    "vectorised",
    "double_buffered",
    "warp_tiles",
];

/// Runs one rung on `machine`, or `None` if there is none of this name.
///
/// # Errors
/// A [`KernelFault`] of the kernel.
pub fn launch(
    machine: &mut Machine,
    rung: &str,
    o: Matrices,
) -> Option<Result<Counts, KernelFault>> {
    let Shape { m, n, .. } = o.shape;
    let grid = |rows: usize, columns: usize| [n.div_ceil(columns), m.div_ceil(rows)];
    Some(match rung {
        "naive" => {
            let [x, y] = grid(TILE, TILE);
            run(machine, rung, [y, x], [TILE, TILE], naive, o)
        }
        "coalesced" => run(machine, rung, grid(TILE, TILE), [TILE, TILE], coalesced, o),
        "shared" => run(machine, rung, grid(TILE, TILE), [TILE, TILE], shared, o),
        "tile1d" => run(machine, rung, grid(64, 64), [64, 8], tile1d, o),
        "tile2d" => run(machine, rung, grid(SIZE, SIZE), [16, 16], tile2d, o),
        "vectorised" => run(machine, rung, grid(SIZE, SIZE), [16, 16], vectorised, o),
        "double_buffered" => run(machine, rung, grid(SIZE, SIZE), [16, 16], double_buffered, o),
        "warp_tiles" => run(machine, rung, grid(SIZE, SIZE), [256, 1], warp_tiles, o),
        _ => return None,
    })
}

fn run<F: Future<Output = ()>>(
    machine: &mut Machine,
    rung: &str,
    grid: [usize; 2],
    block: [usize; 2],
    kernel: fn(Thread, Matrices) -> F,
    o: Matrices,
) -> Result<Counts, KernelFault> {
    machine.launch(rung, grid, block, |t| kernel(t, o))
}

/// C = A·B on a new machine: the product and what it cost. `None` if there is no rung of this name.
///
/// # Errors
/// A [`KernelFault`] of the kernel.
///
/// # Panics
/// If the matrices do not have the sizes that `shape` says.
pub fn product(
    rung: &str,
    a: &[f32],
    b: &[f32],
    shape: Shape,
) -> Option<Result<(Vec<f32>, Counts), KernelFault>> {
    assert_eq!((a.len(), b.len()), (shape.m * shape.k, shape.k * shape.n), "sizes of A and B");
    let mut machine = Machine::new(1);
    let (a, b) = (machine.array(a), machine.array(b));
    let c = machine.unwritten(shape.m * shape.n);
    let result = launch(&mut machine, rung, Matrices { a, b, c, shape })?;
    Some(result.map(|counts| (machine.read(c), counts)))
}
