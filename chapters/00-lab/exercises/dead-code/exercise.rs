//! What a compiler leaves of a benchmark.

/// One step of a program. It makes one value, which later steps name by the step's index in the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A constant of the program.
    Number(f64),
    /// The product of the values of two earlier steps.
    Multiply(usize, usize),
    /// The sum of the values of two earlier steps.
    Add(usize, usize),
    /// `black_box` of an earlier value. For the compiler it uses the value, and anything may come out.
    BlackBox(usize),
}

/// How many products and sums are left for the running program: those that a `black_box` needs, directly or
/// not, and whose value is not known before.
pub fn operations_left(program: &[Step]) -> usize {
    // EXERCISE: begin
    let operation = |step: &&Step| matches!(step, Step::Multiply(..) | Step::Add(..));
    program.iter().filter(operation).count()
    // EXERCISE: end
}

/// A benchmark: the sum of the squares of `numbers`, with all of its 2·n operations left.
pub fn benchmark(numbers: &[f64]) -> Vec<Step> {
    let mut program = Vec::new();
    let mut push = |step| {
        program.push(step);
        program.len() - 1
    };
    let mut sum = push(Step::Number(0.0));
    for &number in numbers {
        let x = push(Step::Number(number));
        // EXERCISE: begin
        // EXERCISE: end
        let square = push(Step::Multiply(x, x));
        sum = push(Step::Add(sum, square));
    }
    // EXERCISE: begin
    // EXERCISE: end
    program
}
