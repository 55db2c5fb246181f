use crate::measured::leaves;
use cpu_gpu::{
    gpu::testing,
    measured::experiments::lu::{MatrixSizes, PARTS, RESIDUAL, SHARE, all, enter, measure, plan},
};
use lab::{Budget, Error, Experiment, Plan, Race, Result};
use std::time::Duration;

#[test]
fn the_experiment_leaves_what_it_declares() {
    let _turn = testing::turn();
    let values = leaves(&Experiment {
        run: |r| measure(r, &MatrixSizes { cpu: &[24, 40], sweep: 32, slow: &[20], fast: &[20] }),
        ..all().remove(0)
    })
    .values;
    let residuals = values.iter().filter(|value| value.key == RESIDUAL.name);
    assert!(residuals.clone().count() >= 4);
    assert!(residuals.clone().all(|value| value.median < 16.0), "HPL would not pass it");
    let shares = values.iter().filter(|v| v.key == SHARE.name && v.params["n"] == "40");
    let parts: Vec<_> = shares.clone().filter(|v| v.params["threads"] == "one").collect();
    assert_eq!(parts.len(), 4);
    let sum: f64 = (0..3).map(|i| parts.iter().map(|v| v.samples.0[i]).sum::<f64>()).sum();
    assert!((sum - 3.0).abs() < 1e-9, "the fractions of a round add up to one: {sum}");
}

#[test]
fn parts_have_the_names_of_the_times() {
    assert_eq!(cpu_gpu::lu::Times::default().parts().map(|part| part.0), PARTS);
}

#[test]
fn every_turn_begins_with_the_same_numbers_and_may_fail() -> Result<()> {
    let a = [1.0, 2.0];
    let mut race = Race::new();
    enter(&mut race, "once", &a, |place| {
        assert_eq!(*place, [1.0, 2.0]);
        place.fill(0.0);
        Ok(())
    });
    assert_eq!(
        race.run(Plan { time: Duration::ZERO, ..plan(Budget::Quick) })?.of("once")?.len(),
        3
    );
    let mut race = Race::new();
    enter(&mut race, "fails", &a, |_| Err(Error::message("no such luck")));
    assert!(race.run(plan(Budget::Quick)).is_err());
    Ok(())
}
