//! What no type can know is checked once, where values come in.

/// Rows of N numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<const N: usize>(Vec<[f32; N]>);

/// Labels, each of them below CLASSES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels<const CLASSES: usize>(Vec<u8>);

/// Why values are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The last row is not full.
    Incomplete,
    /// The pixel at this position is not from 0 to 1.
    Pixel(usize),
    /// The label at this position names no class.
    Label(usize),
    /// The number of rows and the number of labels, which differ.
    Lengths(usize, usize),
}

impl<const N: usize> Rows<N> {
    /// Images of N pixels each, from 0 (paper) to 1 (ink).
    ///
    /// # Errors
    /// If the last image is incomplete, or a pixel is no such number.
    pub fn images(pixels: &[f32]) -> Result<Self, Refused> {
        // EXERCISE: begin
        let (rows, rest) = pixels.as_chunks();
        if !rest.is_empty() {
            return Err(Refused::Incomplete);
        }
        match pixels.iter().position(|pixel| !(0.0..=1.0).contains(pixel)) {
            Some(at) => Err(Refused::Pixel(at)),
            None => Ok(Self(rows.to_vec())),
        }
        // EXERCISE: instead
        // match pixels.iter().position(|pixel| *pixel > 255.0) {
        //     Some(at) => Err(Refused::Pixel(at)),
        //     None => Ok(Self(pixels.as_chunks().0.to_vec())),
        // }
        // EXERCISE: end
    }

    /// Scores, which may be any numbers.
    pub fn scores(rows: Vec<[f32; N]>) -> Self {
        Self(rows)
    }

    /// The rows.
    pub fn rows(&self) -> &[[f32; N]] {
        &self.0
    }
}

impl<const CLASSES: usize> Labels<CLASSES> {
    /// Labels from a file.
    ///
    /// # Errors
    /// If one of them names no class.
    pub fn new(labels: Vec<u8>) -> Result<Self, Refused> {
        // EXERCISE: begin
        match labels.iter().position(|label| usize::from(*label) >= CLASSES) {
            Some(at) => Err(Refused::Label(at)),
            None => Ok(Self(labels)),
        }
        // EXERCISE: instead
        // match labels.iter().position(|label| usize::from(*label) > CLASSES) {
        //     Some(at) => Err(Refused::Label(at)),
        //     None => Ok(Self(labels)),
        // }
        // EXERCISE: end
    }
}

/// How many rows have their highest score at their label. That there is a score for each class is in the
/// types.
///
/// # Errors
/// If there is not one label for each row.
pub fn hits<const CLASSES: usize>(
    scores: &Rows<CLASSES>,
    labels: &Labels<CLASSES>,
) -> Result<usize, Refused> {
    // EXERCISE: begin
    if scores.0.len() != labels.0.len() {
        return Err(Refused::Lengths(scores.0.len(), labels.0.len()));
    }
    // EXERCISE: instead
    // if scores.0.len() < labels.0.len() {
    //     return Err(Refused::Lengths(scores.0.len(), labels.0.len()));
    // }
    // EXERCISE: end
    let right = |(row, label): &(&[f32; CLASSES], &u8)| {
        row.iter().all(|score| *score <= row[usize::from(**label)])
    };
    Ok(scores.0.iter().zip(&labels.0).filter(right).count())
}
