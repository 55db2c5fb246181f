//! The engines that need nothing of a machine, and what is put over one, keep the laws of all engines.

use super::laws::{hold, split};
use multi_gpu::{
    PointToPoint, Rank,
    comm::{AlphaBeta, counting::Counting},
    replicas::tcp,
    split::{group::Group, wire::Wire},
    threads,
};

#[test]
fn threads_and_processes_by_tcp_agree_bit_for_bit() {
    for size in [1, 2, 3, 5, 8] {
        let sums = threads::run(size, |mut comm| hold(&mut comm, 30_000)).unwrap();
        assert_eq!(tcp::run(size, |mut comm| hold(&mut comm, 30_000)).unwrap(), sums);
    }
}

#[test]
fn trainings_that_are_split_over_processes_by_tcp_are_one_devices() {
    for size in [2, 3, 4, 8] {
        tcp::run(size, split).unwrap();
    }
}

#[test]
fn who_counts_or_slows_messages_down_changes_none() {
    threads::run(3, |comm| hold(&mut Counting::new(comm), 1000)).unwrap();
    threads::run(3, |comm| hold(&mut Wire::new(comm, AlphaBeta::NOTHING), 1000)).unwrap();
}

#[test]
fn groups_speak_at_the_same_time_without_hearing_each_other() {
    threads::run(6, |mut comm| {
        // In the second one the order is turned round; the third is alone.
        let groups: [&[usize]; 3] = [&[0, 2, 4], &[3, 1], &[5]];
        let mine = groups.into_iter().find(|ranks| ranks.contains(&comm.rank().0)).unwrap();
        let place = mine.iter().position(|rank| *rank == comm.rank().0).unwrap();
        let ranks: Vec<Rank> = mine.iter().copied().map(Rank).collect();
        let mut group = Group::of(&mut comm, &ranks)?;
        assert_eq!((group.rank(), group.size()), (Rank(place), ranks.len()));
        hold(&mut group, 1000)?;
        let everybody: Vec<Rank> = (0..6).map(Rank).collect();
        hold(&mut Group::of(&mut comm, &everybody)?, 1000)
    })
    .unwrap();
}
