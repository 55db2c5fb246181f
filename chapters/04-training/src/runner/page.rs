//! What is written on a page: one digit, dark on light or light on dark, on an even background. What can't be that is
//! refused with the reason, so that no model gives a sure answer about something else.

use crate::runner::grey::{Grey, around, bounds, median, otsu};
use std::ops::Range;

/// A page is worked on with at most twice as many pixels along its longer side.
const WORKING_SIDE: usize = 400;
/// Ink differs from paper by at least so much of the whole range,
const CONTRAST: f32 = 0.06;
/// and by so many times the noise of the paper.
const CLEAR: f32 = 6.0;
/// What differs from paper by this part of the ink is neither.
const UNEVEN: f32 = 0.45;
/// Of the largest piece of ink; a smaller one is a speck.
const SPECK: f32 = 1.0 / 30.0;
/// What is wider than this many times its height is no digit.
const WIDE: f32 = 1.5;
/// Of a digit's longer side: the widest stroke,
const STROKE: f32 = 0.45;
/// and the widest gap between two of its strokes.
const GAP: f32 = 1.0 / 8.0;
/// Of the main piece's size; one that is larger and stands beside it or in it is a thing of its own.
const OWN: f32 = 0.5;

/// The words for a page without ink.
pub const NO_INK: &str = "there is no ink in it; write one digit, dark on light or light on dark";
/// What to do about all else.
const ALONE: &str = "show one digit alone, or cut it out of the page";

/// How much ink there is in each pixel, from 0 to about 1: of one digit alone.
///
/// # Errors
/// In words, if there is no ink, or what there is can't be one digit.
pub fn ink(page: &Grey) -> Result<Grey, String> {
    let page = page.shrunk((page.width.max(page.height) / WORKING_SIDE).max(1));
    let paper = median(page.border().collect());
    let sum: f32 = page.levels.iter().map(|level| (level - paper).powi(3)).sum();
    let over = |level: &f32| (level - paper) * sum.signum();
    let levels: Vec<f32> = page.levels.iter().map(over).collect();
    let split = otsu(&levels);
    let (full, rest): (Vec<f32>, Vec<f32>) = levels.iter().partition(|level| **level > split);
    let most = median(full.clone());
    let spread = median(rest.iter().map(|level| level.abs()).collect());
    if full.is_empty() || most < CONTRAST.max(CLEAR * spread) {
        return Err(NO_INK.to_owned());
    }
    let border: Vec<f32> = page.border().map(|level| over(&level).abs()).collect();
    let uneven = border.iter().filter(|apart| **apart > UNEVEN * most).count();
    let opposite = rest.iter().filter(|level| **level < -UNEVEN * most).count();
    if 20 * uneven > border.len() || 10 * opposite > full.len() {
        return Err(format!("its background is uneven, as if a shadow lay on it; {ALONE}"));
    }
    let noise = 4.0 * spread; // nearly all of it is below
    let stretched = |level: &f32| ((level - noise) / (most - noise)).max(0.0);
    let mut ink = Grey { levels: levels.iter().map(stretched).collect(), ..page };
    let pieces = connected(&levels, split, &ink);
    let piece = digit(&ink, pieces).map_err(|why| match why {
        None => NO_INK.to_owned(),
        Some(seen) => format!("{seen}; {ALONE}"),
    })?;
    // The strokes' faint edges are around it.
    let edge = piece.longer().div_ceil(20);
    let with = |range: &Range<usize>| range.start.saturating_sub(edge)..range.end + edge;
    let (columns, rows) = (with(&piece.columns), with(&piece.rows));
    for (at, level) in ink.levels.iter_mut().enumerate() {
        if !(columns.contains(&(at % ink.width)) && rows.contains(&(at / ink.width))) {
            *level = 0.0;
        }
    }
    Ok(ink)
}

