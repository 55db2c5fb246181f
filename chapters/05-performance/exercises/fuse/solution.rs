//! The first half of a fusing compiler: which operations of a program share a kernel.

/// What a value is. A program is a list of them; operands are the indices of values before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// An array that is in memory when the program begins.
    Input,
    /// A constant, which is part of a kernel's text.
    Number(f32),
    /// The sum of two values, element by element.
    Add(usize, usize),
    /// The first value minus the second.
    Subtract(usize, usize),
    /// The product of two values.
    Multiply(usize, usize),
    /// The first value over the second.
    Divide(usize, usize),
    /// The larger of two values.
    Larger(usize, usize),
    /// The square root of a value.
    Root(usize),
    /// The total of all elements: a single number, which is complete when the kernel that computes it is over.
    Total(usize),
}

impl Operation {
    /// The values that it is computed from.
    pub fn operands(self) -> Vec<usize> {
        match self {
            Self::Input | Self::Number(_) => vec![],
            Self::Root(a) | Self::Total(a) => vec![a],
            Self::Add(a, b)
            | Self::Subtract(a, b)
            | Self::Multiply(a, b)
            | Self::Divide(a, b)
            | Self::Larger(a, b) => vec![a, b],
        }
    }
}

/// A kernel, which has a thread for each element. Constants are in none of the three lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// What each thread reads from memory: inputs, and what kernels before have written.
    pub reads: Vec<usize>,
    /// What it then computes, in this order, from what it has read or computed.
    pub computes: Vec<usize>,
    /// What it has computed and writes to memory.
    pub writes: Vec<usize>,
}

/// Kernels that compute the program and leave the `results` in memory. No result is an input or a constant.
pub fn fuse(program: &[Operation], results: &[usize]) -> Vec<Kernel> {
    // EXERCISE: begin
    let is_total = |at: usize| matches!(program[at], Operation::Total(_));
    // The first kernel that can compute each value: one after that of a total among its operands.
    let mut first = vec![0; program.len()];
    for (at, operation) in program.iter().enumerate() {
        let of = operation.operands().into_iter().map(|of| first[of] + usize::from(is_total(of)));
        first[at] = of.max().unwrap_or(0);
    }
    // From the last kernel to the first: a later one says which totals it needs.
    let (mut wanted, mut kernels) = (results.to_vec(), Vec::new());
    for number in (0..=first.iter().copied().max().unwrap_or(0)).rev() {
        let mut writes: Vec<usize> =
            wanted.iter().copied().filter(|at| first[*at] == number).collect();
        writes.sort_unstable();
        writes.dedup();
        // Everything that is not a total is computed from the inputs again.
        let mut needed = vec![false; program.len()];
        for at in &writes {
            needed[*at] = true;
        }
        let mut kernel = Kernel { writes, ..Kernel::default() };
        for at in (0..program.len()).rev().filter(|at| first[*at] <= number) {
            if !needed[at] {
                continue;
            }
            match program[at] {
                Operation::Number(_) => {}
                Operation::Input => kernel.reads.push(at),
                Operation::Total(_) if first[at] < number => {
                    kernel.reads.push(at);
                    wanted.push(at);
                }
                operation => {
                    kernel.computes.push(at);
                    operation.operands().into_iter().for_each(|of| needed[of] = true);
                }
            }
        }
        kernel.computes.reverse(); // operands first
        kernels.push(kernel);
    }
    kernels.retain(|kernel| !kernel.writes.is_empty());
    kernels.reverse();
    kernels
    // EXERCISE: instead
    // // One kernel for each operation, whether its value is needed or not.
    // let _ = results;
    // let mut kernels = Vec::new();
    // for (at, operation) in program.iter().enumerate() {
    //     let mut reads = operation.operands();
    //     reads.retain(|of| !matches!(program[*of], Operation::Number(_)));
    //     reads.dedup();
    //     if !matches!(operation, Operation::Input | Operation::Number(_)) {
    //         kernels.push(Kernel { reads, computes: vec![at], writes: vec![at] });
    //     }
    // }
    // kernels
    // EXERCISE: end
}
