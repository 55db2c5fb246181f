//! What is written on a page: a photograph, a scan or a drawing.

use crate::runner::grey::{FAINT, Grey, around, bounds, median, otsu};
use std::ops::Range;

/// A page is shrunk to less than twice this many pixels on its longer side: enough for 20 of them.
const WORKING_SIDE: usize = 400;
/// Ink that differs less than this from the paper is noise; both from 0 to 1.
const CONTRAST: f32 = 0.15;
/// Strokes are dark on light, or light on dark, if so much more differs from the paper to one side than to the other.
const ONE_SIDED: f32 = 0.2;
/// A stroke is narrower than this part of the page's shorter side.
const STROKE: f32 = 0.4;
/// A piece of this fraction of the largest one belongs to the digit; smaller ones are specks.
const SPECK: f32 = 1.0 / 15.0;
/// A digit is at most so many times as wide as it is high; `digit-canvas.js` says the same.
const WIDE: f32 = 1.5;

/// What is said of a page on which nothing is written.
pub const NO_INK: &str = "there is no ink in it; write one digit, dark on light or light on dark";

/// What is written on a page: 0 where there is paper, 1 where there is full ink, and only the digit's pieces.
///
/// # Errors
/// A sentence that says what was seen, if it can't be one digit.
pub fn ink(page: &Grey) -> Result<Grey, String> {
    let no_ink = || NO_INK.to_owned();
    let mut page = inside(&page.shrunk((page.width.max(page.height) / WORKING_SIDE).max(1)));
    if is_light_on_dark(&page).ok_or_else(no_ink)? {
        page.levels.iter_mut().for_each(|level| *level = 1.0 - *level);
    }
    // The page without its strokes, its shadows included (a closing, as of Serra, 1982): what is narrower than the window
    // and dark becomes as light as what is around it. The light that falls on the page scales paper and ink.
    let reach = ((STROKE * page.width.min(page.height) as f32 / 2.0) as usize).max(1);
    let paper = windows(&windows(&page, reach, f32::max), reach, f32::min);
    let darker = |(level, paper): (&f32, &f32)| (paper - level) / paper.max(0.5);
    let mut ink =
        Grey { levels: page.levels.iter().zip(&paper.levels).map(darker).collect(), ..page };
    let split = otsu(&ink.levels);
    let of = |full: bool| ink.levels.iter().copied().filter(|l| (*l > split) == full).collect();
    let (paper, full) = (median(of(false)), median(of(true)));
    if full - paper < CONTRAST {
        return Err(no_ink());
    }
    let stretched = |level: f32| ((level - paper) / (full - paper)).clamp(0.0, 1.0);
    ink.levels.iter_mut().for_each(|level| *level = stretched(*level));
    let pieces = digit(&ink, pieces(&ink, stretched(split)))?;
    keep(&mut ink, pieces);
    Ok(ink)
}

/// The page without what a scanner or a screenshot leaves along its sides: lines that differ from it nearly everywhere.
fn inside(page: &Grey) -> Grey {
    let (width, height) = (page.width, page.height);
    let middle = median(page.levels.clone());
    let odd = |line: &mut dyn Iterator<Item = usize>, length: usize| {
        let far = line.filter(|at| (page.levels[*at] - middle).abs() > CONTRAST).count();
        10 * far > 9 * length
    };
    let row = |y: usize| odd(&mut (y * width..(y + 1) * width), width);
    let column = |x: usize| odd(&mut (0..height).map(|y| y * width + x), height);
    let lines = |side: usize, is: &dyn Fn(usize) -> bool| {
        let most = side / 8; // what is wider is a shadow
        let count = (0..=most).take_while(|line| is(*line)).count();
        if count == 0 || count > most { 0 } else { count + usize::from(side > 60) } // one is grey between the two
    };
    let (left, right) = (lines(width, &column), lines(width, &|x| column(width - 1 - x)));
    let (top, bottom) = (lines(height, &row), lines(height, &|y| row(height - 1 - y)));
    page.part(left..width - right, top..height - bottom)
}

