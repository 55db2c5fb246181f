use cpu_gpu::gpu::testing::{opencl, turn};
use lab::testing::{self, experiment};
use lab::{Experiment, Key, Recorder};
use performance::measured::experiments::gpu::{
    GRAPH, GRAPH_LAUNCH, GRAPH_LAUNCHES, GRAPH_PREDICTED, OVERLAP, graph,
};

#[test]
fn copies_are_measured_or_missed() {
    let _turn = turn();
    let run = testing::run(&experiment(performance::chapter(), OVERLAP.name));
    assert!(run.values.iter().all(|value| value.median.is_finite()), "{run:?}");
}

#[test]
fn a_step_is_measured_on_a_device_with_or_without_graphs() {
    let small = |r: &mut Recorder| {
        let Some(gpu) = opencl() else {
            r.skip_all(&[], "there is no device");
            return Ok(());
        };
        graph(r, &*gpu, &[3])
    };
    let experiment = experiment(performance::chapter(), GRAPH.name);
    let run = testing::run(&Experiment { run: small, ..experiment });
    assert!(run.values.iter().all(|value| value.median.is_finite()), "{run:?}");
    let of = |key: Key| run.values.iter().find(|v| v.key == key.name).map(|v| v.median);
    if let [Some(launches), Some(predicted), Some(launch)] =
        [GRAPH_LAUNCHES, GRAPH_PREDICTED, GRAPH_LAUNCH].map(of)
    {
        assert!((predicted - launches * launch).abs() < 1e-12);
    }
}
