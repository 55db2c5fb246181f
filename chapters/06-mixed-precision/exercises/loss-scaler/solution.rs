//! The dynamic loss scale.

/// The factor before the loss, and what it remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The factor, a power of two.
    pub factor: f32,
    /// Good steps since it last changed.
    pub good: u32,
}

/// The ends of the range that the factor must not leave.
pub const RANGE: [f32; 2] = [5.960_464_5e-8, 1.267_650_6e30];

impl Scale {
    /// Takes note of a step with these gradients. Returns whether the weights may move. The factor
    /// doubles after `every` (1 or more) good steps in a row, and halves after a bad one.
    pub fn step(&mut self, gradients: &[f32], every: u32) -> bool {
        // EXERCISE: begin
        let finite = gradients.iter().all(|g| g.is_finite());
        let wanted = if !finite {
            self.factor / 2.0
        } else if self.good + 1 >= every {
            self.factor * 2.0
        } else {
            self.good += 1;
            return true;
        };
        self.good = 0;
        if (RANGE[0]..=RANGE[1]).contains(&wanted) {
            self.factor = wanted;
        }
        finite
        // EXERCISE: instead
        // let _ = (gradients, every, RANGE); // a factor that never changes, and weights that always move
        // true
        // EXERCISE: end
    }
}
