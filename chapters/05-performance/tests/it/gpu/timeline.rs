use cpu_gpu::gpu::testing;
use cpu_gpu::gpu::trace::{Span, Traced, What};
use lab::Samples;
use performance::gpu::{
    run::{Run, launches},
    timeline::Timeline,
};
use training::Model;

fn span(name: &str, ran: [f64; 2]) -> Span {
    Span { name: name.into(), what: What::Kernel, called: [0.0, 0.5], ran }
}

#[test]
fn kinds_are_summed_and_the_rest_is_idle() {
    let spans = vec![span("a", [1.0, 2.0]), span("b", [2.0, 5.0]), span("a", [6.0, 8.0])];
    let line = Timeline { spans, steps: Samples::one(8.0) };
    assert_eq!(line.kinds(), [("a", 2, 3.0), ("b", 1, 3.0)]);
    assert!((line.busy() - 0.75).abs() < 1e-12 && (line.seconds() - 8.0).abs() < 1e-12);
    let table = line.table("it");
    assert_eq!(table.rows.last().unwrap()[3], "25.0%");
}

#[test]
fn a_step_of_the_median_length_is_shown_and_one_of_nothing_refused() {
    let Some(gpu) = testing::opencl() else { return };
    let traced = Traced::new(&*gpu);
    let mut run = Run::new(&traced, Model::Mlp, 3, false).unwrap();
    let mut step = || run.launch().map(drop);
    let line = Timeline::of(&traced, 5, &mut step).unwrap();
    let kernels = launches(&*gpu, Model::Mlp, 3).unwrap();
    assert_eq!((line.spans.len(), line.steps.0.len()), (kernels, 5));
    assert!((line.seconds() - line.steps.median()).abs() < 1e-12);
    assert!(line.busy() > 0.0 && line.busy() <= 1.0, "{}", line.busy());
    assert!(Timeline::of(&traced, 0, &mut step).is_err());
    assert!(Timeline::of(&traced, 1, &mut || Ok(())).is_err());
}
