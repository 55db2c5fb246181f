use lab::{Budget, Device, Recorder, data, progress::Progress};
use training::{
    chapter,
    measured::experiments::job::{MLP, record_runs, run, run_of},
    runner::outcome::Outcome,
};

fn runs(count: u64) -> Vec<Outcome> {
    let chapter = chapter();
    let progress = Progress::hidden();
    let rec = Recorder::new(&chapter.experiments[0], Budget::Quick, Device::Cpu, &progress);
    let data = data::drawn(80, 40, 1);
    (0..count).map(|seed| run(&rec, &data, 2, seed).unwrap()).collect()
}

#[test]
fn finished_runs_become_values() {
    let (chapter, progress, runs) = (chapter(), Progress::hidden(), runs(3));
    let of = |runs: &[Outcome]| {
        let experiment = &chapter.experiments[0];
        let mut rec = Recorder::new(experiment, Budget::Quick, Device::Cpu, &progress);
        record_runs(&mut rec, runs);
        rec.finish().0
    };
    assert!(of(&[]).is_empty());
    let values = of(&runs);
    let accuracy = values.iter().find(|v| v.key == "training.mlp").unwrap();
    let wanted: Vec<f64> = runs.iter().map(|run| run.test_accuracy().unwrap()).collect();
    assert_eq!(accuracy.samples.0, wanted);
    assert_eq!((&*accuracy.params["epochs"], &*accuracy.params["data"]), ("2", "drawn"));
    let loss = values.iter().filter(|v| v.key == "training.mlp.loss").count();
    assert_eq!(loss, 4);
    let rate = values.iter().find(|v| v.key == "training.mlp.rate").unwrap();
    assert_eq!(rate.samples.0.len(), 6);
}

#[test]
fn a_training_is_a_run_of_its_experiment_alone() {
    let (chapter, runs) = (chapter(), runs(1));
    let run = run_of(&chapter.experiments[0], &runs[0]).unwrap();
    assert_eq!((&*run.experiment, &*run.budget), (MLP, "quick"));
    assert_eq!(run.values[0].samples.0, [runs[0].test_accuracy().unwrap()]);
    assert!(run_of(&chapter.experiments[1], &runs[0]).is_err());
}
