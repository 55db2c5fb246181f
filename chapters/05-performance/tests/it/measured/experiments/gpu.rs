use cpu_gpu::gpu::testing::opencl;
use lab::testing::{self, experiment};
use lab::{Experiment, Key, Recorder};
use performance::measured::experiments::gpu::{
    AHEAD, GRAPH, GRAPH_LAUNCH, GRAPH_LAUNCHES, GRAPH_PREDICTED, Work, ahead, graph,
};

#[test]
fn a_step_is_measured_on_a_device_with_or_without_graphs_and_ahead() {
    fn on(r: &mut Recorder, work: Work) -> lab::Result<()> {
        let Some(gpu) = opencl() else {
            r.skip_all(&[], "there is no device");
            return Ok(());
        };
        work(r, &*gpu, &[3])
    }
    let runs: [fn(&mut Recorder) -> lab::Result<()>; 2] = [|r| on(r, graph), |r| on(r, ahead)];
    for (key, run) in [GRAPH, AHEAD].into_iter().zip(runs) {
        let experiment = experiment(performance::chapter(), key.name);
        let run = testing::run(&Experiment { run, ..experiment });
        assert!(run.values.iter().all(|value| value.median.is_finite()), "{run:?}");
        let of = |key: Key| run.values.iter().find(|v| v.key == key.name).map(|v| v.median);
        if let [Some(launches), Some(predicted), Some(launch)] =
            [GRAPH_LAUNCHES, GRAPH_PREDICTED, GRAPH_LAUNCH].map(of)
        {
            assert!((predicted - launches * launch).abs() < 1e-12);
        }
    }
}