/// Pixels with ink that touch each other.
struct Piece {
    pixels: Vec<usize>,
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Piece {
    fn of(page: &Grey, pixels: Vec<usize>) -> Self {
        let (columns, rows) = bounds(pixels.iter().map(|at| (at % page.width, at / page.width)));
        Self { pixels, columns, rows }
    }

    fn longer(&self) -> usize {
        self.columns.len().max(self.rows.len())
    }

    fn size(&self) -> String {
        format!("{}×{}", self.columns.len(), self.rows.len())
    }

    /// Whether another piece belongs to the same digit: it is near, and neither a digit beside this one nor a frame.
    fn has(&self, other: &Self) -> bool {
        let apart = |one: &Range<usize>, two: &Range<usize>| {
            one.start.max(two.start) as f32 - one.end.min(two.end) as f32
        };
        let (across, down) = (apart(&self.columns, &other.columns), apart(&self.rows, &other.rows));
        let own = other.longer() as f32 > OWN * self.longer() as f32;
        across.max(down) <= GAP * self.longer() as f32 && !(own && (across >= 0.0 || down < 0.0))
    }

    /// Whether it is no line of a pen: it has a large square of ink, or hardly any paper between its strokes.
    fn is_block(&self, page: &Grey) -> bool {
        let (wide, high) = (self.columns.len(), self.rows.len());
        let stroke = STROKE * self.longer() as f32;
        let full = 4 * self.pixels.len() > 3 * wide * high && wide.min(high) as f32 > stroke;
        full || self.stroke(page) as f32 > stroke
    }

    /// The side of the largest square of ink.
    fn stroke(&self, page: &Grey) -> usize {
        let mut sides = vec![0; page.levels.len()];
        let mut pixels = self.pixels.clone();
        pixels.sort_unstable();
        for at in pixels {
            let inner = at > page.width && !at.is_multiple_of(page.width);
            let before = |by: usize| if inner { sides[at - by] } else { 0 };
            sides[at] = 1 + before(1).min(before(page.width)).min(before(page.width + 1));
        }
        sides.into_iter().max().unwrap_or(0)
    }
}

/// The pieces of what is above `split`.
fn connected(levels: &[f32], split: f32, page: &Grey) -> Vec<Piece> {
    let mut open: Vec<bool> = levels.iter().map(|level| *level > split).collect();
    let mut pieces = Vec::new();
    for start in 0..open.len() {
        if !std::mem::replace(&mut open[start], false) {
            continue;
        }
        let (mut pixels, mut next) = (vec![start], 0);
        while let Some(&at) = pixels.get(next) {
            next += 1;
            pixels
                .extend(around(page, at).filter(|near| std::mem::replace(&mut open[*near], false)));
        }
        pieces.push(Piece::of(page, pixels));
    }
    pieces
}

/// The one digit that the pieces are, or what else they are; `None` is nothing.
fn digit(page: &Grey, mut pieces: Vec<Piece>) -> Result<Piece, Option<String>> {
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.pixels.len()));
    let largest = pieces.first().map_or(0, |piece| piece.pixels.len());
    pieces.retain(|piece| piece.pixels.len() as f32 >= SPECK * largest as f32);
    let sizes: Vec<_> = pieces.iter().take(3).map(Piece::size).collect();
    let many =
        format!("there are {} pieces of ink in it, of {} pixels", pieces.len(), sizes.join(", "));
    if pieces.is_empty() {
        return Err(None);
    }
    let mut piece = pieces.remove(0);
    while let Some(at) = pieces.iter().position(|other| piece.has(other)) {
        piece = Piece::of(page, [piece.pixels, pieces.remove(at).pixels].concat());
    }
    if !pieces.is_empty() {
        return Err(Some(many));
    }
    if piece.longer() < 4.max(page.width.max(page.height) / 60) {
        return Err(None);
    }
    let (right, bottom) = (page.width - 1, page.height - 1);
    let outer = |at: &&usize| {
        [0, right].contains(&(*at % page.width)) || [0, bottom].contains(&(*at / page.width))
    };
    if 10 * piece.pixels.iter().filter(outer).count() > piece.longer() {
        Err(Some("its ink runs into the page's border".to_owned()))
    } else if piece.columns.len() as f32 > WIDE * piece.rows.len() as f32 {
        Err(Some(format!("its ink is {} pixels, far wider than a digit", piece.size())))
    } else if piece.is_block(page) {
        Err(Some(format!("its ink is a block of {} pixels, and no stroke of a pen", piece.size())))
    } else {
        Ok(piece)
    }
}
