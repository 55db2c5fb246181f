//! Memory that the program keeps is not asked for again. This is a program of its own, without a harness: only the
//! main thread has a heap that grows, and a test runs on another.

use lab::heap::{self, Freed};
use std::hint::black_box;

/// Asks for 200 MiB, writes to each page and gives all back, in pieces that the heap owns.
fn step() {
    let all: Vec<Vec<u8>> = (0..200).map(|_| vec![1; 1 << 20]).collect();
    black_box(&all);
}

fn main() {
    let [returned, kept] = Freed::ALL.map(|freed| {
        if !heap::set(freed) {
            return None;
        }
        step();
        let before = heap::page_faults()?;
        step();
        Some(heap::page_faults()? - before)
    });
    match (returned, kept) {
        // 200 MiB are 51,200 pages of 4 KiB, or 100 of 2 MiB where the system gives large ones.
        (Some(returned), Some(kept)) => {
            assert!(
                returned >= 60.0 && kept < 0.1 * returned,
                "{returned} faults, {kept} when kept"
            );
            println!("{returned} page faults, {kept} when freed memory is kept: ok");
        }
        _ => println!("no glibc, or page faults are not counted: not tried"),
    }
}
