//! Where each token of a vocabulary stands in a batch.

/// The positions of each token.
#[derive(Debug, PartialEq, Eq)]
pub struct Lists {
    /// Where each token's positions begin, and at the end the number of all.
    pub starts: Vec<usize>,
    /// All positions, by token; those of one token ascend.
    pub positions: Vec<usize>,
}

/// The lists of a batch of so many positions. `token` gives the token at a position, below `vocabulary`, and is to be asked
/// at most twice for each.
pub fn lists(count: usize, vocabulary: usize, token: impl Fn(usize) -> usize) -> Lists {
    // EXERCISE: begin
    let mut starts = vec![0; vocabulary + 1];
    for at in 0..count {
        starts[token(at) + 1] += 1;
    }
    for own in 0..vocabulary {
        starts[own + 1] += starts[own];
    }
    let (mut free, mut positions) = (starts.clone(), vec![0; count]);
    for at in 0..count {
        let next = &mut free[token(at)];
        positions[*next] = at;
        *next += 1;
    }
    Lists { starts, positions }
    // EXERCISE: instead
    // // Every position, for every token.
    // let (mut starts, mut positions) = (vec![0], Vec::new());
    // for own in 0..vocabulary {
    //     positions.extend((0..count).filter(|at| token(*at) == own));
    //     starts.push(positions.len());
    // }
    // Lists { starts, positions }
    // EXERCISE: end
}
