//! Drawn digits: images of digits made by this crate, where there is neither MNIST nor a network.
//!
//! A digit is one or more pen strokes, each a smooth curve through a few points. Every image moves the
//! points a little, bends and slants the whole, and draws it with a pen of its own width. The result is
//! then framed as MNIST's images are: the longer side is 20 pixels, and the centre of mass is the
//! centre of 28×28 (`LeCun` et al., *Gradient-based learning applied to document recognition*, 1998,
//! section III.A).
//!
//! The numbers below (how much hands differ) were chosen on the first 10,000 images of MNIST's training set;
//! its test set played no part.
//!
//! Only additions, products, quotients and square roots are used, which IEEE 754 rounds in one way, so a
//! seed gives the same bytes on every machine and with any number of threads.

use super::{
    set::{DataSet, Source, Split},
    strokes,
};
use crate::random::{self, SplitMix64};
use rayon::prelude::*;

/// Side of an image in pixels.
pub const SIDE: usize = 28;
/// Pixels of an image.
const PIXELS: usize = SIDE * SIDE;
/// The longer side of the digit itself, in pixels.
const BOX: f32 = 20.0;

/// Drawn digits: `train` and `test` images of 28×28, the same for the same seed.
pub fn drawn(train: usize, test: usize, seed: u64) -> DataSet {
    DataSet {
        train: split(train, Random::new(seed, 0).next()),
        test: split(test, Random::new(seed, 1).next()),
        source: Source::Drawn,
        note: None,
    }
}

/// `count` images, each from a generator of its own, so that threads can't change the result.
fn split(count: usize, seed: u64) -> Split {
    let mut images = vec![0; count * PIXELS];
    let mut labels = vec![0; count];
    images.par_chunks_exact_mut(PIXELS).zip(&mut labels).enumerate().with_min_len(64).for_each(
        |(index, (image, label))| {
            let mut random = Random::new(seed, index as u64);
            *label = random.0.below(10) as u8;
            draw(*label, &mut random, image);
        },
    );
    Split { images, labels, rows: SIDE, cols: SIDE }
}

/// Draws one image of `digit` into `image`, which is all zeros.
fn draw(digit: u8, random: &mut Random, image: &mut [u8]) {
    let mut strokes = write(digit, random);
    // MNIST's pens: most lines are 2 to 4 pixels wide.
    let radius = (1.22 + 0.42 * random.normal()).clamp(0.65, 2.5);
    frame(&mut strokes, radius, random);
    ink(&strokes, radius, random, image);
}

type Strokes = Vec<Vec<(f32, f32)>>;

/// The strokes of one handwritten `digit`, as fine polylines.
fn write(digit: u8, random: &mut Random) -> Strokes {
    let variants = strokes::DIGITS[usize::from(digit) % 10];
    let mut pick = random.uniform() * variants.iter().map(|v| v.weight).sum::<f32>();
    let variant = variants
        .iter()
        .find(|v| {
            pick -= v.weight;
            pick <= 0.0
        })
        .unwrap_or(&variants[0]);
    let hand = Hand::new(digit, variant.width, random);
    variant
        .strokes
        .iter()
        .map(|points| {
            let mut moved: Vec<(f32, f32)> = Vec::with_capacity(points.len());
            for (i, point) in points.iter().enumerate() {
                if i > 0 && points[i - 1] == *point {
                    moved.push(moved[i - 1]); // a corner stays one
                    continue;
                }
                let (dx, dy) = (hand.tremble * random.normal(), hand.tremble * random.normal());
                moved.push((point.0 + dx / variant.width.max(0.3), point.1 + dy));
            }
            let mut line = smooth(&moved);
            for _ in 0..2 {
                line.reverse();
                let cut = hand.haste * random.uniform() * random.uniform();
                let keep = line.len() - (cut * line.len() as f32) as usize;
                line.truncate(keep.max(2));
            }
            line.into_iter().map(|point| hand.bend(point)).collect()
        })
        .collect()
}

/// What one writer does to a digit: the same for all of its strokes.
struct Hand {
    /// How far points are from where they should be.
    tremble: f32,
    /// The largest part of a stroke that is missing at either end.
    haste: f32,
    width: f32,
    slant: f32,
    turn: (f32, f32),
    /// Coefficients of the elastic bend of x and y.
    elastic: [[f32; 7]; 2],
}

impl Hand {
    fn new(digit: u8, width: f32, random: &mut Random) -> Self {
        // A plain one has no width to be slanted by, and people lean it the most.
        let lean = if digit == 1 { (0.22, 0.28) } else { (0.2, 0.3) };
        // cos and sin of a small angle a, from t = tan(a / 2).
        let t = 0.06 * random.normal();
        let turn = ((1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t));
        let mut elastic = [[0.0; 7]; 2];
        for coefficient in elastic.iter_mut().flatten() {
            *coefficient = 0.13 * random.normal();
        }
        Self {
            tremble: 0.06,
            // A 0 or 8 that is left open would look like another digit.
            haste: if digit == 0 || digit == 8 { 0.02 } else { 0.15 },
            width: width * (1.0 + 0.18 * random.normal()).clamp(0.5, 1.6),
            slant: lean.0 + lean.1 * random.normal(),
            turn,
            elastic,
        }
    }

