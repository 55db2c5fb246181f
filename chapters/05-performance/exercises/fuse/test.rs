//! The test of the exercise `fuse`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

mod device;

use cpu_gpu::gpu::Kind;
use exercise::Operation::{
    self, Add, Divide, Input, Larger, Multiply, Number, Root, Subtract, Total,
};
use exercise::{Kernel, fuse};
use lab::check::{SplitMix64, same_bits, some};
use std::collections::{BTreeMap, BTreeSet};

/// A program and its results.
type Program = (Vec<Operation>, Vec<usize>);

/// A step of Adam without the corrections of its means, with a gradient that is scaled down to a length of 1 if it is
/// longer.
fn clipped_adam() -> Program {
    let mut program = vec![Input, Input, Input, Input]; // p, g, m, v
    let mut push = |operation| {
        program.push(operation);
        program.len() - 1
    };
    let [one, beta1, rest1] = [1.0, 0.9, 0.1].map(|x| push(Number(x)));
    let [beta2, rest2, lr, eps] = [0.999, 0.001, 3e-4, 1e-8].map(|x| push(Number(x)));
    let square = push(Multiply(1, 1));
    let length = push(Total(square));
    let length = push(Root(length));
    let length = push(Larger(length, one));
    let g = push(Divide(1, length));
    let (kept, new) = (push(Multiply(beta1, 2)), push(Multiply(rest1, g)));
    let m = push(Add(kept, new));
    let square = push(Multiply(g, g));
    let (kept, new) = (push(Multiply(beta2, 3)), push(Multiply(rest2, square)));
    let v = push(Add(kept, new));
    let root = push(Root(v));
    let below = push(Add(root, eps));
    let step = push(Divide(m, below));
    let step = push(Multiply(lr, step));
    let p = push(Subtract(0, step));
    (program, vec![p, m, v])
}

/// An array of 100 elements, shifted and scaled to mean 0 and variance 1.
fn normalised() -> Program {
    let program = vec![
        Input,
        Number(0.01),
        Total(0),
        Multiply(2, 1), // the mean
        Subtract(0, 3),
        Multiply(4, 4),
        Total(5),
        Multiply(6, 1), // the variance
        Root(7),
        Divide(4, 8),
    ];
    (program, vec![9])
}

/// A bias, `ReLU` and a mask.
fn layer() -> Program {
    (vec![Input, Input, Input, Number(0.0), Add(0, 1), Larger(4, 3), Multiply(5, 2)], vec![6])
}

/// Operations at random, some of them for nothing.
fn random_program(random: &mut SplitMix64) -> Program {
    let inputs = 1 + random.below(4);
    let mut program = vec![Input; inputs];
    program.push(Number(0.5));
    for at in inputs + 1..inputs + 2 + random.below(20) {
        let (a, b) = (random.below(at), random.below(at));
        let all = [Add(a, b), Subtract(a, b), Multiply(a, b), Divide(a, b), Larger(a, b)];
        program.push(match random.below(8) {
            5 => Root(a),
            6 | 7 => Total(a),
            which => all[which],
        });
    }
    let results = (inputs + 1..program.len()).filter(|_| random.below(4) == 0).collect();
    (program, results)
}

/// Which values are arrays; the others are single numbers.
fn arrays(program: &[Operation]) -> Vec<bool> {
    let mut arrays: Vec<bool> = Vec::new();
    for operation in program {
        arrays.push(match operation {
            Input => true,
            Total(_) => false,
            other => other.operands().into_iter().any(|of| arrays[of]),
        });
    }
    arrays
}

/// The elements of a value that is computed from `of`.
fn compute(operation: Operation, of: &[&Vec<f64>], len: usize) -> Vec<f64> {
    let each = |f: fn(f64, f64) -> f64| of[0].iter().zip(of[1]).map(|(a, b)| f(*a, *b)).collect();
    match operation {
        Input => panic!("an input can't be computed"),
        Number(number) => vec![number.into(); len],
        Add(..) => each(|a, b| a + b),
        Subtract(..) => each(|a, b| a - b),
        Multiply(..) => each(|a, b| a * b),
        Divide(..) => each(|a, b| a / b),
        Larger(..) => each(|a, b| if b > a { b } else { a }),
        Root(_) => of[0].iter().map(|a| a.sqrt()).collect(),
        Total(_) => vec![of[0].iter().sum(); len],
    }
}

/// `count` arrays of random elements, which become positive from the third one on.
fn inputs(program: &[Operation], len: usize) -> Vec<Vec<f64>> {
    let mut random = SplitMix64::new(len as u64);
    let count = program.iter().filter(|operation| **operation == Input).count();
    let mut draw = |at: usize| if at < 2 { random.normal() } else { random.unit() };
    (0..count).map(|at| (0..len).map(|_| f64::from(draw(at) as f32)).collect()).collect()
}

/// All values of a program, one after the other.
fn values(program: &[Operation], len: usize) -> Vec<Vec<f64>> {
    let mut values = inputs(program, len);
    for operation in &program[values.len()..] {
        let of: Vec<&Vec<f64>> = operation.operands().iter().map(|of| &values[*of]).collect();
        let value = compute(*operation, &of, len);
        values.push(value);
    }
    values
}

