//! The chapters that have content, in the order of the book.

/// Every chapter with its experiments, figures and tables.
pub fn all() -> Vec<lab::Chapter> {
    vec![
        lab::chapter(),
        matmul::chapter(),
        cpu_gpu::chapter(),
        backprop::chapter(),
        training::chapter(),
        performance::chapter(),
        mixed_precision::chapter(),
        multi_gpu::chapter(),
        hardware::chapter(),
        language_model::chapter(),
    ]
}
