use cpu_gpu::gpu::testing::opencl;
use lab::{Experiment, Recorder, Records, testing};
use performance::{
    gpu::run::launches,
    measured::experiments::timeline::{BUSY, OVERHEAD, RAN, WHOLE, record},
};
use training::Model;

/// Records as a run leaves them, of a small batch; none where there is no device.
fn records() -> Option<Records> {
    opencl()?;
    let small = |r: &mut Recorder| {
        let Some(gpu) = opencl() else { return Ok(()) };
        record(r, &*gpu, 4)
    };
    let experiment = testing::experiment(performance::chapter(), RAN.name);
    let run = testing::run(&Experiment { run: small, ..experiment });
    Some(testing::records(&performance::chapter(), &run.values, &run.skipped))
}

#[test]
fn a_step_is_recorded_call_by_call() {
    let Some(records) = records() else { return };
    let calls = records.every(RAN.at(&[])).unwrap();
    assert_eq!(calls.len(), launches(&*opencl().unwrap(), Model::Mlp, 4).unwrap());
    let sum: f64 = calls.iter().map(|call| call.median).sum();
    let [busy, whole] = [BUSY, WHOLE].map(|key| records.get(key.at(&[])).unwrap().median);
    assert!((sum / whole - busy).abs() < 1e-3, "{sum} of {whole} is not {busy}");
    assert!(records.get(OVERHEAD.at(&[])).unwrap().median > 0.0);
}
