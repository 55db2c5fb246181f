use cpu_gpu::gpu::testing;
use cpu_gpu::gpu::trace::{Label, Span, Traced, What};
use engine::program::Call;
use lab::{Samples, Unit};
use performance::{
    gpu::{
        run::{Run, launches},
        timeline::{Timeline, limits},
    },
    profile::{cost::Cost, report::table, tape::Phase},
};
use training::Model;

fn span(of: [&str; 2], flops: f64, ran: [f64; 2]) -> Span {
    let label = Label { of: of.map(str::to_owned), flops, bytes: flops / 2.0 };
    Span { name: "kernel".into(), what: What::Kernel, label, called: [0.0, 0.5], ran }
}

#[test]
fn launches_of_an_operation_are_summed_and_the_rest_is_idle() {
    let (product, none) = (["layers.0.qkv", "product"], ["", ""]);
    let spans = vec![
        span(product, 8.0, [1.0, 2.0]),
        span(none, 0.0, [2.0, 5.0]),
        span(["layers.1.qkv", "product"], 10.0, [6.0, 8.0]),
        span(["qkv backward", "product"], 0.0, [8.0, 10.0]),
    ];
    let line = Timeline { spans, steps: Samples::one(10.0) };
    assert!((line.busy() - 0.8).abs() < 1e-12 && (line.seconds() - 10.0).abs() < 1e-12);
    let mut profile = line.profile("it".to_owned());
    profile.rows.sort_by_key(|row| row.name.clone());
    let rows = profile.rows.iter().map(|row| (&*row.name, row.phase, row.times, row.seconds.0[0]));
    let wanted = [
        ("kernel", Phase::Host, 1, 3.0),
        ("nothing", Phase::Host, 1, 2.0),
        ("qkv product", Phase::Forward, 2, 3.0),
        ("qkv product", Phase::Backward, 1, 2.0),
    ];
    assert!(rows.eq(wanted));
    // 18 operations in 3 seconds, and 9 bytes, where 10 and 6 a second are the most.
    let of_roof = |bandwidth| table(&profile, 10.0, bandwidth, 9).rows[2][7].clone();
    assert_eq!([6.0, 2.0].map(of_roof), ["60%", "cached"]);
    let roof = format!("The roof: {}.", Unit::BytesPerSecond.format(6.0));
    assert!(table(&profile, f64::INFINITY, 6.0, 9).caption.ends_with(&roof));
}

/// The table's sums are the calls', of the batch, the pass and the update.
#[test]
fn a_step_on_a_device_costs_what_its_calls_do() {
    let Some(gpu) = testing::opencl() else { return };
    assert!(limits(&*gpu).unwrap().iter().all(|limit| *limit > 0.0));
    let traced = Traced::new(&*gpu);
    for model in Model::ALL {
        let mut run = Run::new(&traced, model, 3, false).unwrap();
        let line = Timeline::of(&traced, 1, &mut || run.launch().map(drop)).unwrap();
        let profile = line.profile("it".to_owned());
        let found = profile.rows.iter().fold(Cost::default(), |sum, row| sum.plus(&row.cost));
        let calls = run.step.programs().flat_map(|one| &one.calls);
        let of = |call: &Call| Cost::of(call.name, call.flops, call.bytes() as f64);
        let wanted = calls.fold(Cost::default(), |sum, call| sum.plus(&of(call)));
        assert_eq!(found, wanted, "{model}");
        let times: usize = profile.rows.iter().map(|row| row.times).sum();
        assert_eq!(times, line.spans.len() + 1, "{model}");
    }
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
