use cpu_gpu::measured::experiments::counts::{all, of_rung};
use lab::testing;

#[test]
fn every_declared_value_is_recorded() {
    for experiment in all() {
        let run = testing::run(&experiment);
        for key in experiment.values {
            assert!(run.values.iter().any(|value| value.key == key.name), "{key:?}");
        }
    }
}

#[test]
fn each_rung_of_the_ladder_does_better_than_the_one_before() {
    let n = 64;
    let [naive, coalesced, shared] =
        ["naive", "coalesced", "shared"].map(|rung| of_rung(rung, n).unwrap());
    assert!(naive.sectors_per_load() > 4.0 * coalesced.sectors_per_load());
    assert!(shared.intensity() > 4.0 * coalesced.intensity());
    assert!(of_rung("none", n).is_err());
}
