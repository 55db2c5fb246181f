//! The backward pass of a dense layer.

use matmul::{MatMut, MatRef, Options, sgemm};

/// dW = Xᵀ·dY, inputs×outputs. X is batch×inputs, dY batch×outputs, all row after row.
pub fn weights(x: &[f32], dy: &[f32], batch: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let mut dw = vec![0.0; inputs * outputs];
    // EXERCISE: begin
    product(&mut dw, view(x, batch, inputs).t(), view(dy, batch, outputs));
    // EXERCISE: instead
    // let _ = (&mut dw, x, dy, batch); // one product, of two views
    // let _ = (product, view);
    // EXERCISE: end
    dw
}

/// dX = dY·Wᵀ, batch×inputs. W is inputs×outputs.
pub fn input(w: &[f32], dy: &[f32], batch: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let mut dx = vec![0.0; batch * inputs];
    // EXERCISE: begin
    product(&mut dx, view(dy, batch, outputs), view(w, inputs, outputs).t());
    // EXERCISE: instead
    // let _ = (&mut dx, w, dy, batch, outputs);
    // EXERCISE: end
    dx
}

/// db: for each output, the sum over the batch.
pub fn bias(dy: &[f32], outputs: usize) -> Vec<f32> {
    let mut db = vec![0.0; outputs];
    // EXERCISE: begin
    for row in dy.chunks_exact(outputs) {
        for (sum, value) in db.iter_mut().zip(row) {
            *sum += value;
        }
    }
    // EXERCISE: instead
    // let _ = (&mut db, dy);
    // EXERCISE: end
    db
}

/// C = A·B.
fn product(c: &mut [f32], a: MatRef<f32>, b: MatRef<f32>) {
    let c = MatMut::new(c, a.rows(), b.cols()).expect("C is A.rows()×B.cols()");
    sgemm(c, a, b, Options::default()).expect("A has as many columns as B has rows");
}

/// A matrix of `rows`×`cols`; its transpose is `view(…).t()`.
fn view(values: &[f32], rows: usize, cols: usize) -> MatRef<'_, f32> {
    MatRef::new(values, rows, cols).expect("rows·cols values")
}
