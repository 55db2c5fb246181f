use cpu_gpu::{gpu::testing, measured::experiments::wrong::all};

#[test]
fn mistakes_are_found_or_pass() {
    let turn = testing::opencl();
    let values = lab::testing::run(&all()[0]).values;
    let of = |check: &str| {
        values.iter().filter(|v| v.params["check"] == check).map(|v| v.median).sum::<f64>()
    };
    assert!(of("simulator") > 6.5, "the simulator finds all seven");
    if turn.is_some() {
        assert!(of("careless") <= 2.0 && of("odd") >= 5.0);
    }
}
