//! Copies behind kernels.

/// Of the seconds in which some copy runs, the fraction in which some kernel runs too. Each is from its start to its end, in
/// seconds; they come in any order, and those of one kind may overlap. Without a copy it is 1.
pub fn hidden(copies: &[[f64; 2]], kernels: &[[f64; 2]]) -> f64 {
    // EXERCISE: begin
    // Each copy with each kernel: what two kernels share counts twice.
    let (mut both, mut all) = (0.0, 0.0);
    for copy in copies {
        all += copy[1] - copy[0];
        for kernel in kernels {
            both += f64::max(copy[1].min(kernel[1]) - copy[0].max(kernel[0]), 0.0);
        }
    }
    both / all
    // EXERCISE: end
}
