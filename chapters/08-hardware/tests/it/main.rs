//! The chapter's tests, in one program.

#![allow(clippy::float_cmp, reason = "compared with themselves, or whole numbers")]

mod calculator;
mod card_calculator;
mod cards;
mod job;
mod measured;
mod memory_planner;
mod power;
mod readers;
mod roofline_explorer;
