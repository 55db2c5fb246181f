//! The test of the exercise `relay`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{best, seconds};
use lab::check::{close, pairs};
use multi_gpu::comm::AlphaBeta;

/// 10 µs and 10 GB/s.
const LINK: AlphaBeta = AlphaBeta { alpha: 10e-6, beta: 1e-10 };

/// Piece by piece: a link carries one at a time, and a rank sends on what it has.
fn played(link: AlphaBeta, bytes: f64, hops: usize, pieces: usize) -> f64 {
    let each = link.alpha + link.beta * bytes / pieces as f64;
    let mut free = vec![0.0_f64; hops];
    for _ in 0..pieces {
        let mut there = 0.0_f64;
        for link in &mut free {
            there = there.max(*link) + each;
            *link = there;
        }
    }
    free[hops - 1]
}

#[test]
fn hops_overlap() {
    for (hops, pieces) in [(1, 1), (1, 5), (4, 1), (4, 3), (3, 4), (7, 20)] {
        let what = format!("seconds over {hops} hops, {pieces} pieces");
        close(seconds(LINK, 1e6, hops, pieces), played(LINK, 1e6, hops, pieces), 1e-9, what);
    }
}

#[test]
fn one_hop_takes_one_piece() {
    assert_eq!(best(LINK, 1e9, 1, 1000), 1);
    assert_eq!(best(LINK, 1.0, 7, 1000), 1, "a byte is all α");
    assert_eq!(best(LINK, 1e12, 7, 64), 64, "no more than there may be");
    assert_eq!(best(LINK, 1e12, 7, 1), 1, "no more than there may be");
}

#[test]
fn it_is_the_best_of_all() {
    for (bytes, hops) in pairs([1e3, 1e5, 3e6, 1e8], [2, 3, 7, 31]) {
        let tried = (1..=2000).map(|pieces| played(LINK, bytes, hops, pieces));
        let least = tried.fold(f64::INFINITY, f64::min);
        let pieces = best(LINK, bytes, hops, 2000);
        let found = played(LINK, bytes, hops, pieces);
        let what = format!("{bytes:.0e} bytes over {hops} hops");
        assert!(found <= least * (1.0 + 1e-9), "{what}: not {pieces} pieces");
    }
}

#[test]
fn large_messages_hardly_notice_the_hops() {
    let pieces = best(LINK, 1e9, 7, 1_000_000);
    let times = [1, pieces].map(|pieces| seconds(LINK, 1e9, 7, pieces) / 0.1);
    let [whole, cut] = times;
    println!("1 GB over 7 hops, over βn: {whole:.2} whole, {cut:.2} in {pieces} pieces");
    assert!(cut < 1.1, "{times:?}");
}
