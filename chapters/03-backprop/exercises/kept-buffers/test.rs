//! The test of the exercise `kept-buffers`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Layer;
use lab::{check::near, random::numbers};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// The allocations of this thread; each test is one.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts.
struct Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has nothing left to count with.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const INPUTS: usize = 13;
const OUTPUTS: usize = 7;

fn layer() -> Layer {
    let weights = numbers(INPUTS * OUTPUTS, 1);
    Layer { inputs: INPUTS, outputs: OUTPUTS, weights, ..Layer::default() }
}

/// The images of a batch, and the derivatives with respect to their outputs.
fn batch(images: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    (numbers(images * INPUTS, seed), numbers(images * OUTPUTS, seed + 100))
}

/// Outputs and gradient, one value after the other.
fn wanted(weights: &[f32], x: &[f32], dy: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let images = x.len() / INPUTS;
    let output = |at: usize| {
        let (row, col) = (at / OUTPUTS, at % OUTPUTS);
        let term = |i: usize| x[row * INPUTS + i] * weights[i * OUTPUTS + col];
        (0..INPUTS).map(term).sum::<f32>().max(0.0)
    };
    let y: Vec<f32> = (0..images * OUTPUTS).map(output).collect();
    let derivative = |at: usize| {
        let (i, col) = (at / OUTPUTS, at % OUTPUTS);
        let active = (0..images).filter(|row| y[row * OUTPUTS + col] > 0.0);
        active.map(|row| x[row * INPUTS + i] * dy[row * OUTPUTS + col]).sum::<f32>()
    };
    let gradient = (0..INPUTS * OUTPUTS).map(derivative).collect();
    (y, gradient)
}

#[test]
fn batches_of_any_length_are_right() {
    let mut layer = layer();
    for (images, seed) in [(8, 2), (3, 3), (1, 4), (8, 5), (20, 6)] {
        let (x, dy) = batch(images, seed);
        layer.forward(&x);
        layer.backward(&x, &dy);
        let (y, gradient) = wanted(&layer.weights, &x, &dy);
        near(&layer.y, y, 1e-5, format!("the outputs of {images} images"));
        near(&layer.gradient, gradient, 1e-5, format!("the gradient of {images} images"));
    }
}

#[test]
fn after_the_first_step_nothing_is_allocated() {
    let mut layer = layer();
    for step in 0..10 {
        // The last batch of an epoch is shorter.
        let (x, dy) = batch(if step == 4 { 5 } else { 8 }, step);
        let before = ALLOCATIONS.get();
        layer.forward(&x);
        layer.backward(&x, &dy);
        let count = ALLOCATIONS.get() - before;
        assert!(step == 0 || count == 0, "step {step} allocates {count} times");
    }
}
