//! What mdBook only logs, such as HTML that is not closed, stops our build.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::Field,
    span::{Attributes, Id, Record},
};

/// Runs `work` and returns what it gave, with every warning and error that was logged in the meantime on this
/// thread.
pub fn collected<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let collector = Collector::default();
    let messages = Arc::clone(&collector.messages);
    let done = tracing::subscriber::with_default(collector, work);
    let messages = messages.lock().map_or_else(|_| Vec::new(), |messages| messages.clone());
    (done, messages)
}

#[derive(Default)]
struct Collector {
    messages: Arc<Mutex<Vec<String>>>,
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = String::new();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if field.name() == "message" {
                message = format!("{value:?}");
            }
        });
        if let Ok(mut messages) = self.messages.lock() {
            messages.push(message);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_kept_and_the_rest_is_not() {
        let (seven, messages) = collected(|| {
            tracing::info!("all is well");
            tracing::warn!("tag {} is open", "b");
            tracing::error!("broken");
            7
        });
        assert_eq!(seven, 7);
        assert_eq!(messages, ["tag b is open", "broken"]);
        tracing::warn!("no listener");
    }
}
