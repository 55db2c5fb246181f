//! The memory of a program whose results are dropped after their last use.

/// An operation. Its number is its position in the program, and so is its result's.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Bytes of the result that it makes.
    pub bytes: u64,
    /// The results that it reads: numbers of earlier operations.
    pub reads: Vec<usize>,
}

/// The most bytes that are in memory at once, if each result is dropped behind its last reader. One without
/// readers stays until the end.
pub fn peak(program: &[Operation]) -> u64 {
    // EXERCISE: begin
    let mut last = vec![usize::MAX; program.len()];
    for (at, operation) in program.iter().enumerate() {
        for &read in &operation.reads {
            last[read] = at;
        }
    }
    let (mut now, mut peak) = (0, 0);
    for (at, operation) in program.iter().enumerate() {
        now += operation.bytes;
        peak = peak.max(now);
        let dropped = (0..at).filter(|&result| last[result] == at);
        now -= dropped.map(|result| program[result].bytes).sum::<u64>();
    }
    peak
    // EXERCISE: instead
    // // What one operation touches: it forgets what waits for later ones.
    // let bytes = |result: &usize| program[*result].bytes;
    // let touched =
    //     |operation: &Operation| operation.bytes + operation.reads.iter().map(bytes).sum::<u64>();
    // program.iter().map(touched).max().unwrap_or(0)
    // EXERCISE: end
}
