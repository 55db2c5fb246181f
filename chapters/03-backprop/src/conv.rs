//! A convolution is also a matrix product: unroll each window of the image into a column, and all windows
//! together are a matrix. And pooling, which has no product.

use crate::{Result, count::windows, error::count, real::Real};
use matmul::MatRef;
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
    let share = channels.div_ceil(matmul::parallel::available());
    std::thread::scope(|scope| {
        let pairs = columns.chunks_mut(wide * share).zip(image.chunks_mut(narrow * share));
        let mut pairs = pairs.map(|(columns, image)| {
            let work = &work;
            move || {
                for (c, p) in columns.chunks_mut(wide).zip(image.chunks_mut(narrow)) {
                    work(c, p);
                }
            }
        });
        let first = pairs.next();
        for other in pairs {
            scope.spawn(other);
        }
        if let Some(mut first) = first {
            first();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, random::SplitMix64};

    fn numbers(len: usize, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        (0..len).map(|_| random.normal()).collect()
    }

    /// Each output from its definition.
    fn naive(conv: &Conv<f64>, image: &[f64]) -> Vec<f64> {
        let Sides { input: [channels, rows, cols], size, stride, padding, output } = conv.sides;
        let mut y = Vec::new();
        for (out, bias) in conv.bias.iter().enumerate() {
            for i in 0..output[0] {
                for j in 0..output[1] {
                    let mut sum = *bias;
                    for c in 0..channels {
                        for down in 0..size {
                            for right in 0..size {
                                let at = |i: usize, d: usize, side: usize| {
                                    (i * stride + d).checked_sub(padding).filter(|at| *at < side)
                                };
                                if let (Some(r), Some(s)) = (at(i, down, rows), at(j, right, cols))
                                {
                                    let w = ((out * channels + c) * size + down) * size + right;
                                    sum += conv.weights[w] * image[(c * rows + r) * cols + s];
                                }
                            }
                        }
                    }
                    y.push(sum);
                }
            }
        }
        y
    }

    fn examples() -> Vec<(Conv<f64>, Vec<f64>)> {
        [
            ([1, 3, 3], 3, 1, 0, 1),
            ([3, 8, 7], 3, 1, 1, 4),
            ([2, 9, 6], 3, 2, 1, 5),
            ([4, 5, 5], 1, 1, 0, 3),
            ([2, 4, 6], 5, 3, 4, 2),
            ([5, 1, 1], 3, 1, 1, 2),
        ]
        .into_iter()
        .map(|(input, size, stride, padding, channels)| {
            let sides = Sides::new(input, size, stride, padding).unwrap();
            let weights = numbers(channels * sides.window(), 1);
            (
                Conv { sides, weights, bias: numbers(channels, 2) },
                numbers(input.iter().product(), 3),
            )
        })
        .collect()
    }

    #[test]
    fn a_product_with_the_unrolled_image_is_the_convolution() {
        for (conv, mut image) in examples() {
            let mut columns = vec![f64::NAN; conv.sides.window() * conv.sides.places() + 3];
            let y = conv.forward(&mut image, &mut columns).unwrap();
            assert!(check::error(&y, &naive(&conv, &image)) < 1e-12, "{:?}", conv.sides);
            let single: Vec<f32> = image.iter().map(|x| *x as f32).collect();
            let narrow = Conv {
                sides: conv.sides,
                weights: conv.weights.iter().map(|w| *w as f32).collect(),
                bias: conv.bias.iter().map(|b| *b as f32).collect(),
            };
            let mut columns = vec![f32::NAN; columns.len()];
            let y32 = narrow.forward(&mut single.clone(), &mut columns).unwrap();
            assert!(check::error(&check::wide(&y32), &y) < 1e-5);
        }
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        for (conv, image) in examples() {
            let len = conv.sides.window() * conv.sides.places();
            let dy = numbers(conv.bias.len() * conv.sides.places(), 4);
            let loss = |conv: &Conv<f64>, image: &[f64]| {
                naive(conv, image).iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>()
            };
            let (mut dw, mut db) =
                (vec![f64::NAN; conv.weights.len()], vec![f64::NAN; conv.bias.len()]);
            let mut columns = vec![f64::NAN; len];
            let dx = conv
                .backward(&mut image.clone(), &dy, &mut columns, (&mut dw, &mut db), true)
                .unwrap();
            let wanted = check::differences(&conv.weights, |w| {
                loss(&Conv { weights: w.to_vec(), ..conv.clone() }, &image)
            });
            assert!(check::error(&dw, &wanted) < 1e-8, "{:?}", conv.sides);
            let wanted = check::differences(&conv.bias, |b| {
                loss(&Conv { bias: b.to_vec(), ..conv.clone() }, &image)
            });
            assert!(check::error(&db, &wanted) < 1e-8);
            let wanted = check::differences(&image, |image| loss(&conv, image));
            assert!(check::error(&dx, &wanted) < 1e-8, "{:?}", conv.sides);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (conv, mut image) = examples().remove(1);
        assert!(conv.forward(&mut image[1..], &mut [0.0; 9]).is_err());
        assert!(conv.forward(&mut image, &mut [0.0; 10]).is_err());
        assert!(Sides::new([1, 2, 2], 3, 1, 0).is_none());
    }

    #[test]
    fn a_pool_takes_the_largest_and_gives_the_derivative_back_to_it() {
        let image = [1.0, 5.0, 2.0, 3.0, 4.0, 9.0, -1.0, -2.0, 7.0, -3.0, -4.0, 8.0];
        let (largest, places) = pool(&image, [2, 2, 3], 2);
        assert_eq!((&largest[..], &places[..]), (&[5.0, -1.0][..], &[1, 6][..]));
        let dx = unpool(&[10.0, 20.0], &places, 12);
        assert_eq!(dx.iter().sum::<f64>(), 30.0);
        assert_eq!((dx[1], dx[6]), (10.0, 20.0));
        assert!(pool(&[1.0, f64::NAN, 3.0, 2.0], [1, 2, 2], 2).0[0].is_nan());
    }
}
