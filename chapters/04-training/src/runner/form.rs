//! What the images look like that a model learned from. It travels with the model, so that a page is made into one of them.

use crate::{
    models::model::{CLASSES, PIXELS},
    runner::grey::{FAINT, Grey, averaged, median},
};
use lab::data::{self, Source, Split};
use serde::{Deserialize, Serialize};

/// The side of an image that the models read, in pixels.
pub const SIDE: usize = 28;
/// Of an image that has less of it there is nothing to see.
const CONTRAST: f32 = 0.15;
/// As many images show how a set looks.
const ENOUGH: usize = 2000;
/// Fewer than these do not tell digits from other things.
const FEW: usize = 200;
/// How alike the mean digits of two sets of digits are at least; 1 for the same.
const ALIKE: f64 = 0.3;

/// How training images look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Where they came from, in words.
    pub source: String,
    /// Rows of an image.
    pub rows: usize,
    /// Columns of an image.
    pub cols: usize,
    /// The level of the paper, from 0 (black) to 1.
    pub paper: f32,
    /// The level of full ink.
    pub ink: f32,
    /// The longer side of the digit, in pixels.
    pub side: usize,
    /// Column and row of its centre of mass, in pixels from the corner.
    pub centre: [f32; 2],
    /// How an upright digit is turned to lie as theirs do, see [`Grey::turned`]; `None` if they are no digits.
    pub turn: Option<u8>,
}

/// MNIST's images. A model that says nothing of its images learned from them, as far as is known.
impl Default for Form {
    fn default() -> Self {
        Self {
            source: "MNIST".to_owned(),
            rows: SIDE,
            cols: SIDE,
            paper: 0.0,
            ink: 1.0,
            side: 20,
            centre: [14.5; 2],
            turn: Some(0),
        }
    }
}

impl Form {
    /// How the images of a training set look.
    pub fn of(train: &Split, source: &Source) -> Self {
        let mut form = Self { rows: train.rows, cols: train.cols, ..Self::default() };
        // Not the whole path: the book publishes this.
        form.source = match source {
            Source::Mnist(_) => form.source,
            Source::Files(folder) => {
                let name = folder.file_name().unwrap_or_default();
                format!("files from {}", name.to_string_lossy())
            }
            Source::Fashion(_) => "Fashion-MNIST".to_owned(),
            Source::Drawn => source.to_string(),
        };
        let every = train.len().div_ceil(ENOUGH).max(1);
        let images = (0..train.len()).step_by(every);
        let labelled: Vec<_> =
            images.map(|i| (grey(train, i), usize::from(train.labels[i]))).collect();
        form.paper = median(labelled.iter().flat_map(|(image, _)| image.border()).collect());
        let levels = || labelled.iter().flat_map(|(image, _)| &image.levels);
        let mean = levels().sum::<f32>() / levels().count().max(1) as f32;
        form.ink = if mean > form.paper { 1.0 } else { 0.0 };
        let inks: Vec<_> =
            labelled.iter().filter_map(|(i, label)| Some((form.ink_of(i)?, *label))).collect();
        if inks.is_empty() {
            return Self { turn: None, ..form };
        }
        let strongest = |image: &Grey| {
            let far = |level: f32| if form.ink > form.paper { level } else { 1.0 - level };
            image.levels.iter().map(|level| far(*level)).fold(0.0, f32::max)
        };
        let full = median(labelled.iter().map(|(image, _)| strongest(image)).collect());
        form.ink = if form.ink > form.paper { full } else { 1.0 - full };
        let longer = |ink: &Grey| ink.inked().0.len().max(ink.inked().1.len());
        form.side = median(inks.iter().map(|(ink, _)| longer(ink) as f32).collect()) as usize;
        form.centre = [0, 1].map(|axis| {
            let middle = median(inks.iter().map(|(ink, _)| ink.centre()[axis]).collect());
            (2.0 * middle).round() / 2.0
        });
        form.turn = form.turn_of(&inks);
        form
    }

    /// How much ink there is in each pixel of a training image, from 0 to 1; `None` if there is nothing to see.
    fn ink_of(&self, image: &Grey) -> Option<Grey> {
        let sign = if self.ink > self.paper { 1.0 } else { -1.0 };
        let paper = median(image.border().collect());
        // Four times the median distance from the median holds noise that is spread evenly, or normally nearly always.
        let noise = 4.0 * median(image.border().map(|level| (level - paper).abs()).collect());
        let over = |level: f32| sign * (level - paper) - noise;
        let full = image.levels.iter().map(|level| over(*level)).fold(0.0, f32::max);
        let levels = image.levels.iter().map(|level| (over(*level) / full).max(0.0)).collect();
        (full > CONTRAST).then_some(Grey { levels, ..*image })
    }

