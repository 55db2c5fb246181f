//! The test of the exercise `ring-all-gather`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::all_gather;
use lab::check::done;
use multi_gpu::{PointToPoint as _, Rank, threads};
use multi_gpu::{comm::counting::Counting, communicator::part_of};

/// Gathers on `size` threads and checks the messages.
#[track_caller]
fn holds(size: usize, len: usize, ring: bool) {
    let wanted: Vec<f32> = (0..len).map(|i| 1.0 + i as f32).collect();
    let ran = threads::run(size, |inner| {
        let mut comm = Counting::new(inner);
        let own = part_of(len, comm.rank(), size);
        // What is not this rank's own part is not known yet.
        let mut data = vec![f32::NAN; len];
        data[own.clone()].copy_from_slice(&wanted[own]);
        all_gather(&mut comm, &mut data)?;
        Ok((data, comm.sent().to_vec()))
    });
    let ran = done(ran, format!("{size} ranks, {len} numbers"));
    for (me, (data, sent)) in ran.into_iter().enumerate() {
        assert_eq!(data, wanted, "rank {me} of {size}");
        if !ring {
            continue;
        }
        assert_eq!(sent.len(), size - 1, "steps of rank {me} of {size}");
        let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
        for sent in &sent {
            assert!(sent.from.is_some(), "rank {me} sends without receiving at the same time");
            let with = (sent.to, sent.from);
            assert_eq!(with, (next, Some(before)), "rank {me} talks to another rank");
        }
        // All parts but the next rank's own.
        let own = part_of(len, next, size).len();
        let numbers: usize = sent.iter().map(|sent| sent.numbers).sum();
        assert_eq!(numbers, len - own, "rank {me} of {size} sends so many numbers");
    }
}

#[test]
fn everybody_gets_all_parts() {
    for size in [1, 2, 3, 4, 5] {
        for len in [0, 1, size, 4 * size, 97] {
            holds(size, len, false);
        }
    }
}

#[test]
fn every_link_carries_one_part_in_every_step() {
    for size in [2, 3, 4, 5, 8] {
        for len in [0, 3, 8 * size, 97] {
            holds(size, len, true);
        }
    }
}
