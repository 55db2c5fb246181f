//! Batches of images with their labels.

/// The batches of one epoch.
pub struct Loader<'a> {
    /// All images, one after the other.
    pub images: &'a [f32],
    /// Their labels.
    pub labels: &'a [u8],
    /// Values of an image.
    pub pixels: usize,
    /// The images' numbers in the order of this epoch.
    pub order: &'a [usize],
    /// Images of a batch.
    pub batch: usize,
    /// Whether a last batch that is shorter is left out.
    pub drop_last: bool,
    /// How many images of the order are done.
    pub at: usize,
}

impl Iterator for Loader<'_> {
    /// The images of a batch, one after the other, and their labels.
    type Item = (Vec<f32>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        // EXERCISE: begin
        let numbers = self.order[self.at..].chunks(self.batch).next()?;
        if self.drop_last && numbers.len() < self.batch {
            return None;
        }
        self.at += numbers.len();
        let image = |&i: &usize| &self.images[i * self.pixels..][..self.pixels];
        let images = numbers.iter().flat_map(image).copied().collect();
        Some((images, numbers.iter().map(|&i| self.labels[i]).collect()))
        // EXERCISE: instead
        // // Shuffles the images, but not the labels, and loses the last batch.
        // let _ = self.drop_last;
        // let numbers = self.order.get(self.at..self.at + self.batch)?;
        // let labels = self.labels[self.at..self.at + self.batch].to_vec();
        // self.at += self.batch;
        // let image = |&i: &usize| &self.images[i * self.pixels..][..self.pixels];
        // Some((numbers.iter().flat_map(image).copied().collect(), labels))
        // EXERCISE: end
    }
}
