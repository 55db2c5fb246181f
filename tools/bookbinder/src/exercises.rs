//! The exercises: what is solved, what comes next.
