//! The kernels of the exercise `fuse` as text, and what they take on a GPU.

use crate::{
    Program, arrays,
    exercise::{Kernel, Operation},
    inputs, values,
};
use cpu_gpu::gpu::{self, Api, Arg, Buffer, Gpu, Kind, Launch, read_all, write_all};
use lab::{Plan, Race, check::near};
use std::collections::{BTreeMap, btree_map::Entry};
use std::time::Instant;

/// What the device says, or the race.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Blocks of a launch, of 256 threads each: a thread goes from one element to the one that is so many threads further.
const BLOCKS: usize = 1024;

/// What all kernels begin with: names that both interfaces share, and the total of a block.
const PRELUDE: &str = concat!(
    include_str!("../../../02-cpu-gpu/kernels/portable.h"),
    include_str!("../../engine/kernels/maths.h"),
    r"
#define TOTAL_OF_BLOCK(mine, to)                                            \
    BARRIER();                                                              \
    shared[THREAD_X] = mine;                                                \
    for (uint half_ = 128; half_ > 0; half_ /= 2) {                         \
        BARRIER();                                                          \
        if (THREAD_X < half_) shared[THREAD_X] += shared[THREAD_X + half_]; \
    }                                                                       \
    if (THREAD_X == 0) to = shared[0];

KERNEL THREADS_OF_BLOCK(256, 1) void total(
    GLOBAL const float *parts, GLOBAL float *numbers, uint at)
{
    SHARED float shared[256];
    float sum = 0.0f;
    for (uint i = THREAD_X; i < BLOCKS; i += 256) sum += parts[at * BLOCKS + i];
    TOTAL_OF_BLOCK(sum, numbers[at])
}
"
);

/// A GPU, or `None` and a note where there is none. With `THROUGHPUT_REQUIRE_OPENCL=1` any device counts.
pub fn gpu() -> Result<Option<Box<dyn Gpu>>> {
    let any = std::env::var("THROUGHPUT_REQUIRE_OPENCL").is_ok_and(|value| value == "1");
    let found = gpu::devices().found;
    let fits = found.iter().filter(|about| about.kind == Kind::Gpu || any);
    if let Some(about) = fits.max_by_key(|about| (about.kind == Kind::Gpu, about.api == Api::Cuda))
    {
        return Ok(Some(gpu::open(&about.id)?));
    }
    println!("no GPU: the kernels are checked, and not timed");
    Ok(None)
}

/// A kernel's text. Arrays are arguments, in the order of their indices; single numbers lie in one array together.
fn text(program: &[Operation], kernel: &Kernel, entry: &str) -> String {
    let arrays = arrays(program);
    let name = |at: usize| match program[at] {
        Operation::Number(number) => format!("{number:?}f"),
        _ => format!("v{at}"),
    };
    let [mut arguments, mut before, mut body, mut after] = [const { String::new() }; 4];
    for at in operands(program, kernel) {
        let constant = if kernel.reads.contains(&at) { "const " } else { "" };
        arguments += &format!("GLOBAL {constant}float *x{at}, ");
    }
    for &at in &kernel.reads {
        let from = if arrays[at] { format!("x{at}[i]") } else { format!("numbers[{at}]") };
        body += &format!("float v{at} = {from};\n");
    }
    for &at in &kernel.computes {
        let value = match program[at] {
            Operation::Input | Operation::Number(_) => continue,
            Operation::Total(a) => {
                before += &format!("float v{at} = 0.0f;\n");
                body += &format!("v{at} += {};\n", name(a));
                continue;
            }
            Operation::Root(a) => format!("SQRT({})", name(a)),
            Operation::Larger(a, b) => format!("{b} > {a} ? {b} : {a}", a = name(a), b = name(b)),
            Operation::Add(a, b) => format!("{} + {}", name(a), name(b)),
            Operation::Subtract(a, b) => format!("{} - {}", name(a), name(b)),
            Operation::Multiply(a, b) => format!("{} * {}", name(a), name(b)),
            Operation::Divide(a, b) => format!("{} / {}", name(a), name(b)),
        };
        body += &format!("float v{at} = {value};\n");
    }
    for &at in &kernel.writes {
        match program[at] {
            Operation::Total(_) => {
                after += &format!("TOTAL_OF_BLOCK(v{at}, parts[{at} * BLOCKS + BLOCK_X])\n");
            }
            _ if arrays[at] => body += &format!("x{at}[i] = v{at};\n"),
            _ => body += &format!("if (i == 0) numbers[{at}] = v{at};\n"),
        }
    }
    format!(
        "KERNEL THREADS_OF_BLOCK(256, 1) void {entry}(\n{arguments}GLOBAL float *numbers, GLOBAL float *parts, uint \
         count)\n{{\nSHARED float shared[256];\n{before}for (uint i = BLOCK_X * 256 + THREAD_X; i < count; i += 256 * \
         BLOCKS) {{\n{body}}}\n{after}}}\n"
    )
}

