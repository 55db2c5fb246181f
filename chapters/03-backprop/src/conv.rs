//! A convolution is also a matrix product: unroll each window of the image into a column, and all windows
//! together are a matrix. And pooling, which has no product.

use crate::{Result, count::windows, error::count, real::Real};
use matmul::{MatRef, parallel::available, team::share};
use std::ops::Range;

/// The sides of what a convolution reads and writes, for one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Input channels, rows and columns.
    pub input: [usize; 3],
    /// Height and width of the window.
    pub size: usize,
    /// From one window to the next.
    pub stride: usize,
    /// Zeros around the image.
    pub padding: usize,
    /// Output rows and columns.
    pub output: [usize; 2],
}

impl Sides {
    /// The sides of the output follow from the others; none if no window fits.
    pub fn new(input: [usize; 3], size: usize, stride: usize, padding: usize) -> Option<Self> {
        let place = |side| windows(side, size, stride, padding);
        Some(Self { input, size, stride, padding, output: [place(input[1])?, place(input[2])?] })
    }

    /// Numbers of one window.
    pub fn window(&self) -> usize {
        self.input[0] * self.size * self.size
    }

    /// How many windows.
    pub fn places(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// For each row of the output, the columns of the input that column `right` of the windows meets, as the range
    /// of output columns for which they are inside the image.
    fn inside(&self, right: usize) -> Range<usize> {
        let width = self.input[2] as isize;
        let first = right as isize - self.padding as isize;
        let stride = self.stride as isize;
        // first + stride·x from 0 to width − 1.
        let from = (-first).max(0).div_euclid(stride) + isize::from((-first).max(0) % stride != 0);
        let to = if first >= width { 0 } else { (width - 1 - first).div_euclid(stride) + 1 };
        let to = to.clamp(0, self.output[1] as isize);
        (from.min(to) as usize)..(to as usize)
    }

    /// Row `y` of the output and row `down` of the windows: the input's row, if it is inside the image.
    fn row(&self, y: usize, down: usize) -> Option<usize> {
        (y * self.stride + down).checked_sub(self.padding).filter(|row| *row < self.input[1])
    }
}

/// Calls `work` with each channel's part of both, the channels shared out over the cores.
fn by_channel<T: Real>(
    columns: &mut [T],
    image: &mut [T],
    channels: usize,
    work: impl Fn(&mut [T], &mut [T]) + Sync,
) {
    let (wide, narrow) = (columns.len() / channels, image.len() / channels);
    let each = channels.div_ceil(available());
    let pairs = columns.chunks_mut(wide * each).zip(image.chunks_mut(narrow * each));
    share(pairs, |(columns, image)| {
        for (c, p) in columns.chunks_mut(wide).zip(image.chunks_mut(narrow)) {
            work(c, p);
        }
    });
}

/// Unrolls an image: column j of the result is window j. `columns` is window×places, row
/// after row; the image is channels×rows×columns and stays as it is.
// ANCHOR: unroll
pub fn unroll<T: Real>(columns: &mut [T], image: &mut [T], s: &Sides) {
    by_channel(columns, image, s.input[0], |columns, plane| {
        let [height, width] = s.output;
        let lines = columns.chunks_exact_mut(height * width);
        for (line, row) in lines.enumerate() {
            let (down, right) = (line / s.size, line % s.size);
            let inside = s.inside(right);
            for (y, row) in row.chunks_exact_mut(width).enumerate() {
                row.fill(T::ZERO);
                let Some(from) = s.row(y, down) else { continue };
                let from = &plane[from * s.input[2]..][..s.input[2]];
                for x in inside.clone() {
                    row[x] = from[x * s.stride + right - s.padding];
                }
            }
        }
    });
}
// ANCHOR_END: unroll

/// The backward pass: adds each value of the windows to the element of the image that it came from.
pub fn roll<T: Real>(columns: &mut [T], image: &mut [T], s: &Sides) {
    by_channel(columns, image, s.input[0], |columns, plane| {
        plane.fill(T::ZERO);
        let [height, width] = s.output;
        for (line, row) in columns.chunks_exact(height * width).enumerate() {
            let (down, right) = (line / s.size, line % s.size);
            let inside = s.inside(right);
            for (y, row) in row.chunks_exact(width).enumerate() {
                let Some(to) = s.row(y, down) else { continue };
                let to = &mut plane[to * s.input[2]..][..s.input[2]];
                for x in inside.clone() {
                    to[x * s.stride + right - s.padding] += row[x];
                }
            }
        }
    });
}

/// A convolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv<T> {
    /// What it reads and writes.
    pub sides: Sides,
    /// A row for each output channel, with a weight for each number of the window.
    pub weights: Vec<T>,
    /// A number for each output channel.
    pub bias: Vec<T>,
}

