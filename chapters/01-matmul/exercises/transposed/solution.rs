//! Read a matrix as its transpose, without moving an element.

/// A matrix as a view into a slice: element (i, j) lies at `i * row_step + j * col_step`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The elements, in whatever order the steps say.
    pub data: &'a [f32],
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// How far apart two neighbours in a column lie.
    pub row_step: usize,
    /// How far apart two neighbours in a row lie.
    pub col_step: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, row_step: cols, col_step: 1 }
    }

    /// The element in row `i` and column `j`.
    pub fn at(&self, i: usize, j: usize) -> f32 {
        self.data[i * self.row_step + j * self.col_step]
    }

    /// The transpose: rows become columns. Nothing is copied.
    pub fn transposed(self) -> Self {
        // EXERCISE: begin
        Self {
            rows: self.cols,
            cols: self.rows,
            row_step: self.col_step,
            col_step: self.row_step,
            ..self
        }
        // EXERCISE: instead
        // self
        // EXERCISE: end
    }
}

/// C = A·B, row-major.
pub fn multiply(a: View, b: View) -> Vec<f32> {
    let mut c = vec![0.0; a.rows * b.cols];
    for i in 0..a.rows {
        for k in 0..a.cols {
            for j in 0..b.cols {
                c[i * b.cols + j] += a.at(i, k) * b.at(k, j);
            }
        }
    }
    c
}

/// The gradient of a layer's weights: with the layer's input X (batch×inputs) and the gradient of its
/// output G (batch×outputs), Xᵀ·G (inputs×outputs).
pub fn weight_gradient(x: View, g: View) -> Vec<f32> {
    // EXERCISE: begin
    multiply(x.transposed(), g)
    // EXERCISE: instead
    // let _ = (x, g);
    // Vec::new()
    // EXERCISE: end
}
