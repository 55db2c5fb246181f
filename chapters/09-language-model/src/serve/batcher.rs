//! Continuous batching: requests join and leave at every step, and all that run share one pass over the weights.

use crate::{
    Tokenizer,
    generate::{Decoder, Sequence, Stop, step},
};
use serde::Serialize;
use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long the engine sleeps at most before it looks whether it shall stop.
const LOOK: Duration = Duration::from_millis(50);

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The model has ended the text.
    End,
    /// As many tokens as were asked for.
    Length,
    /// The request's time is over.
    Time,
    /// The server stops.
    Shutdown,
}

/// What a request hears of its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// More text.
    Text(String),
    /// The end.
    End {
        /// Why.
        reason: Reason,
        /// How many tokens the model has added.
        tokens: usize,
        /// Whether it has lost sight of the beginning.
        forgotten: bool,
    },
    /// The model failed, and why.
    Failed(String),
}

/// A request that waits or runs.
pub struct Generation {
    /// The text to continue.
    pub sequence: Sequence,
    /// When its time is over.
    pub until: Instant,
    /// Who listens.
    pub events: Sender<Event>,
    /// Set by the listener when it has gone.
    pub gone: Arc<AtomicBool>,
}

impl Generation {
    fn tell(&self, event: Event) {
        if self.events.send(event).is_err() {
            self.gone.store(true, Relaxed);
        }
    }

    fn end(&self, reason: Reason) {
        let (tokens, forgotten) = (self.sequence.made(), self.sequence.forgotten());
        self.tell(Event::End { reason, tokens, forgotten });
    }
}

/// What the engine counts, for `GET /health`.
#[derive(Debug, Default)]
pub struct Counts {
    /// Requests that wait for a place.
    pub waiting: AtomicUsize,
    /// Requests in the batch.
    pub running: AtomicUsize,
    /// Requests that got an answer.
    pub answered: AtomicUsize,
}

/// The engine: a thread that steps all running requests.
pub struct Batcher {
    queue: Option<SyncSender<Generation>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    /// Requests that may run and wait.
    places: usize,
    /// What it counts.
    pub counts: Arc<Counts>,
}

impl Batcher {
    /// Starts the engine with places for `batch` requests in a step, and for `queue` that wait. Once it shall stop, those that
    /// run have `grace` to end.
    pub fn start(
        model: &Arc<(Decoder, Tokenizer)>,
        batch: usize,
        queue: usize,
        grace: Duration,
    ) -> Self {
        let (sender, receiver) = std::sync::mpsc::sync_channel(batch + queue);
        let (stop, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(Counts::default()));
        let engine = Engine {
            model: Arc::clone(model),
            queue: receiver,
            batch,
            grace,
            stop: Arc::clone(&stop),
            counts: Arc::clone(&counts),
        };
        let thread = thread::spawn(move || engine.run());
        Self { queue: Some(sender), thread: Some(thread), stop, places: batch + queue, counts }
    }

    /// Puts a request into the queue; false if that is full, or the engine shall stop.
    pub fn submit(&self, generation: Generation) -> bool {
        let Some(queue) = self.queue.as_ref().filter(|_| !self.stop.load(Relaxed)) else {
            return false;
        };
        let inside = self.counts.waiting.fetch_add(1, Relaxed) + self.counts.running.load(Relaxed);
        if inside < self.places && queue.try_send(generation).is_ok() {
            return true;
        }
        self.counts.waiting.fetch_sub(1, Relaxed);
        false
    }

    /// Takes no request any more and lets those that run end, for which it does not wait.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }
}

impl Drop for Batcher {
    fn drop(&mut self) {
        self.stop();
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Engine {
    model: Arc<(Decoder, Tokenizer)>,
    queue: Receiver<Generation>,
    batch: usize,
    grace: Duration,
    stop: Arc<AtomicBool>,
    counts: Arc<Counts>,
}

impl Engine {
    // ANCHOR: run
    fn run(self) {
        let mut generations: Vec<Generation> = Vec::new();
        let mut last = None; // when those that still run must end
        loop {
            if self.stop.load(Relaxed) {
                last = last.or(Some(Instant::now() + self.grace));
                if generations.is_empty() {
                    return; // those that wait find the channel closed
                }
            } else if !self.join(&mut generations) {
                return;
            }
            self.leave(&mut generations, last);
            self.counts.running.store(generations.len(), Relaxed);
            if !generations.is_empty() {
                self.step(&mut generations);
            }
        }
    }
    // ANCHOR_END: run

    /// Fills free places from the queue; waits a moment if nothing runs. False if no one can send any more.
    fn join(&self, generations: &mut Vec<Generation>) -> bool {
        while generations.len() < self.batch {
            let generation = if generations.is_empty() {
                match self.queue.recv_timeout(LOOK) {
                    Ok(generation) => generation,
                    Err(RecvTimeoutError::Timeout) => return true,
                    Err(RecvTimeoutError::Disconnected) => return false,
                }
            } else {
                match self.queue.try_recv() {
                    Ok(generation) => generation,
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => return true,
                }
            };
            self.counts.waiting.fetch_sub(1, Relaxed);
            self.counts.running.fetch_add(1, Relaxed);
            generations.push(generation);
        }
        true
    }

    /// Takes out those whose client has gone, who are done, or whose time is over.
    fn leave(&self, generations: &mut Vec<Generation>, last: Option<Instant>) {
        let now = Instant::now();
        generations.retain(|generation| {
            let reason = match generation.sequence.stop() {
                Some(Stop::End) => Reason::End,
                Some(Stop::Length) => Reason::Length,
                None if generation.until <= now => Reason::Time,
                None if last.is_some_and(|last| last <= now) => Reason::Shutdown,
                None => return !generation.gone.load(Relaxed),
            };
            // Who has the answer may ask at once for the place.
            self.counts.running.fetch_sub(1, Relaxed);
            generation.end(reason);
            self.counts.answered.fetch_add(1, Relaxed);
            false
        });
    }

    fn step(&self, generations: &mut Vec<Generation>) {
        let (decoder, tokenizer) = &*self.model;
        let mut sequences: Vec<&mut Sequence> =
            generations.iter_mut().map(|generation| &mut generation.sequence).collect();
        match step(decoder, tokenizer, &mut sequences) {
            Ok(texts) => {
                let news = generations.iter().zip(texts).filter(|(_, text)| !text.is_empty());
                news.for_each(|(generation, text)| generation.tell(Event::Text(text)));
            }
            Err(error) => {
                for generation in mem::take(generations) {
                    generation.tell(Event::Failed(error.to_string()));
                }
            }
        }
    }
}
