//! Bytes that each rank of a split holds and sends.

/// How a model is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The batch.
    Data,
    /// The batch, and the optimizer's means (`ZeRO`, stage 1).
    Zero,
    /// The heads and hidden units of each layer.
    Tensor,
    /// The layers.
    Pipeline,
}

/// A transformer in f32. All but `width` and the two counts are numbers of parameters.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Layers.
    pub layers: u64,
    /// Pieces of a layer.
    pub heads: u64,
    /// A head with its fraction of the hidden units.
    pub piece: u64,
    /// A layer's parameters that are not cut.
    pub norm: u64,
    /// The table of tokens.
    pub table: u64,
    /// Numbers that a token is between two layers.
    pub width: u64,
}

/// A rank's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Of parameters that it holds, 4 for each.
    pub parameters: u64,
    /// Of means that it holds, 8 for each parameter that it updates.
    pub means: u64,
    /// That it sends in a step.
    pub sent: u64,
}

/// How many of `all` things are rank `rank`'s, of so many: the first ranks get one more if they can't be equal.
pub fn part(all: u64, ranks: u64, rank: u64) -> u64 {
    all / ranks + u64::from(rank < all % ranks)
}

/// The bytes of each rank, for a batch of so many tokens; nothing if the model can't be split so.
pub fn ranks(model: Model, split: Split, tokens: u64, ranks: u64) -> Option<Vec<Rank>> {
    // EXERCISE: begin
    let too_many = match split {
        Split::Data | Split::Zero => false,
        Split::Tensor => ranks > model.heads,
        Split::Pipeline => ranks > model.layers,
    };
    if ranks == 0 || too_many {
        return None;
    }
    let layer = |pieces: u64| pieces * model.piece + model.norm;
    let all = model.layers * layer(model.heads) + model.table;
    let activations = tokens * model.width;
    let one = |rank: u64| {
        let ring =
            |n: u64| 8 * n - 4 * part(n, ranks, rank) - 4 * part(n, ranks, (rank + 1) % ranks);
        let (held, updated, sent) = match split {
            Split::Data => (all, all, ring(all)),
            Split::Zero => (all, part(all, ranks, rank), ring(all)),
            Split::Tensor => {
                let own = model.layers * layer(part(model.heads, ranks, rank)) + model.table;
                (own, own, 4 * model.layers * ring(activations))
            }
            Split::Pipeline => {
                let (first, last) = (rank == 0, rank == ranks - 1);
                let table = if first || last { model.table } else { 0 };
                let own = part(model.layers, ranks, rank) * layer(model.heads) + table;
                let neighbours = u64::from(!first) + u64::from(!last);
                let tables = if ranks == 1 { 0 } else { table };
                (own, own, 4 * (neighbours * activations + tables))
            }
        };
        Rank { parameters: 4 * held, means: 8 * updated, sent }
    };
    Some((0..ranks).map(one).collect())
    // EXERCISE: instead
    // // As if every split were that of the batch, and all parts equal.
    // let _ = (split, tokens, part);
    // let all = model.layers * (model.heads * model.piece + model.norm) + model.table;
    // let sent = 8 * all * ranks.checked_sub(1)? / ranks;
    // Some((0..ranks).map(|_| Rank { parameters: 4 * all, means: 8 * all, sent }).collect())
    // EXERCISE: end
}
