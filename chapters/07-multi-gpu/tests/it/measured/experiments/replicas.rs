use lab::{Budget, Recorder, progress::Progress};
use multi_gpu::measured::experiments::replicas::{
    ENGINES, FAILURES, Job, SIGNALS, experiments, rate,
};
use multi_gpu::split::equality::largest;

#[test]
fn every_way_to_train_a_job_learns_the_same() {
    let data = lab::data::drawn(60, 20, 1);
    let job = Job { model: "mlp", batch: 16, images: 40 };
    let one = job.alone(&data).unwrap();
    assert!(rate(&one) > 0.0);
    for engine in ENGINES {
        let (outcome, spent) = job.ranks(engine, 2, &data).unwrap();
        assert_eq!(spent.steps, 3 * 3);
        assert!(spent.compute > 0.0 && spent.sum > 0.0);
        assert!(largest(&outcome.weights, &one.weights) < 1e-4, "{engine}");
    }
}

#[test]
fn without_the_command_processes_are_skipped_with_a_reason() {
    for experiment in experiments().iter().filter(|experiment| experiment.key == FAILURES.name) {
        let progress = Progress::hidden();
        let mut rec = Recorder::new(experiment, Budget::Quick, lab::Device::Cpu, &progress);
        (experiment.run)(&mut rec).unwrap();
        let (values, skipped) = rec.finish();
        assert!(values.is_empty());
        assert_eq!(skipped.len(), SIGNALS.len());
        assert!(skipped.iter().all(|skip| skip.why.contains("throughput measure")));
    }
}
