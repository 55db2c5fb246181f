//! The test of the exercise `bytes-per-rank`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Model, Rank, Split, part, ranks};
use lab::random::SplitMix64;

/// The page's `small`, with 8 heads.
const SMALL: Model = Model {
    layers: 6,
    heads: 8,
    piece: (4 * 256 * 256 + 3 * 256 * 704) / 8,
    norm: 512,
    table: 2048 * 256,
    width: 256,
};

/// A model with nothing that divides.
const ODD: Model = Model { layers: 5, heads: 3, piece: 70, norm: 2, table: 100, width: 3 };

fn all(model: Model) -> u64 {
    model.layers * (model.heads * model.piece + model.norm) + model.table
}

/// What there must be.
#[track_caller]
fn found(model: Model, split: Split, tokens: u64, count: u64) -> Vec<Rank> {
    let what = format!("{split:?}, {count} ranks");
    let Some(found) = ranks(model, split, tokens, count) else {
        panic!("{what}: {model:?} can be split so")
    };
    assert_eq!(found.len() as u64, count, "{what}: an entry for each rank");
    found
}

#[track_caller]
fn is(model: Model, split: Split, of: (u64, u64), wanted: &[(u64, u64, u64)]) {
    let (tokens, count) = of;
    for (rank, (found, wanted)) in found(model, split, tokens, count).iter().zip(wanted).enumerate()
    {
        let what = format!("{split:?}, {tokens} tokens, rank {rank} of {count}");
        let Rank { parameters, means, sent } = *found;
        let &(p, m, s) = wanted;
        assert_eq!(parameters, p, "{what}: bytes of parameters (left), and what is right");
        assert_eq!(means, m, "{what}: bytes of means (left), and what is right");
        assert_eq!(sent, s, "{what}: bytes sent (left), and what is right");
    }
}

/// What each rank sends in a ring all-reduce of `n` numbers, round by round.
fn ring(n: u64, ranks: u64) -> Vec<u64> {
    let mut sent = vec![0; ranks as usize];
    for round in 0..ranks - 1 {
        for (rank, sent) in (0..).zip(&mut sent) {
            // First what was received last, which is now a sum; then what was received last, which is now complete.
            let summed = (rank + 2 * ranks - 1 - round) % ranks;
            let complete = (rank + ranks - round) % ranks;
            *sent += 4 * (part(n, ranks, summed) + part(n, ranks, complete));
        }
    }
    sent
}

#[test]
fn by_hand() {
    // 5 · (3 · 70 + 2) + 100 = 1,160 parameters, in two halves.
    is(ODD, Split::Data, (7, 2), &[(4640, 9280, 4640), (4640, 9280, 4640)]);
    is(ODD, Split::Zero, (7, 2), &[(4640, 4640, 4640), (4640, 4640, 4640)]);
    // Two pieces and one, in five layers; four all-reduces of 21 numbers, cut 11 and 10.
    let (two, one) = (5 * (2 * 70 + 2) + 100, 5 * (70 + 2) + 100);
    let sent = 5 * 4 * (4 * 10 + 4 * 11);
    is(ODD, Split::Tensor, (7, 2), &[(4 * two, 8 * two, sent), (4 * one, 8 * one, sent)]);
    // Two layers, two and one. The ends exchange the table's gradient.
    let (first, middle, last) = (2 * 212 + 100, 2 * 212, 212 + 100);
    let wanted = [
        (4 * first, 8 * first, 4 * (21 + 100)),
        (4 * middle, 8 * middle, 4 * 2 * 21),
        (4 * last, 8 * last, 4 * (21 + 100)),
    ];
    is(ODD, Split::Pipeline, (7, 3), &wanted);
}

#[test]
fn one_rank_has_everything_and_sends_nothing() {
    for split in [Split::Data, Split::Zero, Split::Tensor, Split::Pipeline] {
        for model in [ODD, SMALL] {
            is(model, split, (4096, 1), &[(4 * all(model), 8 * all(model), 0)]);
        }
    }
}

