//! What the images look like that a model learned from. It travels with the model, so that a page is made into one of them.
//!
//! MNIST's images were made from scans: ink bright on dark, the digit scaled into 20×20 pixels with its aspect kept, then
//! placed in 28×28 so that its centre of mass is the centre of the image (`LeCun` et al., *Gradient-based learning applied
//! to document recognition*, 1998, section III.A). A model that has seen nothing else classifies other images badly.

use crate::{
    models::model::PIXELS,
    runner::grey::{FAINT, Grey, averaged, median},
};
use lab::data::Source;
use serde::{Deserialize, Serialize};

/// The side of an image that the models read, in pixels.
pub const SIDE: usize = 28;
/// The longer side of a digit in it.
pub const BOX: usize = 20;
/// Column and row of the digit's centre of mass, in pixels from the corner.
pub const CENTRE: f32 = 14.5;

/// What a model learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Where the images came from, in words.
    pub source: String,
    /// Whether they are digits framed as MNIST's, so that a page can be made into one.
    pub framed: bool,
}

/// MNIST's images. A model that says nothing of its images learned from them, as far as is known.
impl Default for Form {
    fn default() -> Self {
        Self { source: "MNIST".to_owned(), framed: true }
    }
}

impl Form {
    /// The form of a data set. Of files it is not known what they show.
    pub fn of(source: &Source) -> Self {
        // Not the whole path: the book publishes this.
        match source {
            Source::Mnist(_) => Self::default(),
            Source::Drawn => Self { source: source.to_string(), framed: true },
            Source::Files(folder) => {
                let name = folder.file_name().unwrap_or_default();
                Self { source: format!("files from {}", name.to_string_lossy()), framed: false }
            }
            Source::Fashion(_) => Self { source: "Fashion-MNIST".to_owned(), framed: false },
        }
    }
}

/// Whether a page is framed as MNIST's images already.
pub fn is_framed(page: &Grey) -> bool {
    let near = |one: f32, two: f32| (one - two).abs() <= 1.0;
    let (columns, rows) = page.inked();
    (page.height, page.width) == (SIDE, SIDE)
        && median(page.border().collect()) <= FAINT
        && near(columns.len().max(rows.len()) as f32, BOX as f32)
        && page.centre().iter().all(|at| near(*at, CENTRE))
}

/// Ink as MNIST frames it: the longer side of its box is 20 pixels, and its
/// centre of mass is in the middle of 28×28. `None` if there is no ink.
pub fn frame(ink: &Grey) -> Option<Vec<f32>> {
    let (columns, rows) = ink.inked();
    let longer = columns.len().max(rows.len());
    if longer == 0 {
        return None;
    }
    let scaled = |side: usize| ((side * BOX) as f32 / longer as f32).round().max(1.0) as usize;
    let (width, height) = (scaled(columns.len()), scaled(rows.len()));
    let levels = averaged(ink, (columns, rows), (width, height));
    let strongest = levels.iter().copied().fold(FAINT, f32::max);
    let small = Grey { width, height, levels };
    let start =
        |at: f32, side: usize| (CENTRE - at).round().clamp(0.0, (SIDE - side) as f32) as usize;
    let [x, y] = small.centre();
    let (left, top) = (start(x, width), start(y, height));
    let mut image = vec![0.0; PIXELS];
    for (y, row) in small.levels.chunks_exact(width).enumerate() {
        for (x, level) in row.iter().enumerate() {
            image[(top + y) * SIDE + left + x] = level / strongest;
        }
    }
    Some(image)
}