/// Whether strokes are lighter than what is around them; `None` if as much is darker as is lighter.
fn is_light_on_dark(page: &Grey) -> Option<bool> {
    let small = page.shrunk((page.width.max(page.height) / 32).max(1));
    let (width, height) = (small.width as isize, small.height as isize);
    let reach = width.max(height) / 4;
    let at = |x: isize, y: isize| {
        small.levels[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize]
    };
    let (mut sum, mut all) = (0.0, 0.0);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let near =
            (y - reach..=y + reach).flat_map(|v| (x - reach..=x + reach).map(move |u| (u, v)));
        let apart = at(x, y) - median(near.map(|(u, v)| at(u, v)).collect());
        sum += apart.powi(3);
        all += apart.abs().powi(3);
    }
    (sum.abs() > ONE_SIDED * all).then_some(sum > 0.0)
}

/// Of each pixel and those within `reach` in its row and in its column the largest or the smallest, as `pick` chooses.
fn windows(page: &Grey, reach: usize, pick: fn(f32, f32) -> f32) -> Grey {
    let mut page = page.clone();
    for _ in 0..2 {
        let line = |row: &[f32]| {
            let (first, last) = (vec![row[0]; reach], vec![row[row.len() - 1]; reach]);
            let mut line = [&first[..], row, &last].concat();
            // After each round an element speaks for `span` elements from it on.
            let mut span = 1;
            while span <= 2 * reach {
                let step = span.min(2 * reach + 1 - span);
                let rest = line.len() - step;
                (0..rest).for_each(|i| line[i] = pick(line[i], line[i + step]));
                line.truncate(rest);
                span += step;
            }
            line
        };
        page.levels = page.levels.chunks_exact(page.width).flat_map(line).collect();
        page = page.turned(1);
    }
    page
}

/// Connected pixels of ink.
struct Piece {
    /// Their offsets.
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

    /// `120×80`: columns and rows.
    fn size(&self) -> String {
        format!("{}×{}", self.columns.len(), self.rows.len())
    }
}

/// The connected pieces above `split`.
fn pieces(ink: &Grey, split: f32) -> Vec<Piece> {
    let mut open: Vec<bool> = ink.levels.iter().map(|level| *level > split).collect();
    let mut pieces = Vec::new();
    for start in 0..open.len() {
        if !std::mem::replace(&mut open[start], false) {
            continue;
        }
        let (mut pixels, mut next) = (vec![start], 0);
        while let Some(&at) = pixels.get(next) {
            next += 1;
            pixels
                .extend(around(ink, at).filter(|near| std::mem::replace(&mut open[*near], false)));
        }
        pieces.push(Piece::of(ink, pixels));
    }
    pieces
}

