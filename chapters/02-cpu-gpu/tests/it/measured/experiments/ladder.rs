use crate::measured::leaves;
use cpu_gpu::measured::experiments::ladder::{RATE, all, repeated, rungs};
use cpu_gpu::{gpu::testing, ladder::LADDER};
use lab::Experiment;

#[test]
fn every_device_is_measured_or_missed() {
    let turn = testing::opencl();
    let experiment = Experiment { run: |r| rungs(r, Some(&[24])), ..all().remove(0) };
    let values = leaves(&experiment).values;
    if turn.is_none() {
        return;
    }
    for rung in LADDER.iter().map(|rung| rung.name) {
        let found = values.iter().filter(|v| v.key == RATE.name && v.params["rung"] == rung);
        assert!(found.count() >= 1, "{rung} is missing");
    }
    let cpu = values.iter().find(|v| v.param("device") == Some("cpu"));
    assert!(cpu.is_some_and(|v| v.of_limit().is_some()), "{cpu:?}");
    assert!(values.iter().all(|value| value.median > 0.0), "{values:?}");
}

#[test]
fn short_products_are_repeated_and_the_first_one_is_not_timed() -> lab::Result<()> {
    let mut calls = Vec::new();
    let mut turn = repeated(0.004, |times| {
        calls.push(times);
        Ok(0.001)
    });
    for at in 0..3 {
        turn(at)?;
    }
    drop(turn);
    assert_eq!(calls, [1, 1, 4, 4, 4]);
    Ok(())
}
