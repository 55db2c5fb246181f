//! The chapter against a library that it does without.

mod dfdx;
