//! A figure is drawn by a chapter's code from whatever a record contains. If that code panics, the book reports it in a
//! sentence.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    /// The panic's message, while one is caught on this thread.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What `work` returns, or its message when it panicked. Nothing is printed then.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept =
                SAID.with_borrow_mut(|said| said.as_mut().map(|said| *said = sentence(info)));
            if kept.is_none() {
                usual(info);
            }
        }));
    });
    SAID.set(Some(String::new()));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    let said = SAID.take().unwrap_or_default();
    done.map_err(|_| said)
}

/// `index out of bounds (chapters/01-matmul/src/figures.rs:259)`.
fn sentence(info: &panic::PanicHookInfo) -> String {
    let what = info.payload_as_str().unwrap_or("it panicked").lines().next().unwrap_or_default();
    match info.location() {
        Some(place) => format!("{what} ({}:{})", place.file(), place.line()),
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_sentence_with_its_place() {
        assert_eq!(caught(|| 7), Ok(7));
        let empty: Vec<u8> = Vec::new();
        let said = caught(|| empty[0]).unwrap_err();
        assert!(said.starts_with("index out of bounds") && said.contains("panics.rs:"), "{said}");
        assert!(!said.contains('\n'));
        assert_eq!(caught(|| 8), Ok(8));
    }
}
