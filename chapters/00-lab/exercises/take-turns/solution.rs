//! A race between programs, on a machine that does not stay the same.

use lab::Samples;

/// Seconds that each contender takes, one sample in each round, after one call that warms up. `clock` says
/// how many seconds have passed since some moment.
pub fn race(
    clock: &dyn Fn() -> f64,
    contenders: &mut [&mut dyn FnMut()],
    rounds: usize,
) -> Vec<Samples> {
    let count = contenders.len();
    let mut samples = vec![Samples::default(); count];
    for contender in contenders.iter_mut() {
        contender();
    }
    let mut measure = |number: usize| {
        let began = clock();
        contenders[number]();
        samples[number].0.push(clock() - began);
    };
    // EXERCISE: begin
    for round in 0..rounds {
        for place in 0..count {
            // Every second round goes backwards: no contender is always the last.
            measure(if round % 2 == 0 { place } else { count - 1 - place });
        }
    }
    // EXERCISE: instead
    // for number in 0..count {
    //     for _ in 0..rounds {
    //         measure(number);
    //     }
    // }
    // EXERCISE: end
    samples
}
