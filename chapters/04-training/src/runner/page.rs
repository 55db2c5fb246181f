//! What is written on a page: a photograph, a scan or a drawing.

use crate::runner::grey::{FAINT, Grey, around, bounds, median, otsu};
use std::ops::Range;

/// A page is shrunk to less than twice this many pixels on its longer side: enough for 20 of them.
const WORKING_SIDE: usize = 400;
/// Ink that differs less than this from the paper is noise; both from 0 to 1.
const CONTRAST: f32 = 0.06;
/// Ink differs so many times as much from the paper as the paper's pixels do from each other.
const CLEAR: f32 = 6.0;
/// Where the paper is darker than this, noise would look like ink.
const DIM: f32 = 0.25;
/// A piece of this fraction of the largest one may belong to the digit; smaller ones are specks.
const SPECK: f32 = 1.0 / 30.0;
/// Of more pieces than this none can be a digit, and each would be compared with all others.
const PIECES: usize = 300;
/// A digit is at most so many times as wide as it is high; `digit-canvas.js` says the same.
const WIDE: f32 = 1.5;
/// What is shorter than this part of the digit, and does not touch it, is a dot or a comma.
const DOT: f32 = 0.3;
/// Pieces as high as this part of all ink are no parts of a digit that lie beside each other.
const BESIDE: f32 = 0.6;
/// Of what reaches the page's border, this part of its shorter side and more is no stroke.
const NARROW: f32 = 0.1;
/// Ways through a page, in columns and rows.
const WAYS: [(isize, isize); 4] = [(1, 0), (1, 1), (0, 1), (-1, 1)];
/// A pen's stroke is narrower than this part of the digit.
const STROKE: f32 = 0.45;

/// What is said of a page on which nothing is written.
pub const NO_INK: &str = "there is no ink in it; write one digit, dark on light or light on dark";

/// What is written on a page: 0 where there is paper, 1 where there is full ink, and only the digit's pieces.
///
/// # Errors
/// A sentence that says what was seen, if it can't be one digit.
pub fn ink(page: &Grey) -> Result<Grey, String> {
    let mut page = page.shrunk((page.width.max(page.height) / WORKING_SIDE).max(1));
    if is_light_on_dark(&page) {
        page = inverted(&page);
    }
    // The light that falls on the page scales paper and ink.
    let darker = |(level, paper): (&f32, f32)| (paper - level).max(0.0) / paper.max(DIM);
    let levels: Vec<f32> = page.levels.iter().zip(paper(&page)).map(darker).collect();
    // What is darker than the paper may be a shadow with ink in it, which is darker again: if it is no digit, part it once more.
    let (mut rest, mut said) = (levels.clone(), None);
    loop {
        let split = otsu(&rest);
        let (full, paper): (Vec<f32>, Vec<f32>) = rest.iter().partition(|level| **level > split);
        let middle = median(paper.clone());
        let spread = median(paper.iter().map(|level| (level - middle).abs()).collect());
        let most = median(full.clone());
        if paper.is_empty() || most - middle < CONTRAST.max(CLEAR * spread) {
            return Err(said.unwrap_or_else(|| NO_INK.to_owned()));
        }
        let paper = middle + 4.0 * spread; // nearly all noise is below
        let stretched = |level: &f32| ((level - paper) / (most - paper)).max(0.0);
        let mut ink = Grey { levels: levels.iter().map(stretched).collect(), ..page };
        match digit(&ink, stretched(&split)) {
            Ok(piece) => {
                keep(&mut ink, piece);
                return Ok(ink);
            }
            Err(why) => said = said.or(Some(why)),
        }
        rest = full;
    }
}

/// Whether a piece's darker pixels lie all over it.
fn is_even(ink: &Grey, piece: &Piece) -> bool {
    let alone = piece.alone(ink);
    let inner = |at: &&usize| around(ink, **at).all(|near| alone.levels[near] > 0.5);
    let levels: Vec<f32> = piece.pixels.iter().filter(inner).map(|at| ink.levels[*at]).collect();
    let most = levels.iter().copied().fold(FAINT, f32::max);
    let split = most * otsu(&levels.iter().map(|level| level / most).collect::<Vec<_>>());
    let (high, low): (Vec<f32>, Vec<f32>) = levels.iter().partition(|level| **level > split);
    if levels.len() < 60 || median(low) > 0.7 * median(high) {
        return true;
    }
    let dark = piece.pixels.iter().copied().filter(|at| ink.levels[*at] > split).collect();
    6 * (piece.longer() - Piece::of(ink, dark).longer()) < piece.longer()
}

