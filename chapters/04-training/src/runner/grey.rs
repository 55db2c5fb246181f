//! Grey levels of an image, and what is done with them.

use std::ops::Range;

/// Below this fraction of the full ink a pixel is paper.
pub const FAINT: f32 = 0.1;

/// Grey levels of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Grey {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// From 0 (black, or no ink) to 1 (white, or full ink), row by row.
    pub levels: Vec<f32>,
}

impl Grey {
    /// Turned: 1 exchanges rows and columns, 2 then mirrors the columns, 4 the rows.
    #[must_use]
    pub fn turned(&self, turn: u8) -> Self {
        let crossed = turn & 1 != 0;
        let (width, height) =
            if crossed { (self.height, self.width) } else { (self.width, self.height) };
        let level = |at: usize| {
            let (x, y) = (at % width, at / width);
            let x = if turn & 2 == 0 { x } else { width - 1 - x };
            let y = if turn & 4 == 0 { y } else { height - 1 - y };
            self.levels[if crossed { x * self.width + y } else { y * self.width + x }]
        };
        Self { width, height, levels: (0..width * height).map(level).collect() }
    }

    /// With squares of `by` pixels as one, their mean.
    #[must_use]
    pub fn shrunk(&self, by: usize) -> Self {
        let (width, height) = (self.width.div_ceil(by), self.height.div_ceil(by));
        let levels = averaged(self, (0..self.width, 0..self.height), (width, height));
        Self { width, height, levels }
    }

    /// These columns and rows of it.
    #[must_use]
    pub fn part(&self, columns: Range<usize>, rows: Range<usize>) -> Self {
        let (width, height) = (columns.len(), rows.len());
        let row = |y: usize| &self.levels[y * self.width..][columns.clone()];
        Self { width, height, levels: rows.flat_map(|y| row(y).to_vec()).collect() }
    }

    /// The levels along its border.
    pub fn border(&self) -> impl Iterator<Item = f32> {
        let (right, bottom) = (self.width - 1, self.height - 1);
        let rows = (0..self.width).flat_map(move |x| [(x, 0), (x, bottom)]);
        let columns = (0..self.height).flat_map(move |y| [(0, y), (right, y)]);
        rows.chain(columns).map(|(x, y)| self.levels[y * self.width + x])
    }

    /// The columns and the rows with ink.
    pub fn inked(&self) -> (Range<usize>, Range<usize>) {
        let places = (0..self.levels.len()).filter(|at| self.levels[*at] > FAINT);
        bounds(places.map(|at| (at % self.width, at / self.width)))
    }

    /// Column and row of the centre of mass, in pixels from the corner.
    pub fn centre(&self) -> [f32; 2] {
        let mass: f32 = self.levels.iter().sum();
        let mut centre = [0.0, 0.0];
        for (at, level) in self.levels.iter().enumerate() {
            centre[0] += level / mass * ((at % self.width) as f32 + 0.5);
            centre[1] += level / mass * ((at / self.width) as f32 + 0.5);
        }
        centre
    }
}

/// The middle one of some numbers; 0 if there are none.
pub fn median(mut levels: Vec<f32>) -> f32 {
    let middle = levels.len() / 2;
    if levels.is_empty() { 0.0 } else { *levels.select_nth_unstable_by(middle, f32::total_cmp).1 }
}

/// The offsets of a pixel and of the up to eight pixels around it.
pub fn around(ink: &Grey, at: usize) -> impl Iterator<Item = usize> + use<> {
    let (width, height) = (ink.width, ink.height);
    let (x, y) = (at % width, at / width);
    let columns = x.saturating_sub(1)..(x + 2).min(width);
    let rows = y.saturating_sub(1)..(y + 2).min(height);
    rows.flat_map(move |y| columns.clone().map(move |x| y * width + x))
}

/// The columns and the rows that contain all of these pixels.
pub fn bounds(places: impl Iterator<Item = (usize, usize)>) -> (Range<usize>, Range<usize>) {
    let with = |range: Option<Range<usize>>, at: usize| match range {
        Some(range) => Some(range.start.min(at)..range.end.max(at + 1)),
        None => Some(at..at + 1),
    };
    let (columns, rows) =
        places.fold((None, None), |(columns, rows), (x, y)| (with(columns, x), with(rows, y)));
    (columns.unwrap_or_default(), rows.unwrap_or_default())
}

/// A part of an image at another size: each new pixel is the mean of the area that it covers.
pub fn averaged(
    from: &Grey,
    (columns, rows): (Range<usize>, Range<usize>),
    (width, height): (usize, usize),
) -> Vec<f32> {
    let (across, down) = (shares(&columns, width), shares(&rows, height));
    let mut to = Vec::with_capacity(width * height);
    for line in &down {
        for column in &across {
            let mut sum = 0.0;
            for (y, high) in line {
                let row = &from.levels[y * from.width..][..from.width];
                sum += high * column.iter().map(|(x, wide)| wide * row[*x]).sum::<f32>();
            }
            to.push(sum);
        }
    }
    to
}

/// For each of `count` equal parts of a range of pixels: the pixels in it, each with its fraction of the part.
fn shares(range: &Range<usize>, count: usize) -> Vec<Vec<(usize, f32)>> {
    let length = range.len();
    (0..count)
        .map(|part| {
            // In units of 1/count of a pixel all borders are whole numbers.
            let (from, to) = (part * length, (part + 1) * length);
            (from / count..to.div_ceil(count))
                .map(|at| {
                    let inside = to.min((at + 1) * count) - from.max(at * count);
                    (range.start + at, inside as f32 / length as f32)
                })
                .collect()
        })
        .collect()
}

/// The level that parts light from dark best: the variance between the two parts is the largest (Otsu,
/// *A threshold selection method from gray-level histograms*, 1979).
pub fn otsu(levels: &[f32]) -> f32 {
    let mut count = [0.0_f64; 256];
    for level in levels {
        count[(level * 255.0).round().clamp(0.0, 255.0) as usize] += 1.0;
    }
    let total: f64 = count.iter().sum();
    let sum: f64 = count.iter().enumerate().map(|(grey, n)| grey as f64 * n).sum();
    let (mut best, mut below, mut below_sum) = ((0.0, 127.0, 127.0), 0.0, 0.0);
    for (grey, n) in count.iter().enumerate() {
        below += n;
        below_sum += grey as f64 * n;
        let above = total - below;
        if below > 0.0 && above > 0.0 {
            let apart = below_sum / below - (sum - below_sum) / above;
            let between = below * above * apart * apart;
            // Between two heaps all levels are equally good: the middle is the safest.
            if between > best.0 * (1.0 + 1e-9) {
                best = (between, grey as f64, grey as f64);
            } else if between > best.0 * (1.0 - 1e-9) {
                best.2 = grey as f64;
            }
        }
    }
    ((f64::midpoint(best.1, best.2) + 0.5) / 255.0) as f32
}
