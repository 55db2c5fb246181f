//! Chapter 8: choosing hardware, by measured efficiency instead of peak.

use lab::Part;

/// This chapter, for the course's command and its book.
pub fn chapter() -> lab::Chapter {
    lab::Chapter::of(8, "hardware", "Choosing hardware", [Part::default()])
}