impl<T: Real> Conv<T> {
    /// Y = W·columns + b for one image; `columns` is memory for the unrolled image.
    ///
    /// # Errors
    /// [`crate::Error::Count`] for an image of another size, or too little memory.
    pub fn forward(&self, image: &mut [T], columns: &mut [T]) -> Result<Vec<T>> {
        let (channels, window) = (self.bias.len(), self.sides.window());
        let places = self.sides.places();
        let columns = self.unrolled(image, columns)?;
        let mut y = vec![T::ZERO; channels * places];
        let w = MatRef::new(&self.weights, channels, window)?;
        T::product_on_all(&mut y, w, MatRef::new(columns, window, places)?)?;
        for (row, bias) in y.chunks_exact_mut(places).zip(&self.bias) {
            for y in row {
                *y += *bias;
            }
        }
        Ok(y)
    }

    /// Unrolls the image into the first of the columns.
    fn unrolled<'a>(&self, image: &mut [T], columns: &'a mut [T]) -> Result<&'a mut [T]> {
        count("values in the image", image.len(), self.sides.input.iter().product())?;
        let needed = self.sides.window() * self.sides.places();
        count("values in the unrolled image", columns.len().min(needed), needed)?;
        let columns = &mut columns[..needed];
        unroll(columns, image, &self.sides);
        Ok(columns)
    }

    /// dW = dY·columnsᵀ into `dw`, the sums of dY's rows into `db`, and, if asked for, dX: Wᵀ·dY, rolled back
    /// into an image.
    ///
    /// # Errors
    /// As [`Conv::forward`].
    pub fn backward(
        &self,
        image: &mut [T],
        dy: &[T],
        columns: &mut [T],
        (dw, db): (&mut [T], &mut [T]),
        input: bool,
    ) -> Result<Vec<T>> {
        let (channels, window) = (self.bias.len(), self.sides.window());
        let places = self.sides.places();
        let dy_view = MatRef::new(dy, channels, places)?;
        let columns = self.unrolled(image, columns)?;
        T::product_on_all(dw, dy_view, MatRef::new(columns, window, places)?.t())?;
        for (db, row) in db.iter_mut().zip(dy.chunks_exact(places)) {
            *db = row.iter().copied().sum();
        }
        if !input {
            return Ok(Vec::new());
        }
        let w = MatRef::new(&self.weights, channels, window)?;
        T::product_on_all(columns, w.t(), dy_view)?;
        let mut dx = vec![T::ZERO; image.len()];
        roll(columns, &mut dx, &self.sides);
        Ok(dx)
    }
}

/// The largest value of each window of `size`×`size`, and where in the image it was. The image is
/// channels×rows×columns; rows and columns that fill no window are left out.
pub fn pool<T: Real>(image: &[T], sides: [usize; 3], size: usize) -> (Vec<T>, Vec<u32>) {
    let [channels, rows, cols] = sides;
    let (height, width) = (rows / size, cols / size);
    let mut largest = Vec::with_capacity(channels * height * width);
    let mut places = Vec::with_capacity(channels * height * width);
    for channel in 0..channels {
        for y in 0..height {
            for x in 0..width {
                let first = (channel * rows + y * size) * cols + x * size;
                let mut best = first;
                for down in 0..size {
                    for at in (first + down * cols..).take(size) {
                        // NaN is the largest, so that it shows.
                        #[allow(clippy::eq_op, reason = "that is how NaN is known")]
                        if image[at] > image[best] || image[at] != image[at] {
                            best = at;
                        }
                    }
                }
                largest.push(image[best]);
                places.push(best as u32);
            }
        }
    }
    (largest, places)
}

/// The backward pass: each derivative goes to the element that the value came from.
pub fn unpool<T: Real>(dy: &[T], places: &[u32], len: usize) -> Vec<T> {
    let mut dx = vec![T::ZERO; len];
    for (dy, place) in dy.iter().zip(places) {
        dx[*place as usize] += *dy;
    }
    dx
}
