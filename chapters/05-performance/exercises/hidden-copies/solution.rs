//! Copies behind kernels.

/// Of the seconds in which some copy runs, the fraction in which some kernel runs too. Each is from its start to its end, in
/// seconds; they come in any order, and those of one kind may overlap. Without a copy it is 1.
pub fn hidden(copies: &[[f64; 2]], kernels: &[[f64; 2]]) -> f64 {
    // EXERCISE: begin
    let (copies, kernels) = (union(copies), union(kernels));
    let all: f64 = copies.iter().map(|[from, to]| to - from).sum();
    let mut both = 0.0;
    for copy in &copies {
        for kernel in &kernels {
            both += f64::max(copy[1].min(kernel[1]) - copy[0].max(kernel[0]), 0.0);
        }
    }
    if all > 0.0 { both / all } else { 1.0 }
}

/// The same time in stretches that do not overlap, in their order.
fn union(spans: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted = spans.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut union: Vec<[f64; 2]> = Vec::new();
    for span in sorted {
        match union.last_mut() {
            Some(last) if span[0] <= last[1] => last[1] = last[1].max(span[1]),
            _ => union.push(span),
        }
    }
    union
    // EXERCISE: instead
    // // Each copy with each kernel: what two kernels share counts twice.
    // let (mut both, mut all) = (0.0, 0.0);
    // for copy in copies {
    //     all += copy[1] - copy[0];
    //     for kernel in kernels {
    //         both += f64::max(copy[1].min(kernel[1]) - copy[0].max(kernel[0]), 0.0);
    //     }
    // }
    // both / all
    // EXERCISE: end
}
