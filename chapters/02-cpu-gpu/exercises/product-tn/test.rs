//! The test of the exercise `product-tn`: the crate `tile` compiles and runs the kernel, which this workspace can't.

#[test]
fn the_product_equals_f64() {
    cpu_gpu::in_rust::judge("product-tn", cfg!(feature = "solutions"));
}
