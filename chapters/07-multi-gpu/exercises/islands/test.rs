//! The test of the exercise `islands`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::all_reduce;
use lab::random;
use multi_gpu::{
    Communicator, PointToPoint, Rank, Result,
    comm::ring,
    threads::{self, Threads},
};

/// What a rank sends: messages and numbers.
#[derive(Clone, Copy, Default)]
struct Sent {
    messages: usize,
    numbers: usize,
}

/// A communicator that counts what stays in this rank's island and what leaves it.
struct Counted {
    inner: Threads,
    island: usize,
    inside: Sent,
    across: Sent,
}

impl Counted {
    fn note(&mut self, to: Rank, data: &[f32]) {
        let leaves = to.0 / self.island != self.inner.rank().0 / self.island;
        let sent = if leaves { &mut self.across } else { &mut self.inside };
        sent.messages += 1;
        sent.numbers += data.len();
    }
}

impl PointToPoint for Counted {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn size(&self) -> usize {
        self.inner.size()
    }
    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.note(to, data);
        self.inner.send(to, data)
    }
    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.inner.receive(from, data)
    }
    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.note(to, send);
        self.inner.exchange(to, send, from, receive)
    }
}

impl Communicator for Counted {}

/// A rank's numbers, from −1 to 1.
fn numbers(rank: usize, len: usize) -> Vec<f32> {
    random::numbers(len, rank as u64)
}

/// What each rank has at the end, and what it has sent inside its island and out of it.
fn run(
    size: usize,
    island: usize,
    len: usize,
    work: fn(&mut Counted, usize, &mut [f32]) -> Result<()>,
) -> Vec<(Vec<f32>, Sent, Sent)> {
    threads::run(size, |inner| {
        let none = Sent::default();
        let mut comm = Counted { inner, island, inside: none, across: none };
        let mut data = numbers(comm.rank().0, len);
        work(&mut comm, island, &mut data)?;
        Ok((data, comm.inside, comm.across))
    })
    .unwrap_or_else(|error| panic!("{size} ranks in islands of {island}, {len} numbers: {error}"))
}

#[test]
fn every_rank_has_the_very_same_sum() {
    for size in 1..=9 {
        for island in 1..=4 {
            for len in [0, 1, size - 1, size, 97] {
                let all: Vec<_> = (0..size).map(|rank| numbers(rank, len)).collect();
                let ran =
                    run(size, island, len, |comm, island, data| all_reduce(comm, island, data));
                let case = format!("of {size} in islands of {island}, {len} numbers");
                for (rank, (data, ..)) in ran.iter().enumerate() {
                    for (at, found) in data.iter().enumerate() {
                        let sum: f64 = all.iter().map(|x| f64::from(x[at])).sum();
                        let scale: f64 = all.iter().map(|x| f64::from(x[at].abs())).sum();
                        let error = (f64::from(*found) - sum).abs() / scale;
                        let most = size as f64 * f64::from(f32::EPSILON);
                        assert!(
                            error <= most,
                            "rank {rank} {case}: number {at} is {found}, and the sum is {sum}"
                        );
                    }
                    let bits = |data: &[f32]| data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert!(
                        bits(data) == bits(&ran[0].0),
                        "rank {rank} {case}: its sums are rounded in another way than those of rank 0"
                    );
                }
            }
        }
    }
}

#[test]
fn few_messages_and_few_numbers_leave_an_island() {
    for size in 1..=9_usize {
        for island in 1..=4 {
            for len in [0, 1, size - 1, size, 97, 1200] {
                let ran =
                    run(size, island, len, |comm, island, data| all_reduce(comm, island, data));
                let islands = size.div_ceil(island);
                for (rank, (_, inside, across)) in ran.into_iter().enumerate() {
                    let case =
                        format!("rank {rank} of {size} in islands of {island}, {len} numbers");
                    let members = island.min(size - rank / island * island);
                    // In a full island each rank speaks for one part, in a smaller one for more of them.
                    let parts = island.div_ceil(members);
                    let part = len.div_ceil(island);
                    let most = 2 * (islands - 1) * parts;
                    assert!(
                        across.messages <= most,
                        "{case}: {} messages leave the island, and {most} are enough",
                        across.messages
                    );
                    let most = if islands > 1 { 2 * parts * part } else { 0 };
                    assert!(
                        across.numbers <= most,
                        "{case}: {} numbers leave the island, and {most} are enough",
                        across.numbers
                    );
                    let most = 2 * island * part;
                    assert!(
                        inside.numbers <= most,
                        "{case}: it sends {} numbers inside, and {most} are enough",
                        inside.numbers
                    );
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
    let most = |name: &str, work: fn(&mut Counted, usize, &mut [f32]) -> Result<()>| {
        let ran = run(size, island, len, work);
        let across = ran.into_iter().map(|(_, _, across)| across);
        let most = across.max_by_key(|sent| sent.numbers).unwrap_or_default();
        println!("{name}: up to {} messages, {} numbers", most.messages, most.numbers);
    };
    most("by one ring of all ranks", |comm, _, data| ring::all_reduce(comm, data));
    most("by your all-reduce      ", |comm, island, data| all_reduce(comm, island, data));
}
