use cpu_gpu::gpu::testing;
use performance::{
    engine::{plan::Plan, program::Numbers, record::Pass, step::program},
    gpu::{
        cast,
        cast::FORM,
        run::{Run, launches, seconds_of_launch},
    },
    learner::operations,
};
use training::Model;

/// An odd number of images.
const BATCH: usize = 9;

#[test]
fn replayed_steps_and_those_begun_ahead_have_the_same_bits() {
    let Some(gpu) = testing::opencl() else { return };
    let graphs = gpu.as_cuda().is_some(); // without CUDA there are none; tests/fake_cuda.rs holds the law
    for model in [Model::Mlp, Model::Transformer] {
        let scores = |graphs, ahead| -> Vec<u32> {
            let mut run = Run::new(&*gpu, model, BATCH, graphs).unwrap();
            run.steps(5, ahead).unwrap().into_iter().map(f32::to_bits).collect()
        };
        let wanted = scores(false, 0);
        assert_eq!(wanted.len(), 10 * BATCH);
        for (graphs, ahead) in [(false, 2), (graphs, 0), (graphs, 2), (graphs, 9)] {
            assert!(scores(graphs, ahead) == wanted, "{model}, graphs {graphs}, {ahead} ahead");
        }
    }
}

#[test]
fn a_step_launches_its_pass_a_batch_an_update_and_what_changes() {
    let Some(gpu) = testing::opencl() else { return };
    for model in Model::ALL {
        let pass = Pass { rows: BATCH, training: true, numbers: Numbers::F32, adds: false };
        let program = program(&operations(model, 0.2), pass, FORM);
        let own = cast::launches(&program, &Plan::new(&program, false)).unwrap().all.len();
        assert_eq!(launches(&*gpu, model, BATCH).unwrap(), own + 1 + 1 + 1, "{model}");
    }
}

#[test]
fn a_launch_takes_time() {
    let Some(gpu) = testing::opencl() else { return };
    let seconds = seconds_of_launch(&*gpu, 50).unwrap();
    assert!((1e-9..1.0).contains(&seconds), "{seconds}");
}
