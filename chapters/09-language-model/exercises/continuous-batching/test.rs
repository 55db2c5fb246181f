//! The test of the exercise `continuous-batching`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Engine, Outcome, Request, serve};
use lab::random::SplitMix64;
use std::collections::VecDeque;

const BUSY: Outcome = Outcome::Busy;

fn engine(slots: usize, waiting: usize, chunk: u64) -> Engine {
    Engine { slots, waiting, chunk }
}

fn served(first: u64, last: u64) -> Outcome {
    Outcome::Served { first, last }
}

fn requests(of: &[(u64, u64, u64)]) -> Vec<Request> {
    let one = |&(arrives, prompt, answer)| Request { arrives, prompt, answer };
    of.iter().map(one).collect()
}

#[track_caller]
fn gets(engine: Engine, of: &[Request], wanted: &[Outcome], why: &str) {
    let found = serve(engine, of);
    assert_eq!(found.len(), of.len(), "{why}: an outcome for each request");
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let what = format!("{why}: request {at}, {:?},", of[at]);
        assert!(found == wanted, "{what} gets {found:?}, and not {wanted:?}");
    }
}

/// The same, step by step.
fn step_by_step(engine: Engine, requests: &[Request]) -> Vec<Outcome> {
    let mut outcomes = vec![BUSY; requests.len()];
    // The requests in the slots, with what they have still to read and to write.
    let mut running: Vec<(usize, u64, u64)> = Vec::new();
    let mut queue = VecDeque::new();
    let (mut next, mut step) = (0, 0);
    while next < requests.len() || !running.is_empty() || !queue.is_empty() {
        running.retain(|(_, _, write)| *write > 0);
        let free = engine.slots - running.len();
        // Whoever comes now stands behind those who wait, as far as there is room.
        while next < requests.len() && requests[next].arrives == step {
            if queue.len() < free + engine.waiting {
                queue.push_back(next);
            }
            next += 1;
        }
        for at in queue.drain(..free.min(queue.len())) {
            running.push((at, requests[at].prompt, requests[at].answer));
        }
        for (at, read, write) in &mut running {
            *read = read.saturating_sub(engine.chunk);
            if *read == 0 {
                let begun = outcomes[*at];
                let first = if let Outcome::Served { first, .. } = begun { first } else { step };
                outcomes[*at] = served(first, step);
                *write -= 1;
            }
        }
        step += 1;
    }
    outcomes
}

#[test]
fn a_prompt_is_read_in_pieces() {
    let of = requests(&[(3, 1, 1), (3, 64, 2), (3, 65, 1), (3, 640, 10)]);
    let wanted = [served(3, 3), served(3, 4), served(4, 4), served(12, 21)];
    gets(engine(4, 4, 64), &of, &wanted, "chunks of 64, a slot for everyone");
    gets(engine(1, 0, 1), &[], &[], "no request, no outcome: nothing to do");
}

#[test]
fn a_short_answer_does_not_wait_for_a_long_one() {
    let of = requests(&[(0, 8, 100), (0, 8, 2), (0, 8, 3), (1, 8, 1)]);
    let wanted = [served(0, 99), served(0, 1), served(2, 4), served(5, 5)];
    gets(engine(2, 9, 8), &of, &wanted, "two slots, one of them taken for long");
}

#[test]
fn the_queue_has_a_bound() {
    let of = requests(&[(0, 1, 10), (0, 1, 10), (1, 1, 10), (2, 1, 10), (9, 1, 10), (10, 1, 10)]);
    let wanted = [served(0, 9), BUSY, BUSY, BUSY, BUSY, served(10, 19)];
    gets(engine(1, 0, 8), &of, &wanted, "one slot, nobody may wait");
    // The second starts at step 10. Then there is room for one that waits: the last.
    let wanted = [served(0, 9), served(10, 19), BUSY, BUSY, BUSY, served(20, 29)];
    gets(engine(1, 1, 8), &of, &wanted, "one slot, one may wait");
}

#[test]
fn as_step_by_step() {
    let mut random = SplitMix64::new(19);
    for round in 0..500 {
        let (slots, waiting) = (1 + random.below(5), random.below(6));
        let engine = engine(slots, waiting, 1 + random.below(9) as u64);
        let (len, gap) = (random.below(60), 1 + random.below(6));
        let mut arrives = random.below(4) as u64;
        let mut one = || {
            arrives += random.below(gap) as u64;
            let (prompt, answer) = (1 + random.below(30) as u64, 1 + random.below(20) as u64);
            Request { arrives, prompt, answer }
        };
        let of: Vec<Request> = (0..len).map(|_| one()).collect();
        let wanted = step_by_step(engine, &of);
        gets(engine, &of, &wanted, &format!("round {round}, {engine:?}, {len} requests"));
    }
}

#[test]
fn many_requests_and_long_answers() {
    // Sixteen slots, and a request every two steps that takes forty of them: one in five is too many.
    let engine = engine(16, 64, 64);
    let of: Vec<Request> =
        (0..20_000).map(|i| Request { arrives: 2 * i, prompt: 100, answer: 39 }).collect();
    let found = serve(engine, &of);
    gets(engine, &of, &step_by_step(engine, &of), "twenty thousand requests");
    let busy = found.iter().filter(|outcome| **outcome == BUSY).count();
    println!("{busy} of {} requests get busy", of.len());
    let long = requests(&[(5, 1 << 20, 1 << 20), (6, 1, 1)]);
    let end = 5 + (1 << 14) - 1;
    let wanted = [served(end, end + (1 << 20) - 1), served(end + (1 << 20), end + (1 << 20))];
    gets(Engine { slots: 1, ..engine }, &long, &wanted, "a prompt and an answer of 2²⁰ tokens");
}
