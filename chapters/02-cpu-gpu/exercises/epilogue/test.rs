//! The test of the exercise `epilogue`: the crate `tile` compiles and runs the kernel, which this workspace can't.

#[test]
fn the_layer_equals_f64() {
    cpu_gpu::in_rust::judge("epilogue", cfg!(feature = "solutions"));
}
