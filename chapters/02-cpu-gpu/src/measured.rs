//! What this chapter measures, and the pictures of what the simulator does.

pub mod experiments;
pub mod figures;

use experiments::{counts, devices, ladder, lu, truck, wrong};
use lab::{Chapter, Part};

/// Chapter 2 as the course's command sees it.
pub fn chapter() -> Chapter {
    let all = [devices::all(), truck::all(), counts::all(), wrong::all(), ladder::all(), lu::all()];
    let experiments = all.into_iter().flatten().collect();
    let part = Part { experiments, figures: figures::figures(), tables: vec![] };
    Chapter::of(2, "cpu_gpu", "The GPU", [part])
}
