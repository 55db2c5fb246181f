//! Continuous batching, with a bounded queue. Yu and others 2022, "Orca", section 3.1.

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The step before which it arrives; a list of requests is in this order.
    pub arrives: u64,
    /// Tokens to read, at least one.
    pub prompt: u64,
    /// Tokens to write, at least one.
    pub answer: u64,
}

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All slots are taken, and so are all places in the queue.
    Busy,
    /// Its answer.
    Served {
        /// The step that writes the first token.
        first: u64,
        /// The step that writes the last.
        last: u64,
    },
}

/// What the engine has.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Requests in a step, at least one.
    pub slots: usize,
    /// Requests that may wait.
    pub waiting: usize,
    /// Tokens of a prompt that are read in a step, at least one.
    pub chunk: u64,
}

/// What becomes of each request.
pub fn serve(engine: Engine, requests: &[Request]) -> Vec<Outcome> {
    // EXERCISE: begin
    use std::{
        cmp::Reverse,
        collections::{BinaryHeap, VecDeque},
    };
    // From which step on each slot is free, the earliest at the top; and the starts of those that wait.
    let mut free: BinaryHeap<Reverse<u64>> = (0..engine.slots).map(|_| Reverse(0)).collect();
    let mut starts = VecDeque::new();
    let mut decide = |request: &Request| {
        while starts.front().is_some_and(|start| *start <= request.arrives) {
            starts.pop_front();
        }
        let Some(mut earliest) = free.peek_mut() else { return Outcome::Busy };
        if earliest.0 > request.arrives && starts.len() >= engine.waiting {
            return Outcome::Busy;
        }
        let start = earliest.0.max(request.arrives);
        if start > request.arrives {
            starts.push_back(start);
        }
        let first = start + request.prompt.div_ceil(engine.chunk) - 1;
        let last = first + request.answer - 1;
        earliest.0 = last + 1;
        Outcome::Served { first, last }
    };
    requests.iter().map(&mut decide).collect()
    // EXERCISE: instead
    // // Whole batches: the next one starts when the last answer of this one has ended.
    // let (mut outcomes, mut free) = (Vec::new(), 0);
    // for batch in requests.chunks(engine.slots) {
    //     let start = batch.iter().map(|request| request.arrives).fold(free, u64::max);
    //     for request in batch {
    //         let first = start + request.prompt.div_ceil(engine.chunk) - 1;
    //         let last = first + request.answer - 1;
    //         free = free.max(last + 1);
    //         outcomes.push(Outcome::Served { first, last });
    //     }
    // }
    // outcomes
    // EXERCISE: end
}
