//! What a step computes and moves, counted before it runs, and the time that a machine's limits leave for it.

use matmul::Shape;

/// Bytes that Adam reads and writes for each parameter: gradient, moments and master weight are read, the last three are
/// written.
const ADAM: f64 = 16.0 + 12.0;

/// One product of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// `forward`, `weights` or `inputs`: what it computes.
    pub pass: &'static str,
    /// The layer, from 1.
    pub layer: usize,
    /// Its matrices.
    pub shape: Shape,
}

/// The products of one step of a network with these sizes: forward, the weights' derivatives, and those of each
/// hidden layer's outputs. Those of the images are not needed.
pub fn products(sizes: &[usize], batch: usize) -> Vec<Product> {
    let layers = sizes.windows(2).enumerate();
    layers
        .flat_map(|(at, pair)| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let product = |pass, shape| Product { pass, layer: at + 1, shape };
            let inputs_too =
                (at > 0).then(|| product("inputs", Shape::new(batch, outputs, inputs)));
            [
                product("forward", Shape::new(batch, inputs, outputs)),
                product("weights", Shape::new(inputs, batch, outputs)),
            ]
            .into_iter()
            .chain(inputs_too)
        })
        .collect()
}

/// Bytes that a product moves at least, with inputs of so many bytes a number and f32 sums: each matrix once.
// ANCHOR: bytes
pub fn bytes(shape: Shape, number: f64) -> f64 {
    let Shape { m, k, n } = shape;
    number * (m * k + k * n) as f64 + 4.0 * (m * n) as f64
}
// ANCHOR_END: bytes

/// What a step needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needs {
    /// Operations of all products.
    pub operations: f64,
    /// Bytes of all products.
    pub products: f64,
    /// Bytes of Adam's pass over gradients, moments and master weights.
    pub adam: f64,
    /// Bytes that only the rounding to bf16 moves: the hidden units' sums are read and their outputs written, and the
    /// weights' copies are written. In f32 the product's own epilogue does the first, and the second is not there.
    pub conversion: f64,
}

impl Needs {
    /// Those of a step in f32, or of one that keeps what its products read in bf16.
    pub fn of(sizes: &[usize], batch: usize, bf16: bool) -> Self {
        let all = products(sizes, batch);
        let parameters: f64 = sizes.windows(2).map(|p| ((p[0] + 1) * p[1]) as f64).sum();
        let inner = sizes.get(1..sizes.len().saturating_sub(1)).unwrap_or_default();
        let hidden = (batch * inner.iter().sum::<usize>()) as f64;
        Self {
            operations: all.iter().map(|p| p.shape.operations()).sum(),
            products: all.iter().map(|p| bytes(p.shape, if bf16 { 2.0 } else { 4.0 })).sum(),
            adam: ADAM * parameters,
            conversion: if bf16 { 6.0 * hidden + 2.0 * parameters } else { 0.0 },
        }
    }

    /// Operations for each byte of the products.
    pub fn intensity(&self) -> f64 {
        self.operations / self.products
    }

    /// The least seconds at `peak` (FLOP/s) and `bandwidth` (B/s): the products by whichever limit is the lower one, the
    /// passes by bytes alone.
    pub fn seconds(&self, peak: f64, bandwidth: f64) -> f64 {
        let products = (self.operations / peak).max(self.products / bandwidth);
        products + (self.adam + self.conversion) / bandwidth
    }
}