/// The level of the paper at each pixel.
///
/// Paper is what has straight ways to the border on which nothing is lighter: both ways along a line (ruled and squared lines,
/// strips, frames), or one way if it is wider than a stroke (shadows, a desk). Hole filling by a reconstruction from the border
/// (Soille, *Morphological Image Analysis*, 2003, section 6.3) does so along any way; along straight ones a digit on squared
/// paper stays.
fn paper(page: &Grey) -> Vec<f32> {
    let reach = (NARROW * page.width.min(page.height) as f32 / 2.0) as usize;
    let wide = windows(&windows(page, reach, f32::max), reach, f32::min);
    let mut paper = vec![f32::INFINITY; page.levels.len()];
    for way in WAYS {
        let [here, there] = [false, true].map(|back| lightest(page, way, back));
        let [one, other] = [false, true].map(|back| lightest(&wide, way, back));
        for (at, paper) in paper.iter_mut().enumerate() {
            *paper = paper.min(here[at].max(there[at])).min(one[at]).min(other[at]);
        }
    }
    paper
}

/// From each pixel straight to the border, against this way or along it: the largest level on the way.
fn lightest(page: &Grey, (dx, dy): (isize, isize), along: bool) -> Vec<f32> {
    let (width, height) = (page.width as isize, page.height as isize);
    let mut levels = page.levels.clone();
    for step in 0..levels.len() {
        let (at, sign) = if along { (levels.len() - 1 - step, -1) } else { (step, 1) };
        let (x, y) = (at as isize % width - sign * dx, at as isize / width - sign * dy);
        if (0..width).contains(&x) && (0..height).contains(&y) {
            levels[at] = levels[at].max(levels[(y * width + x) as usize]);
        }
    }
    levels
}

/// Black for white.
fn inverted(page: &Grey) -> Grey {
    Grey { levels: page.levels.iter().map(|level| 1.0 - level).collect(), ..*page }
}

/// Whether strokes are lighter than what is around them.
fn is_light_on_dark(page: &Grey) -> bool {
    let small = page.shrunk((page.width.max(page.height) / 32).max(1));
    let (width, height) = (small.width as isize, small.height as isize);
    let reach = width.max(height) / 4;
    let at = |x: isize, y: isize| small.levels[(y * width + x) as usize];
    let span = |at: isize, most: isize| (at - reach).max(0)..(at + reach + 1).min(most);
    // A stroke is narrow: what a square fits in is the page's.
    let strokes = |page: &Grey| {
        let apart =
            page.levels.iter().zip(paper(page)).map(|(level, paper)| (paper - level).max(0.0));
        let dark = Grey { levels: apart.collect(), ..*page };
        let wide = windows(&windows(&dark, 3, f32::min), 3, f32::max).levels;
        dark.levels.iter().zip(wide).map(|(dark, wide)| dark - 0.99 * wide).collect::<Vec<_>>()
    };
    let (dark, light) = (strokes(&small), strokes(&inverted(&small)));
    let sum =
        (0..height).flat_map(|y| (0..width).map(move |x| (y, x))).enumerate().map(|(i, (y, x))| {
            let near = span(y, height).flat_map(|v| span(x, width).map(move |u| (u, v)));
            let apart = at(x, y) - median(near.map(|(u, v)| at(u, v)).collect());
            apart * if apart > 0.0 { light[i] } else { dark[i] }.powi(2)
        });
    sum.sum::<f32>() > 0.0
}

/// The page with each pixel the largest, or the smallest, of those within `reach` in its row and in its column.
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

/// How much is between two ranges.
fn apart(one: &Range<usize>, two: &Range<usize>) -> isize {
    one.start.max(two.start) as isize - one.end.min(two.end) as isize
}

