//! The test of the exercise `transpose`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::gpu::{self, Arg, Gpu, Kernel, Kind, Launch, read_all, write_all};
use cpu_gpu::simt::{Counts, Machine};
use exercise::{KERNEL, ROWS, TILE, transpose};
use lab::check::{done, pairs, same_bits};

/// Odd shapes, single rows and columns, whole tiles.
const SHAPES: [[usize; 2]; 9] =
    [[1, 1], [1, 70], [70, 1], [31, 33], [32, 32], [33, 100], [97, 65], [128, 96], [0, 5]];

/// A kernel that copies, with the arguments and the launch of the transpose.
const COPY: &str = r"
KERNEL THREADS_OF_BLOCK(TILE, ROWS)
void copy(GLOBAL const float *a, GLOBAL float *b, uint m, uint n)
{
    uint column = BLOCK_X * TILE + THREAD_X;
    for (uint y = THREAD_Y; y < TILE; y += ROWS) {
        uint row = BLOCK_Y * TILE + y;
        if (row < m && column < n) b[row * n + column] = a[row * n + column];
    }
}
";

/// A different number for each element.
fn numbers([m, n]: [usize; 2]) -> Vec<f32> {
    (0..m * n).map(|i| i as f32 + 1.0).collect()
}

/// Says which element of `b` is not that of Aᵀ.
fn compare(b: &[f32], [m, n]: [usize; 2], by: &str) {
    let a = numbers([m, n]);
    for (i, found) in b.iter().enumerate() {
        let (row, column) = (i / m, i % m);
        let what = format!("{by}, A of {m}×{n}: B in row {row} and column {column}");
        same_bits(*found, a[column * n + row], what);
    }
}

fn launch([m, n]: [usize; 2]) -> Launch {
    Launch::new([n.div_ceil(TILE), m.div_ceil(TILE)], [TILE, ROWS])
}

/// The kernel on the simulator: right, and at what cost.
fn simulated([m, n]: [usize; 2], seed: u64) -> Counts {
    let mut machine = Machine::new(seed);
    let (a, b) = (machine.array(&numbers([m, n])), machine.unwritten(m * n));
    let Launch { grid, block, .. } = launch([m, n]);
    let counts = machine.launch("transpose", grid, block, |t| transpose(t, a, b, m, n));
    let counts = done(counts, format!("A of {m}×{n}"));
    compare(&machine.read(b), [m, n], "the simulated GPU");
    counts
}

#[test]
fn matrices_of_all_shapes_are_turned() {
    for (shape, seed) in pairs(SHAPES, 0..3) {
        simulated(shape, seed);
    }
}

#[test]
fn reads_and_writes_are_coalesced() {
    let counts = simulated([96, 64], 1);
    let least = 96 * 64 * 4 / 32;
    println!("{} sectors read, {} written", counts.load_sectors, counts.store_sectors);
    for (what, sectors) in [("reads", counts.load_sectors), ("writes", counts.store_sectors)] {
        assert_eq!(sectors, least, "sectors of 32 bytes that the {what} of a 96×64 matrix touch");
    }
}

#[test]
fn no_two_lanes_want_one_bank() {
    let counts = simulated([96, 64], 1);
    assert_eq!(counts.conflicts(), 0, "wavefronts of shared memory that bank conflicts cost");
}

/// A kernel, compiled behind the header that makes it portable.
fn compile(gpu: &dyn Gpu, source: &str, entry: &str) -> cpu_gpu::Result<Kernel> {
    let header = include_str!("../../kernels/portable.h");
    let source = format!("{header}#line 1 \"{entry}\"{source}");
    gpu.compile(&source, &[("TILE", TILE.to_string()), ("ROWS", ROWS.to_string())], entry)
}

/// What a kernel makes of the matrix of this shape, and the highest rate of so many times five launches in GB/s: bytes read
/// and bytes written.
fn on(
    gpu: &dyn Gpu,
    kernel: &Kernel,
    [m, n]: [usize; 2],
    times: usize,
) -> cpu_gpu::Result<(Vec<f32>, f64)> {
    let (a, b) = (gpu.alloc(4 * m * n)?, gpu.alloc(4 * m * n)?);
    write_all(gpu, &a, &numbers([m, n]))?;
    write_all(gpu, &b, &vec![f32::NAN; m * n])?;
    let args = [Arg::Buffer(&a), Arg::Buffer(&b), Arg::U32(m as u32), Arg::U32(n as u32)];
    let mut five = || (0..5).try_for_each(|_| gpu.launch(kernel, launch([m, n]), &args));
    five()?;
    let mut best = f64::INFINITY;
    for _ in 0..times {
        best = best.min(gpu.seconds(&mut five)?);
    }
    Ok((read_all(gpu, &b, m * n)?, (2 * 4 * m * n * 5) as f64 / best / 1e9))
}

/// The rates are shown, not demanded: they depend on the machine.
#[test]
fn devices_turn_them_too() -> cpu_gpu::Result<()> {
    let devices = gpu::open_all();
    if devices.is_empty() {
        println!("no device is here: `transpose` ran on the simulated GPU, and KERNEL did not run");
    }
    for gpu in &devices {
        let (gpu, about) = (&**gpu, gpu.about());
        let (yours, copy) = (compile(gpu, KERNEL, "transpose")?, compile(gpu, COPY, "copy")?);
        for shape in SHAPES {
            compare(&on(gpu, &yours, shape, 0)?.0, shape, &about.name);
        }
        let side = if about.kind == Kind::Gpu { 4096 } else { 1024 };
        println!("{} ({}), {side}×{side}:", about.name, about.id);
        println!("your transpose: {:8.1} GB/s", on(gpu, &yours, [side; 2], 5)?.1);
        println!("a plain copy:   {:8.1} GB/s", on(gpu, &copy, [side; 2], 5)?.1);
    }
    Ok(())
}
