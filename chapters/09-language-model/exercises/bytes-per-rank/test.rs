//! The test of the exercise `bytes-per-rank`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Model, Split, part, ranks};
use lab::check::{SplitMix64, pairs, some};

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

const ALL: [Split; 4] = [Split::Data, Split::Zero, Split::Tensor, Split::Pipeline];

fn all(model: Model) -> u64 {
    model.layers * (model.heads * model.piece + model.norm) + model.table
}

/// The bytes of parameters, of means, and sent, of all ranks: what there must be.
#[track_caller]
fn found(model: Model, split: Split, tokens: u64, count: u64) -> Vec<[u64; 3]> {
    let what = format!("{split:?}, {count} ranks");
    let found = ranks(model, split, tokens, count);
    let found = some(found, format!("{what}: {model:?} can be split so"));
    assert_eq!(found.len() as u64, count, "{what}: an entry for each rank");
    found.iter().map(|rank| [rank.parameters, rank.means, rank.sent]).collect()
}

#[track_caller]
fn is(model: Model, split: Split, (tokens, count): (u64, u64), wanted: &[[u64; 3]]) {
    for (rank, (found, wanted)) in (0..).zip(found(model, split, tokens, count).iter().zip(wanted))
    {
        let what = format!("{split:?}, {tokens} tokens, rank {rank} of {count}");
        for (of, at) in [("of parameters", 0), ("of means", 1), ("sent", 2)] {
            assert_eq!(found[at], wanted[at], "{what}: bytes {of} (left), and what is right");
        }
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
    is(ODD, Split::Data, (7, 2), &[[4640, 9280, 4640]; 2]);
    is(ODD, Split::Zero, (7, 2), &[[4640; 3]; 2]);
    // Two pieces and one, in five layers; four all-reduces of 21 numbers, cut 11 and 10.
    let (two, one) = (5 * (2 * 70 + 2) + 100, 5 * (70 + 2) + 100);
    let sent = 5 * 4 * (4 * 10 + 4 * 11);
    is(ODD, Split::Tensor, (7, 2), &[two, one].map(|own| [4 * own, 8 * own, sent]));
    // Two layers, two and one. The ends exchange the table's gradient.
    let wanted = [(2 * 212 + 100, 21 + 100), (2 * 212, 2 * 21), (212 + 100, 21 + 100)];
    is(ODD, Split::Pipeline, (7, 3), &wanted.map(|(own, sent)| [4 * own, 8 * own, 4 * sent]));
}

#[test]
fn one_rank_has_everything_and_sends_nothing() {
    for (split, model) in pairs(ALL, [ODD, SMALL]) {
        is(model, split, (4096, 1), &[[4 * all(model), 8 * all(model), 0]]);
    }
}

#[test]
fn a_split_without_a_piece_for_a_rank_is_refused() {
    for (split, most) in [(Split::Tensor, 3), (Split::Pipeline, 5)] {
        found(ODD, split, 7, most);
        let more = ranks(ODD, split, 7, most + 1);
        assert_eq!(more, None, "{split:?}: {} ranks, and only {most} have a piece", most + 1);
    }
    for split in ALL {
        assert_eq!(ranks(ODD, split, 7, 0), None, "{split:?}: no rank");
    }
    found(ODD, Split::Data, 7, 2000); // more ranks than parameters: some send empty parts
}

#[test]
fn sums_over_the_ranks() {
    let mut random = SplitMix64::new(23);
    for _ in 0..300 {
        let mut draw = |most: usize| 1 + random.below(most) as u64;
        let [layers, heads, piece, norm, table, width] =
            [12, 12, 1000, 50, 5000, 64].map(&mut draw);
        let model = Model { layers, heads, piece, norm, table, width };
        let (tokens, n) = (draw(500), all(model));
        let numbers = tokens * width;
        for split in ALL {
            let most = match split {
                Split::Data | Split::Zero => 12,
                Split::Tensor => model.heads,
                Split::Pipeline => model.layers,
            };
            let count = draw(most as usize);
            let found = found(model, split, tokens, count);
            let sum = |of: usize| found.iter().map(|rank| rank[of]).sum::<u64>();
            let each: Vec<u64> = found.iter().map(|rank| rank[2]).collect();
            let what = format!("{split:?}, {count} ranks, {tokens} tokens, {model:?}");
            // What is there more than once is the table, and with it the norms.
            let again = count - 1;
            let (parameters, means, sent) = match split {
                Split::Data => (count * n, count * n, ring(n, count)),
                Split::Zero => (count * n, n, ring(n, count)),
                Split::Tensor => {
                    let once = n + again * (table + layers * norm);
                    let sent = ring(numbers, count).into_iter().map(|sent| 4 * layers * sent);
                    (once, once, sent.collect())
                }
                Split::Pipeline => {
                    let ends = if count > 1 { table } else { 0 };
                    let all = 8 * again * numbers + 8 * ends;
                    assert_eq!(sum(2), all, "bytes sent by all ranks: {what}");
                    (n + ends, n + ends, each.clone())
                }
            };
            assert_eq!(sum(0), 4 * parameters, "parameters of all: {what}");
            assert_eq!(sum(1), 8 * means, "means of all: {what}");
            assert_eq!(each, sent, "bytes that each rank sends: {what}");
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
    let (tokens, n) = (3_200_000, all(model));
    let tensor = 4 * 96 * ring(tokens * width, 8)[0];
    for (split, count, wanted, of) in [
        (Split::Data, 1024, ring(n, 1024)[0], format!("the gradient of {n} parameters")),
        (Split::Tensor, 8, tensor, format!("the activations of {tokens} tokens")),
    ] {
        let [.., sent] = found(model, split, tokens, count)[0];
        assert_eq!(sent, wanted, "bytes sent (left), and what is right: {of}");
    }
    let [_, means, _] = found(model, Split::Zero, tokens, 1024)[1023];
    assert!(means < 8 * (n / 1024 + 1), "a rank of 1,024 holds {means} bytes of means");
}
