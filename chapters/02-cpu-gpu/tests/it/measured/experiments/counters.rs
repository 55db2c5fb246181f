use cpu_gpu::{
    counters::{Counter, CounterValues},
    gpu, ladder,
    measured::experiments::counters::{ERROR, HARDWARE, SIMULATED, all, record, simulated},
};
use lab::{Budget, Device, Key, Recorder, Result, progress::Progress, record::Run};

fn recorded(
    hardware: std::result::Result<CounterValues, String>,
    simulated: Result<CounterValues>,
) -> (Vec<lab::record::Value>, Vec<lab::record::Skipped>) {
    let experiment = &all()[0];
    let progress = Progress::hidden();
    let mut recorder = Recorder::new(experiment, Budget::Full, Device::Cpu, &progress);
    record(&mut recorder, "shared", 64, hardware, || simulated);
    recorder.finish()
}

#[test]
fn both_counts_and_the_error_are_recorded() {
    let simulated: CounterValues =
        Counter::ALL.into_iter().map(|counter| (counter, 50.0)).collect();
    let mut hardware: CounterValues =
        Counter::ALL.into_iter().map(|counter| (counter, 40.0)).collect();
    hardware.insert(Counter::BankConflicts, 0.0);
    hardware.remove(&Counter::Divergences);
    let (values, skipped) = recorded(Ok(hardware), Ok(simulated));
    let of = |key: Key, counter: Counter| {
        let named =
            |v: &&lab::record::Value| v.key == key.name && v.params["counter"] == counter.name();
        values.iter().find(named).map(|value| value.median)
    };
    assert_eq!(of(HARDWARE, Counter::Fma), Some(40.0));
    assert_eq!(of(SIMULATED, Counter::Fma), Some(50.0));
    assert_eq!(of(ERROR, Counter::Fma), Some(0.25));
    assert_eq!(of(HARDWARE, Counter::BankConflicts), Some(0.0));
    assert_eq!(of(ERROR, Counter::BankConflicts), None);
    assert_eq!(of(HARDWARE, Counter::Divergences), None);
    // Seven counters with both counts, six of them with an error; the rest has a reason.
    assert_eq!((values.len(), skipped.len()), (7 + 7 + 6, 1 + 3));
    assert!(values.iter().all(|value| value.params["rung"] == "shared"));
}

#[test]
fn what_is_missing_is_said_of_every_value() {
    let why = "this machine has no Nsight Compute";
    let (values, skipped) = recorded(Err(why.to_owned()), Ok(CounterValues::new()));
    assert!(values.is_empty());
    assert_eq!(skipped.len(), 3 * Counter::ALL.len());
    assert!(skipped.iter().all(|skipped| skipped.why == why));
    let fault = Err(lab::Error::message("a race"));
    let (_, skipped) = recorded(Ok(CounterValues::from([(Counter::Fma, 1.0)])), fault);
    assert!(skipped.iter().all(|skipped| skipped.why.contains("a race")));
}

#[test]
fn the_simulator_runs_every_rung_that_the_hardware_runs() {
    for rung in &ladder::LADDER {
        let n = 32;
        let counts = simulated(rung.name, n).unwrap();
        // Every element is a sum of n products; those in tiles beyond the edge count too.
        assert!(counts[&Counter::Fma] >= (n * n * n) as f64, "{}", rung.name);
        assert!(counts[&Counter::LoadSectors] >= counts[&Counter::LoadRequests]);
        assert!(counts[&Counter::StoreRequests] > 0.0);
    }
    assert!(simulated("no-such-rung", 8).is_err());
}

#[test]
fn without_a_gpu_every_rung_has_its_reason() {
    if gpu::open("cuda").is_ok() {
        return; // then there is nothing to leave out
    }
    let Run { values, skipped, .. } = lab::testing::run(&all()[0]);
    assert!(values.is_empty());
    assert_eq!(skipped.len(), 3 * Counter::ALL.len() * ladder::LADDER.len());
    assert!(skipped.iter().all(|skipped| skipped.why.contains("no device cuda")));
}
