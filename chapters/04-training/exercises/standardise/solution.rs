//! Columns with the mean 0 and the deviation 1.

/// What is subtracted from each column, and what it is divided by.
#[derive(Clone, Debug)]
pub struct Scaler {
    /// The mean of each column.
    pub mean: Vec<f64>,
    /// The standard deviation of each column; 1 where all values are equal.
    pub deviation: Vec<f64>,
}

impl Scaler {
    /// Means and deviations of values in rows of so many columns; at least one row.
    pub fn fit(values: &[f32], columns: usize) -> Self {
        // EXERCISE: begin
        let rows = || values.chunks_exact(columns);
        let count = rows().len() as f64;
        let mut mean = vec![0.0; columns];
        for row in rows() {
            for (mean, x) in mean.iter_mut().zip(row) {
                *mean += f64::from(*x) / count;
            }
        }
        let mut deviation = vec![0.0; columns];
        for row in rows() {
            for ((square, x), mean) in deviation.iter_mut().zip(row).zip(&mean) {
                *square += (f64::from(*x) - mean).powi(2) / count;
            }
        }
        for value in &mut deviation {
            *value = if *value > 0.0 { value.sqrt() } else { 1.0 };
        }
        Self { mean, deviation }
        // EXERCISE: instead
        // let count = values.len() as f64;
        // let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
        // let squares = values.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>();
        // let deviation = (squares / count).sqrt();
        // Self { mean: vec![mean; columns], deviation: vec![deviation; columns] }
        // EXERCISE: end
    }

    /// Shifts and scales values in rows of as many columns.
    pub fn apply(&self, values: &mut [f32]) {
        // EXERCISE: begin
        for row in values.chunks_exact_mut(self.mean.len()) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *x = ((f64::from(*x) - mean) / deviation) as f32;
            }
        }
        // EXERCISE: instead
        // for x in values {
        //     *x = ((f64::from(*x) - self.mean[0]) / self.deviation[0]) as f32;
        // }
        // EXERCISE: end
    }
}
