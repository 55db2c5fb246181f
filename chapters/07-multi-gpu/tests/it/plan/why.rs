use multi_gpu::plan::why::{step, workload};

#[test]
fn digits_get_slower_and_a_large_model_does_not() {
    let faster =
        |name, batch, p| step(name, batch, 1).unwrap().total / step(name, batch, p).unwrap().total;
    assert!(faster("mlp", 128, 2) < 1.1 && faster("mlp", 128, 8) < 1.0);
    assert!(faster("mlp", 128, 128) < faster("mlp", 128, 8));
    // `performance.gpu.graph` of an H100: 130 µs.
    assert!((step("mlp", 128, 1).unwrap().total / 130e-6 - 1.0).abs() < 0.1);
    assert!(faster("gpt-7b", 4096, 512) > 400.0);
    // The slowest of 64 cards is 2.3 standard deviations behind the mean.
    assert!(faster("gpt-7b", 4096, 64) < 62.0);
    assert!(faster("resnet50", 8192, 64) > 30.0);
    assert!(workload("abacus").is_err());
}
