//! Which activations wait for the backward pass, and which are computed again.

/// A layer of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Bytes of its output, for the whole batch.
    pub bytes: u64,
    /// Operations of its forward pass.
    pub operations: u64,
}

/// The most bytes of outputs at a time, if those with `kept` stay until the backward pass has gone through their layer,
/// and each segment of others between two of them is computed again as a whole when the backward pass arrives.
pub fn peak(layers: &[Layer], kept: &[bool]) -> u64 {
    let (mut waiting, mut segment, mut peak) = (0, 0, 0);
    for (layer, kept) in layers.iter().zip(kept) {
        if *kept {
            (waiting, segment) = (waiting + layer.bytes, 0);
        } else {
            segment += layer.bytes;
        }
        peak = peak.max(waiting + segment);
    }
    peak
}

/// The operations of what is computed again.
pub fn again(layers: &[Layer], kept: &[bool]) -> u64 {
    let others = layers.iter().zip(kept).filter(|(_, kept)| !**kept);
    others.map(|(layer, _)| layer.operations).sum()
}

/// Which outputs to keep so that [`peak`] is at most `budget` and [`again`] as small as it can be; `None` if the budget
/// is too small for any choice.
pub fn keep(layers: &[Layer], budget: u64) -> Option<Vec<bool>> {
    // EXERCISE: begin
    /// What can be kept up to some output.
    struct Choice {
        /// Bytes of all that is kept.
        waiting: u64,
        /// Operations of all that is not.
        again: u64,
        /// What is kept before: which output, and which of its choices.
        before: (usize, usize),
    }
    // For the chain's input (0), each output (1 to n) and the end (n + 1): the choices of what is kept up to there, if
    // that is kept as well. Fewer bytes first; each further one is there because it computes less again.
    let mut choices = vec![vec![Choice { waiting: 0, again: 0, before: (0, 0) }]];
    for to in 1..layers.len() + 2 {
        let own = layers.get(to - 1).map_or(0, |layer| layer.bytes);
        let (mut segment, mut again, mut found) = (0, 0, Vec::new());
        for from in (0..to).rev() {
            for (at, choice) in choices[from].iter().enumerate() {
                if choice.waiting + segment.max(own) <= budget {
                    let (waiting, again) = (choice.waiting + own, choice.again + again);
                    found.push(Choice { waiting, again, before: (from, at) });
                }
            }
            if from > 0 {
                segment += layers[from - 1].bytes;
                again += layers[from - 1].operations;
            }
        }
        found.sort_unstable_by_key(|choice| (choice.waiting, choice.again));
        let mut least = u64::MAX;
        found.retain(|choice| {
            let better = choice.again < least;
            least = least.min(choice.again);
            better
        });
        choices.push(found);
    }
    // The last choice of the end computes least again; back from there.
    let mut choice = choices.last()?.last()?;
    let mut kept = vec![false; layers.len()];
    while choice.before.0 > 0 {
        kept[choice.before.0 - 1] = true;
        choice = &choices[choice.before.0][choice.before.1];
    }
    Some(kept)
    // EXERCISE: instead
    // // Equal segments: every output, every second one, every third one, …
    // (1..=layers.len() + 1)
    //     .map(|every| (1..=layers.len()).map(|at| at % every == 0).collect())
    //     .filter(|kept: &Vec<bool>| peak(layers, kept) <= budget)
    //     .min_by_key(|kept| again(layers, kept))
    // EXERCISE: end
}