    /// How the mean image of each class is turned against that of drawn digits, if they are alike in any way.
    fn turn_of(&self, inks: &[(Grey, usize)]) -> Option<u8> {
        let drawn = data::drawn(1000, 0, 0).train;
        let upright = Self::default();
        let known: Vec<_> = (0..drawn.len())
            .map(|i| (grey(&drawn, i), usize::from(drawn.labels[i])))
            .filter(|(_, class)| inks.iter().any(|(_, label)| label == class))
            .collect();
        let (theirs, drawn) = (self.means(inks), upright.means(&known));
        let theirs: Vec<f32> = theirs.into_iter().flat_map(|mean| mean.levels).collect();
        let alike = [0, 1, 2, 3, 4, 5, 6, 7].map(|turn| {
            let turned = drawn.iter().map(|mean| mean.turned(turn).levels);
            (turn, correlation(&theirs, &turned.flatten().collect::<Vec<_>>()))
        });
        let best = alike.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let upright = (inks.len() < FEW).then_some(0);
        if best.1 >= ALIKE { Some(best.0) } else { upright }
    }

    /// The mean of each class within the digits' box, as 20×20 pixels, less the mean of them all.
    fn means(&self, inks: &[(Grey, usize)]) -> Vec<Grey> {
        const BOX: usize = 20;
        let range = |centre: f32, most: usize| {
            let from = (centre - self.side as f32 / 2.0).round().max(0.0) as usize;
            let from = from.min(most.saturating_sub(self.side));
            from..(from + self.side).min(most)
        };
        let (columns, rows) = (range(self.centre[0], self.cols), range(self.centre[1], self.rows));
        let mean = |class: usize| {
            let (mut sums, mut count) = (vec![0.0; BOX * BOX], 0.0);
            for (ink, _) in inks.iter().filter(|(_, label)| *label == class) {
                let small = averaged(ink, (columns.clone(), rows.clone()), (BOX, BOX));
                for (sum, level) in sums.iter_mut().zip(small) {
                    *sum += level;
                }
                count += 1.0;
            }
            (count > 0.0).then(|| sums.iter().map(|sum| sum / count).collect::<Vec<f32>>())
        };
        let mut means: Vec<_> = (0..CLASSES).filter_map(mean).collect();
        let of_all = |at: usize| means.iter().map(|mean| mean[at]).sum::<f32>();
        let all: Vec<f32> = (0..BOX * BOX).map(|at| of_all(at) / means.len() as f32).collect();
        for mean in &mut means {
            for (level, all) in mean.iter_mut().zip(&all) {
                *level -= all;
            }
        }
        means.into_iter().map(|levels| Grey { width: BOX, height: BOX, levels }).collect()
    }

    /// Whether it can be true.
    pub fn is_sound(&self) -> bool {
        let inside = |level: &f32| (0.0..=1.0).contains(level);
        (self.rows, self.cols) == (SIDE, SIDE)
            && inside(&self.paper)
            && inside(&self.ink)
            && (1..=SIDE).contains(&self.side)
            && self.centre.iter().all(|at| (0.0..=SIDE as f32).contains(at))
            && self.turn.is_none_or(|turn| turn < 8)
    }

    /// Whether an image is one of these already, by its levels and by where its ink is.
    pub fn has(&self, image: &Grey) -> bool {
        let near = |one: f32, two: f32, most: f32| (one - two).abs() <= most;
        let lies = |ink: Grey| {
            let (columns, rows) = ink.inked();
            let centre = ink.centre();
            near(columns.len().max(rows.len()) as f32, self.side as f32, 1.0)
                && (0..2).all(|axis| near(centre[axis], self.centre[axis], 1.0))
        };
        (image.height, image.width) == (self.rows, self.cols)
            && self.turn == Some(0)
            && near(median(image.border().collect()), self.paper, 0.1)
            && self.ink_of(image).is_some_and(lies)
    }

    /// Ink of an upright digit as these images have it: turned, scaled, its centre of mass put where theirs is, and with
    /// their levels. `None` if there is no ink.
    pub fn frame(&self, ink: &Grey) -> Option<Vec<f32>> {
        let ink = ink.turned(self.turn.unwrap_or(0));
        let (columns, rows) = ink.inked();
        let longer = columns.len().max(rows.len());
        if longer == 0 {
            return None;
        }
        let scaled =
            |side: usize| ((side * self.side) as f32 / longer as f32).round().max(1.0) as usize;
        let (width, height) = (scaled(columns.len()), scaled(rows.len()));
        let small = averaged(&ink, (columns, rows), (width, height));
        // A thin pen leaves grey when it is scaled down; the strokes of training images are of full ink.
        let strongest = small.iter().copied().fold(FAINT, f32::max);
        let small = Grey { width, height, levels: small };
        let centre = small.centre();
        let start = |axis: usize, side: usize| {
            (self.centre[axis] - centre[axis]).round().clamp(0.0, (SIDE - side) as f32) as usize
        };
        let (left, top) = (start(0, width), start(1, height));
        let mut image = vec![self.paper; PIXELS];
        for (y, row) in small.levels.chunks_exact(width).enumerate() {
            for (x, level) in row.iter().enumerate() {
                image[(top + y) * SIDE + left + x] += level / strongest * (self.ink - self.paper);
            }
        }
        Some(image)
    }
}

/// Image `i` of a split.
fn grey(split: &Split, i: usize) -> Grey {
    let levels = split.image(i).iter().map(|byte| f32::from(*byte) / 255.0).collect();
    Grey { width: split.cols, height: split.rows, levels }
}

/// The cosine of the angle between two vectors; 0 if one of them is all zeros.
fn correlation(one: &[f32], two: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    product(one, two) / (product(one, one) * product(two, two)).sqrt().max(f64::MIN_POSITIVE)
}
