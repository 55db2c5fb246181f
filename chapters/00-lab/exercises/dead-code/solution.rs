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
    // Forwards: what only the running program knows, because it comes out of a black box.
    let mut unknown = Vec::with_capacity(program.len());
    for step in program {
        unknown.push(match *step {
            Step::Number(_) => false,
            Step::BlackBox(_) => true,
            Step::Multiply(a, b) | Step::Add(a, b) => unknown[a] || unknown[b],
        });
    }
    // Backwards: what is needed.
    let mut needed = vec![false; program.len()];
    let mut left = 0;
    for (place, step) in program.iter().enumerate().rev() {
        match *step {
            Step::BlackBox(value) => needed[value] = true,
            Step::Multiply(a, b) | Step::Add(a, b) if needed[place] && unknown[place] => {
                (needed[a], needed[b]) = (true, true);
                left += 1;
            }
            _ => {}
        }
    }
    left
    // EXERCISE: instead
    // let operation = |step: &&Step| matches!(step, Step::Multiply(..) | Step::Add(..));
    // program.iter().filter(operation).count()
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
        let x = push(Step::BlackBox(x));
        // EXERCISE: instead
        // EXERCISE: end
        let square = push(Step::Multiply(x, x));
        sum = push(Step::Add(sum, square));
    }
    // EXERCISE: begin
    push(Step::BlackBox(sum));
    // EXERCISE: instead
    // EXERCISE: end
    program
}
