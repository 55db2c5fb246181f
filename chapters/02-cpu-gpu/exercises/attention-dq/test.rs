//! The test of the exercise `attention-dq`: the crate `tile` compiles and runs the kernel, which this workspace can't.

#[test]
fn the_gradient_equals_f64() {
    cpu_gpu::in_rust::judge("attention-dq", cfg!(feature = "solutions"));
}
