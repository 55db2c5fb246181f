//! Rung 6: threads. C is cut into rectangles, one for each thread, and each is computed as in rung 5. No two threads
//! write the same element, so nothing has to be locked, and each sum is added up in the same order however C is cut.

use crate::{
    Shape,
    part::Part,
    simd::{self, Level},
};
use std::{ops::Range, sync::OnceLock, thread};

/// How many threads this machine runs at once.
pub fn available() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// A part of C, counted in the micro-kernel's tiles down and panels across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// Tiles, from the top.
    pub tiles: Range<usize>,
    /// Panels, from the left.
    pub panels: Range<usize>,
}

impl Rectangle {
    /// Cuts the rectangle into a grid of at most `parts`. A thread packs the rows and the columns of its part, so
    /// the grid is chosen in which these are fewest; a tile has `rows`, a panel `cols`.
    pub fn cut(&self, parts: usize, (rows, cols): (usize, usize)) -> Vec<Self> {
        let (height, width) = (self.tiles.len(), self.panels.len());
        let packed = |(down, across): (usize, usize)| {
            height.div_ceil(down) * rows + width.div_ceil(across) * cols
        };
        let grids = (1..=parts).rev().map(|parts| {
            (1..=parts)
                .filter(|down| parts.is_multiple_of(*down))
                .map(|down| (down, parts / down))
                .filter(|&(down, across)| down <= height && across <= width)
                .min_by_key(|&grid| packed(grid))
        });
        let (down, across) = grids.flatten().next().unwrap_or((1, 1));
        let piece = |range: &Range<usize>, i: usize, of: usize| {
            let edge = |i: usize| range.start + i * range.len() / of;
            edge(i)..edge(i + 1)
        };
        (0..down * across)
            .map(|part| Self {
                tiles: piece(&self.tiles, part / across, down),
                panels: piece(&self.panels, part % across, across),
            })
            .collect()
    }
}

/// Cuts the product into rectangles of whole tiles of `height`×`width` and calls `work` with each, on as many threads as
/// there are rectangles, the calling one among them.
pub(crate) fn each_part(
    whole: &Part,
    (height, width): (usize, usize),
    threads: usize,
    work: impl Fn(&Part) + Sync,
) {
    let Shape { m, n, .. } = whole.shape;
    let all = Rectangle { tiles: 0..m.div_ceil(height), panels: 0..n.div_ceil(width) };
    let compute = |Rectangle { tiles, panels }: &Rectangle| {
        let rows = tiles.start * height..m.min(tiles.end * height);
        let cols = panels.start * width..n.min(panels.end * width);
        work(&Part { rows, cols, ..whole.clone() });
    };
    let parts = all.cut(threads, (height, width));
    thread::scope(|scope| {
        for part in &parts[1..] {
            scope.spawn(|| compute(part));
        }
        compute(&parts[0]);
    });
}

/// C = A·B with the widest vectors of this CPU on up to `threads` threads.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape, threads: usize) {
    let (level, whole) = (Level::best(), Part::whole(c, a, b, shape));
    // SAFETY: the parts do not overlap.
    each_part(&whole, level.tile(), threads, |part| unsafe { simd::compute(level, part) });
}
