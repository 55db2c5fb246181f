//! The test of the exercise `shared-memory`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::Meeting;
use lab::{Race, Unit, machine, random};
use multi_gpu::{
    Communicator, Rank, Result,
    comm::Algorithm,
    threads::{self, Threads},
};
use std::time::Instant;

/// What all ranks have after each of several all-reduces in a row, of these lengths: `[rank][call]`.
fn run(size: usize, lengths: &[usize]) -> Vec<Vec<Vec<f32>>> {
    let meeting = Meeting::new(size);
    threads::run(size, |comm| {
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
    })
    .unwrap_or_else(|error| panic!("{size} ranks: {error}"))
}

/// A rank's numbers for a call, from −1 to 1.
fn numbers(call: usize, rank: Rank, len: usize) -> Vec<f32> {
    random::numbers(len, random::key(&[call as u64, rank.0 as u64]))
}

fn bits(data: &[f32]) -> Vec<u32> {
    data.iter().map(|x| x.to_bits()).collect()
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
                let sum: f64 = all.iter().map(|x| f64::from(x[at])).sum();
                let scale: f64 = all.iter().map(|x| f64::from(x[at].abs())).sum();
                let most = size as f64 * f64::from(f32::EPSILON) * scale;
                let error = (f64::from(*found) - sum).abs();
                assert!(error <= most, "{case}: number {at} is {found}, and the sum is {sum}");
            }
            assert!(
                bits(&calls[call]) == bits(&ran[0][call]),
                "{case}: its sums are rounded in another way than those of rank 0"
            );
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
        Ok(data.map(f32::to_bits))
    });
    let wanted = [[2.0, 1.0], [2.0, 1.0], [3.0, 9.0], [3.0, 9.0], [3.0, 9.0]];
    let wanted: Vec<[u32; 2]> =
        wanted.iter().map(|sums: &[f32; 2]| sums.map(f32::to_bits)).collect();
    assert_eq!(sums.expect("five threads"), wanted, "the bits of both sums on ranks 0 to 4");
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
        let mut ours = Vec::new();
        for way in Algorithm::ALL {
            ours.push((results.samples(way.name())?.median(), way.name()));
        }
        ours.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best, way) = ours[0];
        let ratio = results.ratio(way, "yours")?;
        let (low, high) = ratio.spread();
        let yours = results.samples("yours")?.median();
        line += &format!(
            " {name} {:.2} ({low:.2} to {high:.2}; yours {}, ours {}, {way}),",
            ratio.median(),
            Unit::Seconds.format(yours),
            Unit::Seconds.format(best),
        );
    }
    println!("{}", line.trim_end_matches(','));
    Ok(())
}