    /// Where a point of the 1×1 box ends up.
    fn bend(&self, (x, y): (f32, f32)) -> (f32, f32) {
        let (u, v) = (2.0 * x - 1.0, 2.0 * y - 1.0);
        let terms = [u * u, u * v, v * v, u * u * v, u * v * v, v * v * v, u * u * u];
        let shift = |c: &[f32; 7]| c.iter().zip(&terms).map(|(c, t)| c * t).sum::<f32>();
        let (u, v) = (self.width * u + shift(&self.elastic[0]), v + shift(&self.elastic[1]));
        let u = u - self.slant * v;
        (self.turn.0 * u - self.turn.1 * v, self.turn.1 * u + self.turn.0 * v)
    }
}

/// The Catmull–Rom curve through the points, as a polyline with eight pieces between two points.
fn smooth(points: &[(f32, f32)]) -> Vec<(f32, f32)> {
    const PIECES: usize = 8;
    let at = |i: isize| points[i.clamp(0, points.len() as isize - 1) as usize];
    let mut line = Vec::with_capacity(points.len() * PIECES + 1);
    for i in 0..points.len().saturating_sub(1) as isize {
        let (p0, p1, p2, p3) = (at(i - 1), at(i), at(i + 1), at(i + 2));
        if p1 == p2 {
            continue;
        }
        for piece in 0..PIECES {
            let t = piece as f32 / PIECES as f32;
            let curve = |a: f32, b: f32, c: f32, d: f32| {
                0.5 * (2.0 * b
                    + t * (c - a
                        + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a))))
            };
            line.push((curve(p0.0, p1.0, p2.0, p3.0), curve(p0.1, p1.1, p2.1, p3.1)));
        }
    }
    line.extend(points.last());
    line
}

/// Scales the strokes, pen included, into the box of 20×20 pixels, and puts their centre of mass at
/// the middle of the image.
fn frame(strokes: &mut Strokes, radius: f32, random: &mut Random) {
    let all = || strokes.iter().flatten();
    let bound = |least: bool, of: fn(&(f32, f32)) -> f32| {
        let sign = if least { -1.0 } else { 1.0 };
        sign * all().map(|p| sign * of(p)).fold(f32::NEG_INFINITY, f32::max)
    };
    let (left, right) = (bound(true, |p| p.0), bound(false, |p| p.0));
    let (top, bottom) = (bound(true, |p| p.1), bound(false, |p| p.1));
    let scale = (BOX - 2.0 * radius) / (right - left).max(bottom - top).max(1e-3);
    let (mut mass, mut sum) = (1e-6, (0.0, 0.0));
    for line in strokes.iter() {
        for ends in line.windows(2) {
            let (a, b) = (ends[0], ends[1]);
            let length = ((b.0 - a.0) * (b.0 - a.0) + (b.1 - a.1) * (b.1 - a.1)).sqrt();
            mass += length;
            sum.0 += length * 0.5 * (a.0 + b.0);
            sum.1 += length * 0.5 * (a.1 + b.1);
        }
    }
    // MNIST moves its images by whole pixels, so the centre is off by up to half of one.
    let middle = SIDE as f32 / 2.0;
    let (x, y) = (middle + random.uniform() - 0.5, middle + random.uniform() - 0.5);
    for point in strokes.iter_mut().flatten() {
        point.0 = x + scale * (point.0 - sum.0 / mass);
        point.1 = y + scale * (point.1 - sum.1 / mass);
    }
}

/// Covers the pixels within `radius` of a stroke, with a soft edge.
fn ink(strokes: &Strokes, radius: f32, random: &mut Random, image: &mut [u8]) {
    let edge = 0.75 + 0.35 * random.uniform();
    let reach = radius + edge;
    let mut cover = [0.0f32; PIXELS];
    for line in strokes {
        for ends in line.windows(2) {
            let (a, b) = (ends[0], ends[1]);
            let (dx, dy) = (b.0 - a.0, b.1 - a.1);
            let inverse = 1.0 / (dx * dx + dy * dy).max(1e-9);
            let pixels = |low: f32, high: f32| {
                let from = (low.min(high) - reach).max(0.0) as usize;
                from..((low.max(high) + reach + 1.0).max(0.0) as usize).min(SIDE)
            };
            for row in pixels(a.1, b.1) {
                for col in pixels(a.0, b.0) {
                    let (px, py) = (col as f32 + 0.5 - a.0, row as f32 + 0.5 - a.1);
                    let along = ((px * dx + py * dy) * inverse).clamp(0.0, 1.0);
                    let (ex, ey) = (px - along * dx, py - along * dy);
                    let near = (reach - (ex * ex + ey * ey).sqrt()) / (2.0 * edge);
                    let pixel = &mut cover[row * SIDE + col];
                    *pixel = pixel.max(near);
                }
            }
        }
    }
    let pressure = 0.95 + 0.2 * random.uniform();
    for (pixel, cover) in image.iter_mut().zip(&cover) {
        let t = cover.clamp(0.0, 1.0);
        if t > 0.0 {
            let grain = 1.0 + 0.04 * random.normal();
            *pixel = (255.0 * pressure * grain * t * t * (3.0 - 2.0 * t)).clamp(0.0, 255.0) as u8;
        }
    }
}

/// What a writer draws from: one of the independent rows of a seed.
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64, stream: u64) -> Self {
        let start = random::at(seed ^ 0x5851_f42d_4c95_7f2d, 0);
        let start = start ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        Self(SplitMix64::new(random::at(start, 0)))
    }

    fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// From 0 to 1, 1 excluded.
    fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Mean 0, variance 1, from four uniform numbers: no logarithm, which differs between machines.
    fn normal(&mut self) -> f32 {
        let word = self.next();
        let sum: u64 = (0..4).map(|i| (word >> (16 * i)) & 0xffff).sum();
        (sum as f32 / 65536.0 - 2.0) * 1.732_050_8
    }
}