/// The arrays that a kernel reads or writes, in the order of its arguments.
fn operands(program: &[Operation], kernel: &Kernel) -> Vec<usize> {
    let arrays = arrays(program);
    let mut all: Vec<usize> = kernel.reads.iter().chain(&kernel.writes).copied().collect();
    all.retain(|at| arrays[*at]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Kernels on a device, with their operands.
struct Task<'g> {
    gpu: &'g dyn Gpu,
    len: usize,
    program: &'g [Operation],
    kernels: Vec<(&'g Kernel, gpu::Kernel)>,
    total: gpu::Kernel,
    arrays: BTreeMap<usize, Buffer>,
    numbers: Buffer,
    parts: Buffer,
}

impl<'g> Task<'g> {
    fn new(
        gpu: &'g dyn Gpu,
        program: &'g [Operation],
        kernels: &'g [Kernel],
        inputs: &[Vec<f32>],
    ) -> Result<Self> {
        let options = [("BLOCKS", BLOCKS.to_string())];
        let compile = |(number, kernel): (usize, &'g Kernel)| {
            let entry = format!("kernel{number}");
            let source = PRELUDE.to_owned() + &text(program, kernel, &entry);
            Ok((kernel, gpu.compile(&source, &options, &entry)?))
        };
        let len = inputs.first().map_or(0, Vec::len);
        let mut arrays = BTreeMap::new();
        for (at, input) in inputs.iter().enumerate() {
            arrays.insert(at, gpu.alloc(4 * len)?);
            write_all(gpu, &arrays[&at], input)?;
        }
        for at in kernels.iter().flat_map(|kernel| operands(program, kernel)) {
            if let Entry::Vacant(array) = arrays.entry(at) {
                array.insert(gpu.alloc(4 * len)?);
            }
        }
        Ok(Self {
            gpu,
            len,
            program,
            kernels: kernels.iter().enumerate().map(compile).collect::<Result<_>>()?,
            total: gpu.compile(PRELUDE, &options, "total")?,
            arrays,
            numbers: gpu.alloc(4 * program.len())?,
            parts: gpu.alloc(4 * program.len() * BLOCKS)?,
        })
    }

    /// Launches every kernel, and one more for each total. Returns at once.
    fn launch(&self) -> cpu_gpu::Result<()> {
        let [numbers, parts] = [&self.numbers, &self.parts].map(Arg::Buffer);
        for (kernel, compiled) in &self.kernels {
            let operands = operands(self.program, kernel);
            let single = operands.is_empty();
            let count = Arg::U32(if single { 1 } else { self.len as u32 });
            let mut args: Vec<Arg> =
                operands.iter().map(|at| Arg::Buffer(&self.arrays[at])).collect();
            args.extend([numbers, parts, count]);
            // Totals need all blocks, for each writes a part.
            let launch = Launch::new([BLOCKS, 1], [256, 1]);
            self.gpu.launch(compiled, launch, &args)?;
            for &at in &kernel.writes {
                if matches!(self.program[at], Operation::Total(_)) {
                    let args = [parts, numbers, Arg::U32(at as u32)];
                    self.gpu.launch(&self.total, Launch::new([1, 1], [256, 1]), &args)?;
                }
            }
        }
        Ok(())
    }
}

/// Compares the results on the device with those of the CPU.
pub fn check(gpu: &dyn Gpu, (program, results): &Program, kernels: &[Kernel]) -> Result<()> {
    let len = 300_001;
    let narrow = |x: &Vec<f64>| x.iter().map(|x| *x as f32).collect();
    let inputs: Vec<Vec<f32>> = inputs(program, len).iter().map(narrow).collect();
    let (task, wanted) = (Task::new(gpu, program, kernels, &inputs)?, values(program, len));
    task.launch()?;
    for at in results {
        let found: Vec<f32> = read_all(gpu, &task.arrays[at], len)?;
        for (i, (found, wanted)) in found.iter().zip(&wanted[*at]).enumerate() {
            let what = format_args!("on {} element {i} of result {at}", gpu.about().name);
            near(*found, *wanted, 1e-4 * wanted.abs() + 1e-6, what);
        }
    }
    Ok(())
}

/// Lets both plans take turns, and prints what they take.
pub fn race(gpu: &dyn Gpu, program: &Program, plans: &[Vec<Kernel>; 2], len: usize) -> Result<()> {
    let inputs: Vec<Vec<f32>> = (0..inputs(&program.0, 0).len() as u64)
        .map(|seed| lab::random::numbers(len, seed).iter().map(|x| x.abs()).collect())
        .collect();
    let mut race = Race::new();
    for (name, plan) in ["one by one", "fused"].into_iter().zip(plans) {
        let task = Task::new(gpu, &program.0, plan, &inputs)?;
        race.turn(name, move |_| {
            let began = Instant::now();
            let ran = (0..20).try_for_each(|_| task.launch()).and_then(|()| gpu.finish());
            ran.map_err(|error| lab::Error::message(error.to_string()))?;
            Ok(began.elapsed().as_secs_f64() / 20.0)
        });
    }
    let results = race.run(Plan::QUICK)?;
    let micros = |name| -> lab::Result<f64> { Ok(1e6 * results.samples(name)?.median()) };
    let (one, fused) = (micros("one by one")?, micros("fused")?);
    let gain = results.ratio("one by one", "fused")?.median();
    let times = format!("one by one {one:.1} µs, fused {fused:.1} µs");
    println!("{len:8} elements: {times}, {gain:.2} times as fast");
    Ok(())
}