/// Connected pixels of ink, or some that lie near each other.
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

    fn is_inside(&self, columns: &Range<usize>, rows: &Range<usize>) -> bool {
        let within =
            |one: &Range<usize>, two: &Range<usize>| two.start < one.start && one.end < two.end;
        within(&self.columns, columns) && within(&self.rows, rows)
    }

    /// `120×80`: columns and rows.
    fn size(&self) -> String {
        format!("{}×{}", self.columns.len(), self.rows.len())
    }

    /// Its pixels alone, on a page like this one.
    fn alone(&self, page: &Grey) -> Grey {
        let mut alone = Grey { levels: vec![0.0; page.levels.len()], ..*page };
        self.pixels.iter().for_each(|at| alone.levels[*at] = 1.0);
        alone
    }

    /// Whether it is far wider than a digit.
    fn is_flat(&self) -> bool {
        self.columns.len() as f32 > WIDE * self.rows.len() as f32
    }
}

/// The connected pieces above `split`.
fn connected(ink: &Grey, split: f32) -> Vec<Piece> {
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

/// Pieces nearer to each other than a stroke is wide are one.
fn joined(page: &Grey, pieces: Vec<Piece>) -> Vec<Piece> {
    let all = Piece::of(page, pieces.into_iter().flat_map(|piece| piece.pixels).collect());
    let alone = all.alone(page);
    // A stroke has twice as much area as outline for each pixel of its width.
    let outline = |at: &&usize| around(page, **at).any(|near| alone.levels[near] == 0.0);
    let outline = all.pixels.iter().filter(outline).count();
    let reach = (all.pixels.len() / outline.max(1)).max(1);
    let within = |piece: Piece| {
        Piece::of(page, piece.pixels.into_iter().filter(|at| alone.levels[*at] > 0.5).collect())
    };
    connected(&windows(&alone, reach, f32::max), 0.5).into_iter().map(within).collect()
}

/// The pieces without what is around a digit.
fn alone(page: &Grey, mut pieces: Vec<Piece>) -> Vec<Piece> {
    let shorter = page.width.min(page.height);
    let largest = pieces.iter().map(|piece| piece.pixels.len()).max().unwrap_or(0);
    pieces.retain(|piece| piece.pixels.len() as f32 >= SPECK * largest as f32);
    if pieces.len() > PIECES {
        return pieces;
    }
    // What comes in from the border.
    let inner = |piece: &Piece| piece.is_inside(&(0..page.width), &(0..page.height));
    if pieces.iter().any(|piece| inner(piece) && 8 * piece.longer() > shorter) {
        pieces.retain(inner);
    }
    // Frames, also one in another.
    let holds = |outer: &Piece, one: &Piece| {
        one.is_inside(&outer.columns, &outer.rows)
            && one.longer() as f32 > DOT * outer.longer() as f32
    };
    while let Some(outer) = pieces.iter().position(|p| pieces.iter().any(|one| holds(p, one))) {
        pieces.remove(outer);
    }
    // Dots, lines below it, longer ones above it: a short one may be the bar of a 5.
    if let Some((columns, rows)) = main(&pieces) {
        let longer = columns.len().max(rows.len());
        let cut = 1 + longer as isize / 40; // a removed line leaves such a gap in a digit
        pieces.retain(|piece| {
            let (wide, high) = (piece.columns.len(), piece.rows.len());
            let bar = wide > 3 * high && 5 * piece.pixels.len() > 3 * wide * high;
            let line = bar && (wide > columns.len() || piece.rows.start > rows.start);
            let rows_apart = apart(&piece.rows, &rows);
            let dot = (piece.longer() as f32) < DOT * longer as f32;
            !(line && rows_apart > cut
                || dot && rows_apart.max(apart(&piece.columns, &columns)) > cut)
        });
    }
    // Two as high as each other, one beside the other, are two digits, however near; a removed line's gap is less.
    let rows = pieces.iter().map(|piece| &piece.rows);
    let top = rows.clone().map(|rows| rows.start).min().unwrap_or(0);
    let highest = rows.map(|rows| rows.end - top).max().unwrap_or(0);
    let tall = |one: &&Piece| !one.is_flat() && one.rows.len() as f32 > BESIDE * highest as f32;
    let tall: Vec<&Piece> = pieces.iter().filter(tall).collect();
    let gap = 1 + highest as isize / 80;
    let beside = |one: &&Piece| tall.iter().any(|two| apart(&one.columns, &two.columns) > gap);
    if tall.iter().any(beside) {
        return pieces;
    }
    pieces = joined(page, pieces);
    // Crooked lines, dots and commas.
    if let Some((columns, rows)) = main(&pieces) {
        let longer = columns.len().max(rows.len()) as f32;
        pieces.retain(|piece| {
            let gap = apart(&piece.rows, &rows);
            let far = piece.columns.len() > columns.len() || 7 * gap > rows.len() as isize;
            !(piece.is_flat() && gap > 0 && far) && piece.longer() as f32 >= DOT * longer
        });
    }
    pieces
}

/// Columns and rows of the highest piece that is not far wider than a digit.
fn main(pieces: &[Piece]) -> Option<(Range<usize>, Range<usize>)> {
    let upright = pieces.iter().filter(|piece| !piece.is_flat());
    let main = upright.max_by_key(|piece| piece.rows.len())?;
    Some((main.columns.clone(), main.rows.clone()))
}

/// The piece that is the digit; a sentence if there is none.
fn digit(page: &Grey, split: f32) -> Result<Piece, String> {
    let mut pieces = alone(page, connected(page, split));
    let least = 4.max(page.width.max(page.height) / 60);
    let seen = match &pieces[..] {
        [] => return Err(NO_INK.to_owned()),
        [one] if one.longer() < least => return Err(NO_INK.to_owned()),
        [one] => match fault(page, one) {
            None => return Ok(pieces.remove(0)),
            Some(seen) => seen,
        },
        some => {
            let sizes: Vec<_> = some.iter().take(3).map(Piece::size).collect();
            format!("there are {} pieces of ink in it, of {} pixels", some.len(), sizes.join(", "))
        }
    };
    Err(format!("{seen}; show one digit alone, or cut it out of the page"))
}

/// Why a piece can't be a digit, if it can't.
fn fault(page: &Grey, piece: &Piece) -> Option<String> {
    let (right, bottom) = (page.width - 1, page.height - 1);
    let inner = |at: &usize| {
        (1..right).contains(&(at % page.width)) && (1..bottom).contains(&(at / page.width))
    };
    let border: Vec<_> = piece.pixels.iter().copied().filter(|at| !inner(at)).collect();
    // A digit that fills the page touches its border here and there.
    let (long, border) = (border.len() > piece.longer(), Piece::of(page, border).alone(page));
    let reach = (STROKE * piece.longer() as f32 / 2.0) as usize;
    let filled = |level: &f32| *level > 0.5;
    if long || connected(&border, 0.5).len() > 8 {
        Some("its ink runs into the page's border".to_owned())
    } else if piece.is_flat() {
        Some(format!("its ink is {} pixels, far wider than a digit", piece.size()))
    } else if windows(&piece.alone(page), reach, f32::min).levels.iter().any(filled) {
        Some(format!("its ink is a block of {} pixels, and no stroke of a pen", piece.size()))
    } else {
        (!is_even(page, piece))
            .then(|| "its ink has two shades, as if a shadow lay on it".to_owned())
    }
}

/// Clears everything but this piece and its soft edges.
fn keep(ink: &mut Grey, piece: Piece) {
    let mut kept = piece.pixels;
    let mut stays = vec![false; ink.levels.len()];
    for at in &kept {
        stays[*at] = true;
    }
    // The edge is as soft as one pixel of the result.
    for _ in 0..piece.columns.len().max(piece.rows.len()).div_ceil(20) {
        let edge = kept.iter().flat_map(|at| around(ink, *at)).collect::<Vec<_>>();
        kept = edge.into_iter().filter(|at| ink.levels[*at] > FAINT).collect();
        kept.retain(|at| !std::mem::replace(&mut stays[*at], true));
    }
    for (level, stays) in ink.levels.iter_mut().zip(&stays) {
        *level = level.min(f32::from(u8::from(*stays)));
    }
}
