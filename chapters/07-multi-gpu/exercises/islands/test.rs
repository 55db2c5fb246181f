//! The test of the exercise `islands`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::all_reduce;
use lab::check::{done, near, pairs, same_bits};
use lab::random;
use multi_gpu::comm::{counting::Counting, ring};
use multi_gpu::threads::{self, Threads};
use multi_gpu::{PointToPoint as _, Result};

/// What a rank sends: messages and numbers.
type Sent = [usize; 2];

/// An all-reduce among islands of so many ranks.
type Work = fn(&mut Counting<Threads>, usize, &mut [f32]) -> Result<()>;

/// A rank's numbers, from −1 to 1.
fn numbers(rank: usize, len: usize) -> Vec<f32> {
    random::numbers(len, rank as u64)
}

/// What each rank has at the end, and what it has sent inside its island and out of it.
fn run(size: usize, island: usize, len: usize, work: Work) -> Vec<(Vec<f32>, Sent, Sent)> {
    let ran = threads::run(size, |inner| {
        let mut comm = Counting::new(inner);
        let me = comm.rank().0;
        let mut data = numbers(me, len);
        work(&mut comm, island, &mut data)?;
        let [mut inside, mut across] = [Sent::default(); 2];
        for sent in comm.sent() {
            let leaves = sent.to.0 / island != me / island;
            let of = if leaves { &mut across } else { &mut inside };
            *of = [of[0] + 1, of[1] + sent.numbers];
        }
        Ok((data, inside, across))
    });
    done(ran, format!("{size} ranks in islands of {island}, {len} numbers"))
}

/// Yours.
const YOURS: Work = |comm, island, data| all_reduce(comm, island, data);

#[test]
fn every_rank_has_the_very_same_sum() {
    for size in 1..=9 {
        for (island, len) in pairs(1..=4, [0, 1, size - 1, size, 97]) {
            let all: Vec<_> = (0..size).map(|rank| numbers(rank, len)).collect();
            let ran = run(size, island, len, YOURS);
            for (rank, (data, ..)) in ran.iter().enumerate() {
                let case = format!("rank {rank} of {size}, islands of {island}, {len} numbers");
                for (at, found) in data.iter().enumerate() {
                    let sum =
                        |of: fn(f64) -> f64| all.iter().map(|x| of(x[at].into())).sum::<f64>();
                    let most = size as f64 * f64::from(f32::EPSILON) * sum(f64::abs);
                    near(*found, sum(|x| x), most, format!("{case}: the sum with index {at}"));
                }
                let other = "its sums are rounded in another way than those of rank 0";
                same_bits(data, &ran[0].0, format!("{case}: {other}"));
            }
        }
    }
}

#[test]
fn few_messages_and_few_numbers_leave_an_island() {
    for size in 1..=9_usize {
        for (island, len) in pairs(1..=4, [0, 1, size - 1, size, 97, 1200]) {
            let islands = size.div_ceil(island);
            let ran = run(size, island, len, YOURS).into_iter().enumerate();
            for (rank, (_, [_, inside], [messages, across])) in ran {
                let case = format!("rank {rank} of {size}, islands of {island}, {len} numbers");
                let members = island.min(size - rank / island * island);
                // In a full island each rank speaks for one part, in a smaller one for more of them.
                let parts = island.div_ceil(members);
                let part = len.div_ceil(island);
                let leave = if islands > 1 { 2 * parts * part } else { 0 };
                for (found, most, what) in [
                    (messages, 2 * (islands - 1) * parts, "messages leave the island"),
                    (across, leave, "numbers leave the island"),
                    (inside, 2 * island * part, "numbers are sent inside"),
                ] {
                    assert!(found <= most, "{case}: {found} {what}, and {most} are enough");
                }
            }
        }
    }
    shows_what_crosses();
}

/// The rank that sends the most out of its island, by a ring of all ranks and by yours.
fn shows_what_crosses() {
    let (size, island, len) = (9, 3, 9000);
    println!("{size} ranks in islands of {island}, {len} numbers: one rank sends to other islands");
    let most = |name: &str, work: Work| {
        let across = run(size, island, len, work).into_iter().map(|(_, _, across)| across);
        let [messages, numbers] = across.max_by_key(|[_, numbers]| *numbers).unwrap_or_default();
        println!("{name}: up to {messages} messages, {numbers} numbers");
    };
    most("by one ring of all ranks", |comm, _, data| ring::all_reduce(comm, data));
    most("by your all-reduce      ", YOURS);
}
