//! What the ranks tell each other in a step.

use multi_gpu::{Communicator, Result};

/// A step of a rank's part of the batch, or of the whole batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Images.
    pub images: usize,
    /// Their mean loss; anything where there are no images.
    pub loss: f32,
    /// Whether to stop after this step.
    pub stop: bool,
}

/// Takes the mean gradient of this rank's images (anything if it has none) and leaves that of the batch, of which at
/// least one rank has images. Returns the report of the batch: to stop if one rank wants to.
///
/// # Errors
/// Those of the one all-reduce.
pub fn average(comm: &mut dyn Communicator, gradient: &mut [f32], mine: Report) -> Result<Report> {
    // EXERCISE: begin
    let means = gradient.iter().chain([&mine.loss]);
    let sum = |mean: &f32| if mine.images == 0 { 0.0 } else { mine.images as f32 * mean };
    let mut message: Vec<f32> = means.map(sum).collect();
    message.extend([mine.images as f32, f32::from(mine.stop)]);
    comm.all_reduce(&mut message)?;
    let (sums, told) = message.split_at(gradient.len());
    let (loss, images, stop) = (told[0], told[1], told[2]);
    gradient.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = sum / images);
    Ok(Report { images: images as usize, loss: loss / images, stop: stop > 0.0 })
    // EXERCISE: instead
    // comm.all_reduce(gradient)?;
    // let ranks = comm.size() as f32;
    // for g in gradient {
    //     *g /= ranks;
    // }
    // Ok(mine)
    // EXERCISE: end
}
