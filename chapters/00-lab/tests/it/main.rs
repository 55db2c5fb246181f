//! The lab from outside, in one program.

mod data;
mod data_download;
mod data_drawn;
mod serve;