/// Runs kernels by the rules, and returns what is in memory in the end.
#[track_caller]
fn run(program: &[Operation], kernels: &[Kernel], len: usize) -> BTreeMap<usize, Vec<f64>> {
    let mut memory: BTreeMap<usize, Vec<f64>> =
        inputs(program, len).into_iter().enumerate().collect();
    for (number, kernel) in kernels.iter().enumerate() {
        let what = |at: usize| format!("kernel {number}, value {at} ({:?})", program[at]);
        let mut registers = BTreeMap::new();
        for (at, operation) in program.iter().enumerate() {
            if let Number(_) = operation {
                registers.insert(at, compute(*operation, &[], len));
            }
        }
        for &at in &kernel.reads {
            let value = some(memory.get(&at), format!("{}: read before it is written", what(at)));
            registers.insert(at, value.clone());
        }
        for &at in &kernel.computes {
            let operands = program[at].operands();
            for of in &operands {
                let total = matches!(program[*of], Total(_)) && kernel.computes.contains(of);
                assert!(!total, "{}: total {of} is not complete before the kernel ends", what(at));
                let known = registers.contains_key(of);
                assert!(known, "{}: {of} is neither read nor computed", what(at));
            }
            let of: Vec<&Vec<f64>> = operands.iter().map(|of| &registers[of]).collect();
            let value = compute(program[at], &of, len);
            registers.insert(at, value);
        }
        for &at in &kernel.writes {
            assert!(kernel.computes.contains(&at), "{}: written, but not computed", what(at));
            memory.insert(at, registers[&at].clone());
        }
    }
    memory
}

/// The arrays that kernels read and write.
fn traffic(program: &[Operation], kernels: &[Kernel]) -> usize {
    let arrays = arrays(program);
    let moved = kernels.iter().flat_map(|kernel| kernel.reads.iter().chain(&kernel.writes));
    moved.filter(|at| arrays[**at]).count()
}

/// Whether the results are in memory in the end, with the right elements.
#[track_caller]
fn computes((program, results): &Program, kernels: &[Kernel]) {
    for len in [0, 1, 100] {
        let (memory, wanted) = (run(program, kernels, len), values(program, len));
        for at in results {
            let what = format!("{program:?}: result {at}");
            let found = some(memory.get(at), format!("{what} is not in memory in the end"));
            same_bits(found, &wanted[*at], what);
        }
    }
}

/// Kernels and arrays if nothing but totals and results is ever written.
fn enough((program, results): &Program) -> (usize, usize) {
    let is_total = |at: usize| matches!(program[at], Total(_));
    let mut depth = vec![0; program.len()];
    for (at, operation) in program.iter().enumerate() {
        let of = operation.operands().into_iter().map(|of| depth[of] + usize::from(is_total(of)));
        depth[at] = of.max().unwrap_or(0);
    }
    let (mut roots, mut seen) = (results.clone(), BTreeSet::new());
    let mut kernels: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new(); // and what they read
    while let Some(root) = roots.pop() {
        if !seen.insert(root) {
            continue;
        }
        let reads = kernels.entry(depth[root]).or_default();
        let mut below = program[root].operands();
        while let Some(at) = below.pop() {
            match program[at] {
                Input => _ = reads.insert(at),
                Total(_) => roots.push(at),
                other => below.extend(other.operands()),
            }
        }
    }
    let arrays = arrays(program);
    let written = results.iter().filter(|at| arrays[**at]).count();
    (kernels.len(), kernels.values().map(BTreeSet::len).sum::<usize>() + written)
}

/// The results are right, and take no more kernels and arrays than they must.
#[track_caller]
fn is_fused(program: &Program, most_kernels: usize, most_arrays: usize) {
    let kernels = fuse(&program.0, &program.1);
    computes(program, &kernels);
    let (found, moved) = (kernels.len(), traffic(&program.0, &kernels));
    assert!(found <= most_kernels, "{program:?}: {found} kernels; {most_kernels} are enough");
    assert!(moved <= most_arrays, "{program:?}: {moved} arrays moved; {most_arrays} are enough");
}

#[test]
fn programs_by_hand_take_the_kernels_and_arrays_that_a_count_gives() {
    is_fused(&(vec![], vec![]), 0, 0);
    is_fused(&(vec![Input, Root(0)], vec![]), 0, 0); // no result needs the root
    is_fused(&(vec![Input, Total(0)], vec![1]), 1, 1);
    is_fused(&layer(), 1, 4);
    is_fused(&normalised(), 3, 4); // x for the mean, x for the variance, x and the result
    is_fused(&clipped_adam(), 2, 8); // g for the length; p, g, m, v and p, m, v
}

#[test]
fn random_programs_are_right_and_take_no_more_than_computing_everything_again() {
    let mut random = SplitMix64::new(7);
    for _ in 0..2000 {
        let program = random_program(&mut random);
        let (kernels, arrays) = enough(&program);
        is_fused(&program, kernels, arrays);
    }
}

/// One kernel for each operation.
fn one_by_one(program: &[Operation]) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for (at, operation) in program.iter().enumerate() {
        let mut reads = operation.operands();
        reads.retain(|of| !matches!(program[*of], Number(_)));
        reads.dedup();
        if !matches!(operation, Input | Number(_)) {
            kernels.push(Kernel { reads, computes: vec![at], writes: vec![at] });
        }
    }
    kernels
}

/// Shown, not demanded: what the kernels take on a GPU, if there is one.
#[test]
fn shows_the_times_on_a_gpu() -> device::Result<()> {
    let Some(gpu) = device::gpu()? else { return Ok(()) };
    let program = clipped_adam();
    let plans = [one_by_one(&program.0), fuse(&program.0, &program.1)];
    println!("clipped Adam on {}:", gpu.about().name);
    for (plan, name) in plans.iter().zip(["one by one", "fused"]) {
        device::check(&*gpu, &program, plan)?;
        println!("{name}: {} kernels, {} arrays", plan.len(), traffic(&program.0, plan));
    }
    if gpu.about().kind == Kind::Gpu {
        for len in [1 << 12, 1 << 23] {
            device::race(&*gpu, &program, &plans, len)?;
        }
    }
    Ok(())
}
