//! The test of the exercise `shared-memory`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Meeting;
use lab::check::{done, near, same_bits, yours_over};
use lab::{Race, machine, random};
use multi_gpu::threads::{self, Threads};
use multi_gpu::{Communicator, Rank, Result, comm::Algorithm};
use std::time::Instant;

/// What all ranks have after each of several all-reduces in a row, of these lengths: `[rank][call]`.
fn run(size: usize, lengths: &[usize]) -> Vec<Vec<Vec<f32>>> {
    let meeting = Meeting::new(size);
    let ran = threads::run(size, |comm| {
        let call = |(call, len): (usize, &usize)| {
            let mut data = numbers(call, comm.rank(), *len);
            // One rank comes late, each time another one.
            if call % size == comm.rank().0 {
                std::thread::yield_now();
            }
            meeting.all_reduce(comm.rank(), &mut data);
            data
        };
        Ok(lengths.iter().enumerate().map(call).collect())
    });
    done(ran, format!("{size} ranks"))
}

/// A rank's numbers for a call, from −1 to 1.
fn numbers(call: usize, rank: Rank, len: usize) -> Vec<f32> {
    random::numbers(len, random::key(&[call as u64, rank.0 as u64]))
}

/// Checks every call of every rank against a sum in f64, and against rank 0's bits.
#[track_caller]
fn holds(size: usize, lengths: &[usize]) {
    let ran = run(size, lengths);
    for (call, len) in lengths.iter().enumerate() {
        let all: Vec<_> = (0..size).map(|rank| numbers(call, Rank(rank), *len)).collect();
        for (rank, calls) in ran.iter().enumerate() {
            let case = format!("rank {rank} of {size}, call {call} with {len} numbers");
            for (at, found) in calls[call].iter().enumerate() {
                let sum = |of: fn(f64) -> f64| all.iter().map(|x| of(x[at].into())).sum::<f64>();
                let most = size as f64 * f64::from(f32::EPSILON) * sum(f64::abs);
                near(*found, sum(|x| x), most, format!("{case}: the sum with index {at}"));
            }
            let case = format!("{case}: its sums are rounded in another way than those of rank 0");
            same_bits(&calls[call], &ran[0][call], case);
        }
    }
}

#[test]
fn every_rank_has_the_very_same_sum() {
    for size in 1..=9 {
        for len in [0, 1, size - 1, size, 97, 10_000] {
            holds(size, &[len]);
        }
    }
}

#[test]
fn calls_follow_each_other_and_their_lengths_differ() {
    for size in [1, 2, 3, 5] {
        let lengths: Vec<usize> = (0..100).map(|call| call * 37 % 101).collect();
        holds(size, &lengths);
    }
}

#[test]
fn two_groups_meet_at_the_same_time() {
    let (low, high) = (Meeting::new(2), Meeting::new(3));
    let sums = threads::run(5, |comm| {
        let rank = comm.rank().0;
        let mut data = [1.0, rank as f32];
        for _ in 0..20 {
            data = [1.0, rank as f32];
            match rank {
                0 | 1 => low.all_reduce(Rank(rank), &mut data),
                _ => high.all_reduce(Rank(rank - 2), &mut data),
            }
        }
        Ok(data)
    });
    let wanted = [[2.0, 1.0], [2.0, 1.0], [3.0, 9.0], [3.0, 9.0], [3.0, 9.0]].concat();
    same_bits(done(sums, "five threads").concat(), wanted, "the bits of both sums on ranks 0 to 4");
}

#[test]
fn not_a_number_reaches_every_rank() {
    let meeting = Meeting::new(3);
    let sums = threads::run(3, |comm| {
        let mut data = [1.0, 1.0, 1.0, 1.0];
        if comm.rank() == Rank(1) {
            data[2] = f32::NAN;
        }
        meeting.all_reduce(comm.rank(), &mut data);
        Ok(data)
    });
    for (rank, sums) in sums.expect("three threads").into_iter().enumerate() {
        let nan = sums.map(f32::is_nan);
        assert_eq!(nan, [false, false, true, false], "rank {rank} has {sums:?}");
    }
}

/// Seconds of one all-reduce of `len` numbers, repeated `times` times after a barrier: those of the slowest rank.
fn seconds(
    (size, len, times): (usize, usize, usize),
    work: impl Fn(&mut Threads, &mut [f32]) -> Result<()> + Sync,
) -> lab::Result<f64> {
    let all = threads::run(size, |mut comm| {
        let mut data = vec![0.0; len]; // zeros stay zeros, however often they are summed
        work(&mut comm, &mut data)?;
        comm.barrier()?;
        let start = Instant::now();
        for _ in 0..times {
            work(&mut comm, &mut data)?;
        }
        Ok(start.elapsed().as_secs_f64() / times as f64)
    })?;
    Ok(all.into_iter().fold(0.0, f64::max))
}

/// Shown, not demanded: how fast it is depends on the machine.
#[test]
fn race() -> lab::Result<()> {
    // Without a sum there is no rate: the stub's would be meaningless.
    holds(2, &[3]);
    let size = machine::cores().clamp(2, 8);
    let meeting = Meeting::new(size);
    let mut line = format!("shared-memory, {size} threads, yours over ours:");
    for (name, len, times) in [("4 KiB", 1 << 10, 200), ("4 MiB", 1 << 20, 3)] {
        let mut race = Race::new();
        let shape = (size, len, times);
        race.turn("yours", |_| {
            seconds(shape, |comm, data| {
                meeting.all_reduce(comm.rank(), data);
                Ok(())
            })
        });
        for way in Algorithm::ALL {
            race.turn(way.name(), move |_| seconds(shape, |comm, data| way.all_reduce(comm, data)));
        }
        let results = race.rounds(15)?;
        let time = |way: &&str| results.samples(way).map_or(f64::NAN, |samples| samples.median());
        let ways = Algorithm::ALL.map(Algorithm::name);
        let best = ways.into_iter().min_by(|one, other| time(one).total_cmp(&time(other)));
        let way = best.unwrap_or_default();
        line += &format!(" {name} {},", yours_over(&results, way, &format!(", {way}"))?);
    }
    println!("{}", line.trim_end_matches(','));
    Ok(())
}