/// The pieces that are the digit; a sentence if they can't be one.
fn digit(page: &Grey, mut pieces: Vec<Piece>) -> Result<Vec<Piece>, String> {
    // A frame around everything is none of it.
    let within =
        |one: &Range<usize>, two: &Range<usize>| two.start < one.start && one.end < two.end;
    let (wide, high) = (page.width, page.height);
    let frames = |outer: &Piece| {
        5 * outer.columns.len() > 4 * wide
            && 5 * outer.rows.len() > 4 * high
            && pieces.iter().any(|inner| {
                6 * inner.longer() > high
                    && within(&inner.columns, &outer.columns)
                    && within(&inner.rows, &outer.rows)
            })
    };
    if let Some(frame) = pieces.iter().position(frames) {
        pieces.remove(frame);
    }
    // Nor is what comes in from the page's border, if it is smaller than what does not, or long and thin: a ruled line, or what
    // a turned scan shows beside the paper.
    let inner =
        |piece: &Piece| within(&piece.columns, &(0..wide)) && within(&piece.rows, &(0..high));
    let largest = pieces.iter().filter(|piece| inner(piece)).map(Piece::longer).max().unwrap_or(0);
    let thin = |piece: &Piece| {
        let shorter = piece.columns.len().min(piece.rows.len());
        2 * piece.longer() > wide.min(high) && 8 * shorter < wide.min(high)
    };
    pieces.retain(|piece| {
        inner(piece) || 20 * piece.longer() > 13 * largest && !(thin(piece) && 8 * largest > high)
    });
    let largest = pieces.iter().map(|piece| piece.pixels.len()).max().unwrap_or(0);
    pieces.retain(|piece| piece.pixels.len() as f32 >= SPECK * largest as f32);
    let whole = Piece::of(page, pieces.iter().flat_map(|piece| &piece.pixels).copied().collect());
    if whole.longer() < 4.max(wide.max(high) / 60) {
        return Err(NO_INK.to_owned());
    }
    let (columns, rows) = (whole.columns.len() as f32, whole.rows.len() as f32);
    let apart = |one: &Range<usize>, two: &Range<usize>| two.start as f32 - one.end as f32;
    // The pieces in two groups, one that begins further along an axis than the other.
    let groups = |along: fn(&Piece) -> &Range<usize>| {
        let all = &pieces;
        all.iter().filter_map(move |cut| {
            let (two, one): (Vec<_>, Vec<_>) =
                all.iter().partition(|piece| along(piece).start >= along(cut).start);
            let join = |group: Vec<&Piece>| {
                Piece::of(page, group.iter().flat_map(|piece| &piece.pixels).copied().collect())
            };
            (!one.is_empty()).then(|| (join(one), join(two)))
        })
    };
    let lower = |one: &Piece, two: &Piece| one.rows.len().min(two.rows.len()) as f32;
    let seen = if pieces.len() > 3 {
        format!("there are {} separate pieces of ink in it", pieces.len())
    } else if let Some((one, two)) = groups(|piece| &piece.columns).find(|(one, two)| {
        let gap = apart(&one.columns, &two.columns);
        lower(one, two) > 0.5 * rows && (gap > 0.15 * rows || gap > -0.1 * rows && columns > rows)
    }) {
        format!(
            "two pieces of ink are side by side in it, of {} and {} pixels",
            one.size(),
            two.size()
        )
    } else if let Some((one, two)) = groups(|piece| &piece.rows).find(|(one, two)| {
        let gap = apart(&one.rows, &two.rows);
        gap > -0.1 * rows && lower(one, two) > 0.35 * rows
            || gap > 0.1 * rows && lower(one, two) > 0.2 * rows
    }) {
        format!(
            "two pieces of ink are one above the other in it, of {} and {} pixels",
            one.size(),
            two.size()
        )
    } else if whole.columns.len() == wide && 10 * whole.rows.len() < 7 * high
        || whole.rows.len() == high && 10 * whole.columns.len() < 7 * wide
    {
        "its ink runs from one side of the page to the other".to_owned()
    } else if columns > WIDE * rows {
        format!("its ink is {} pixels, far wider than a digit", whole.size())
    } else if whole.pixels.len() as f32 > 0.75 * columns * rows && columns > 0.4 * rows {
        format!("its ink is a block of {} pixels, and no stroke of a pen", whole.size())
    } else {
        return Ok(pieces);
    };
    Err(format!("{seen}; show one digit alone"))
}

/// Clears everything but these pieces and their soft edges.
fn keep(ink: &mut Grey, pieces: Vec<Piece>) {
    let mut kept: Vec<usize> = pieces.into_iter().flat_map(|piece| piece.pixels).collect();
    let (columns, rows) = bounds(kept.iter().map(|at| (at % ink.width, at / ink.width)));
    let mut stays = vec![false; ink.levels.len()];
    for at in &kept {
        stays[*at] = true;
    }
    // The edge is as soft as one pixel of the result.
    for _ in 0..columns.len().max(rows.len()).div_ceil(20) {
        let edge = kept.iter().flat_map(|at| around(ink, *at)).collect::<Vec<_>>();
        kept = edge.into_iter().filter(|at| ink.levels[*at] > FAINT).collect();
        kept.retain(|at| !std::mem::replace(&mut stays[*at], true));
    }
    for (level, stays) in ink.levels.iter_mut().zip(&stays) {
        *level *= f32::from(u8::from(*stays));
    }
}
