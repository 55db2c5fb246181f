//! What a step costs on a GPU: a sum over its kernels, fitted to steps that were recorded.

use serde::Serialize;
use std::cmp::Ordering;

/// What the kernels of a step do, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Kernels.
    pub kernels: f64,
    /// Operations of their products.
    pub operations: f64,
    /// The chain: how many terms a sum has, for one product after the other. A block adds them up in order and waits for
    /// the loads of each tile of them.
    pub terms: f64,
}

/// Seconds of each part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Of a kernel's start.
    pub start: f64,
    /// Of an operation.
    pub operation: f64,
    /// Of a term in the chain.
    pub term: f64,
}

impl Cost {
    // ANCHOR: cost
    /// Seconds of the starts, of the operations and of the chain.
    pub fn parts(&self, work: Work) -> [f64; 3] {
        let Work { kernels, operations, terms } = work;
        [kernels * self.start, operations * self.operation, terms * self.term]
    }

    /// Seconds of a step: the parts add up.
    pub fn seconds(&self, work: Work) -> f64 {
        self.parts(work).iter().sum()
    }
    // ANCHOR_END: cost

    /// The cost that fits measured steps best: the least sum of squared
    /// relative errors. `None` where they can't tell the parts apart.
    // ANCHOR: fit
    pub fn fit(steps: impl IntoIterator<Item = (Work, f64)>) -> Option<Self> {
        let mut m = [[0.0; 4]; 3]; // normal equations, the right side last
        for (Work { kernels, operations, terms }, seconds) in steps {
            let row = [kernels, operations, terms, seconds].map(|x| x / seconds);
            for (equation, x) in m.iter_mut().zip(row) {
                equation.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
            }
        }
        let whole = [m[0][0], m[1][1], m[2][2]];
        for (i, whole) in whole.into_iter().enumerate() {
            // Not above zero, or nothing but rounding.
            if m[i][i].partial_cmp(&(1e-12 * whole)) != Some(Ordering::Greater) {
                return None;
            }
            m[i] = m[i].map(|x| x / m[i][i]);
            for other in (0..3).filter(|other| *other != i) {
                let factor = m[other][i];
                m[other] = std::array::from_fn(|j| m[other][j] - factor * m[i][j]);
            }
        }
        Some(Self { start: m[0][3], operation: m[1][3], term: m[2][3] })
    }
    // ANCHOR_END: fit

    /// An H100's, fitted to [`RECORDED`].
    pub fn h100() -> Self {
        let steps = RECORDED.map(|(_, work, seconds)| (work, seconds));
        Self::fit(steps).expect("these steps tell the parts apart")
    }
}

/// A step of 784-128-10 with so many images: by hand in 13 kernels, each sum of a product in one block.
pub const fn classifier(images: f64) -> Work {
    let operations = (4.0 * 784.0 * 128.0 + 6.0 * 128.0 * 10.0) * images;
    // Forward by inputs and units, backward by classes, and the gradients of both layers' weights by images.
    Work { kernels: 13.0, operations, terms: 784.0 + 128.0 + 10.0 + 2.0 * images }
}

/// A step of a GPT by hand, for so many tokens of so many operations: 34 kernels for a layer, four products among them.
pub const fn gpt([layers, width, hidden, words]: [f64; 4], tokens: f64, operations: f64) -> Work {
    let forward = 3.0 * width + hidden;
    let backward = 5.0 * width + 2.0 * hidden + 4.0 * tokens;
    let terms = layers * (forward + backward) + width + words + tokens;
    Work { kernels: 34.0 * layers + 13.0, operations: tokens * operations, terms }
}

/// Steps recorded on an H100 before the engine: `performance.gpu.graph` and `language_model.gpu`.
pub const RECORDED: [(&str, Work, f64); 5] = [
    ("784-128-10, 32 images", classifier(32.0), 113.802e-6),
    ("784-128-10, 128 images", classifier(128.0), 129.998e-6),
    ("784-128-10, 512 images", classifier(512.0), 201.610e-6),
    ("tiny, 2,048 tokens", gpt([4.0, 128.0, 352.0, 1024.0], 2048.0, 5.9996e6), 5.11277e-3),
    ("small, 4,096 tokens", gpt([6.0, 256.0, 704.0, 2048.0], 4096.0, 34.4156e6), 21.8782e-3),
];