#[test]
fn a_split_without_a_piece_for_a_rank_is_refused() {
    for (split, most) in [(Split::Tensor, 3), (Split::Pipeline, 5)] {
        found(ODD, split, 7, most);
        let more = ranks(ODD, split, 7, most + 1);
        assert_eq!(more, None, "{split:?}: {} ranks, and only {most} have a piece", most + 1);
    }
    for split in [Split::Data, Split::Zero, Split::Tensor, Split::Pipeline] {
        assert_eq!(ranks(ODD, split, 7, 0), None, "{split:?}: no rank");
    }
    found(ODD, Split::Data, 7, 2000); // more ranks than parameters: some send empty parts
}

#[test]
fn sums_over_the_ranks() {
    let mut random = SplitMix64::new(23);
    for _ in 0..300 {
        let mut draw = |most: usize| 1 + random.below(most) as u64;
        let model = Model {
            layers: draw(12),
            heads: draw(12),
            piece: draw(1000),
            norm: draw(50),
            table: draw(5000),
            width: draw(64),
        };
        let (tokens, n) = (draw(500), all(model));
        let numbers = tokens * model.width;
        for split in [Split::Data, Split::Zero, Split::Tensor, Split::Pipeline] {
            let most = match split {
                Split::Data | Split::Zero => 12,
                Split::Tensor => model.heads,
                Split::Pipeline => model.layers,
            };
            let count = draw(most as usize);
            let found = found(model, split, tokens, count);
            let sum = |of: fn(&Rank) -> u64| found.iter().map(of).sum::<u64>();
            let what = format!("{split:?}, {count} ranks, {tokens} tokens, {model:?}");
            // What is there more than once is the table, and with it the norms.
            let again = count - 1;
            let (parameters, means, sent) = match split {
                Split::Data => (count * n, count * n, ring(n, count)),
                Split::Zero => (count * n, n, ring(n, count)),
                Split::Tensor => {
                    let once = n + again * (model.table + model.layers * model.norm);
                    let each = ring(numbers, count).into_iter();
                    (once, once, each.map(|sent| 4 * model.layers * sent).collect())
                }
                Split::Pipeline => {
                    let ends = if count > 1 { model.table } else { 0 };
                    let all = 8 * again * numbers + 8 * ends;
                    assert_eq!(sum(|rank| rank.sent), all, "bytes sent by all ranks: {what}");
                    (n + ends, n + ends, found.iter().map(|rank| rank.sent).collect())
                }
            };
            assert_eq!(sum(|rank| rank.parameters), 4 * parameters, "parameters of all: {what}");
            assert_eq!(sum(|rank| rank.means), 8 * means, "means of all: {what}");
            let found: Vec<u64> = found.iter().map(|rank| rank.sent).collect();
            assert_eq!(found, sent, "bytes that each rank sends: {what}");
        }
    }
}

#[test]
fn a_large_model_on_many_ranks() {
    // 96 layers of 96 heads: 175 billion parameters, as GPT-3.
    let width = 12_288;
    let piece = 12 * width * width / 96;
    let model =
        Model { layers: 96, heads: 96, piece, norm: 4 * width, table: 50_257 * width, width };
    let tokens = 3_200_000;
    let n = all(model);
    let sent = |split, count| found(model, split, tokens, count)[0].sent;
    assert_eq!(
        sent(Split::Data, 1024),
        ring(n, 1024)[0],
        "bytes sent (left), and what is right: the gradient of {n} parameters"
    );
    let tensor = 4 * 96 * ring(tokens * width, 8)[0];
    assert_eq!(
        sent(Split::Tensor, 8),
        tensor,
        "bytes sent (left), and what is right: the activations of {tokens} tokens"
    );
    let zero = found(model, Split::Zero, tokens, 1024)[1023];
    assert!(zero.means < 8 * (n / 1024 + 1), "a rank of 1,024 holds {} bytes of means", zero.means);
}
