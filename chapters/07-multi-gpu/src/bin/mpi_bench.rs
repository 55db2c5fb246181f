//! Times messages and all-reduces between the processes that `mpirun` has started, for the experiments:
//! `mpirun -n 2 mpi_bench LARGEST_BYTES MILLISECONDS SAMPLES` prints JSON on rank 0.

use multi_gpu::{
    Error, PointToPoint, Rank, Result,
    comm::{
        Algorithm,
        bench::{Effort, Implementation, bench, sizes},
        mpi::Mpi,
    },
};
use std::{process::ExitCode, time::Duration};

fn run() -> Result<()> {
    let arguments: Vec<usize> = std::env::args().skip(1).map_while(|a| a.parse().ok()).collect();
    let &[largest, milliseconds, samples] = &arguments[..] else {
        return Err(Error::Config("usage: mpi_bench LARGEST_BYTES MILLISECONDS SAMPLES".into()));
    };
    let time = Duration::from_millis(milliseconds as u64);
    let effort = Effort { time, least: 3, most: samples.max(3) };
    let ways: Vec<Implementation> = Algorithm::ALL
        .into_iter()
        .map(Implementation::Ours)
        .chain([Implementation::Library])
        .collect();
    let mut comm = Mpi::start()?;
    let timings = bench(&mut comm, &ways, &sizes(largest), effort)?;
    if comm.rank() == Rank(0) {
        let text = serde_json::to_string(&timings)
            .map_err(|e| Error::Config(format!("the timings are no JSON: {e}")))?;
        println!("{text}");
    }
    Ok(())
}

fn main() -> ExitCode {
    run().map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}
