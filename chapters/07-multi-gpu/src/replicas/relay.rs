//! A watcher in another thread: what happens in rank 0 is told to the thread where the terminal is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};
use training::{
    Outcome, Watcher,
    watch::{Begin, Epoch, Step},
};

/// What a [`Watcher`] is told.
#[derive(Debug)]
pub enum Event {
    /// The run begins.
    Begin(Box<Begin>),
    /// A step was taken.
    Step(Step),
    /// An epoch is over.
    Epoch(Epoch),
    /// Something is not as it should be.
    Warn(String),
    /// The run is over.
    End(Box<Outcome>),
}

/// A watcher that passes everything on.
#[derive(Clone, Debug)]
pub struct Relay {
    send: Sender<Event>,
    stop: Arc<AtomicBool>,
}

impl Relay {
    /// A watcher that tells `send`.
    pub fn new(send: Sender<Event>) -> Self {
        Self { send, stop: Arc::default() }
    }

    /// Where somebody says that the run is to stop.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn tell(&self, event: Event) {
        // If nobody listens any more, the run ends by itself.
        let _ = self.send.send(event);
    }
}

impl Watcher for Relay {
    fn begin(&mut self, begin: &Begin) {
        self.tell(Event::Begin(Box::new(begin.clone())));
    }

    fn step(&mut self, step: &Step) {
        self.tell(Event::Step(*step));
    }

    fn epoch(&mut self, epoch: &Epoch) {
        self.tell(Event::Epoch(*epoch));
    }

    fn warn(&mut self, words: &str) {
        self.tell(Event::Warn(words.to_owned()));
    }

    fn end(&mut self, outcome: &Outcome) {
        self.tell(Event::End(Box::new(outcome.clone())));
    }

    fn stop(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Tells `watcher` what comes, until all relays are gone, and asks it whether to stop.
pub fn follow(events: &Receiver<Event>, stop: &AtomicBool, watcher: &mut dyn Watcher) {
    loop {
        match events.recv_timeout(Duration::from_millis(50)) {
            Ok(Event::Begin(begin)) => watcher.begin(&begin),
            Ok(Event::Step(step)) => watcher.step(&step),
            Ok(Event::Epoch(epoch)) => watcher.epoch(&epoch),
            Ok(Event::Warn(words)) => watcher.warn(&words),
            Ok(Event::End(outcome)) => watcher.end(&outcome),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if watcher.stop() {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
