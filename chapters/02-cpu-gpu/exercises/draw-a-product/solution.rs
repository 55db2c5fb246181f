//! A product that is drawn.

use std::cell::Cell;

/// Texels that a pixel may be computed from in one pass.
pub const READS: usize = 8;

/// A square of numbers from 0 to 1, each in 8 bits: a texture, or the screen.
#[derive(Clone, Debug)]
pub struct Image {
    side: usize,
    levels: Vec<u8>,
    passes: usize,
}

/// What a pass reads: two textures, and only so many texels of them for each pixel.
pub struct Textures<'a> {
    images: [&'a Image; 2],
    left: Cell<usize>,
}

impl Textures<'_> {
    fn texel(&self, image: usize, row: usize, col: usize) -> f32 {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or_else(|| panic!("a pixel reads more than {READS} texels")));
        self.images[image].number(row, col)
    }

    /// A texel of the first texture.
    pub fn a(&self, row: usize, col: usize) -> f32 {
        self.texel(0, row, col)
    }

    /// A texel of the second one.
    pub fn b(&self, row: usize, col: usize) -> f32 {
        self.texel(1, row, col)
    }
}

impl Image {
    /// An image of these numbers, each rounded to one of the 256 levels.
    pub fn new(side: usize, number: impl Fn(usize, usize) -> f32) -> Self {
        let levels = (0..side * side).map(|at| level(number(at / side, at % side))).collect();
        Self { side, levels, passes: 0 }
    }

    /// The number of a pixel.
    pub fn number(&self, row: usize, col: usize) -> f32 {
        f32::from(self.levels[row * self.side + col]) / 255.0
    }

    /// The passes that were drawn on it.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// One pass: adds `pixel(textures, row, col)`, rounded to one of the 256 levels, to each pixel. A sum above 1 is 1.
    pub fn draw(&mut self, a: &Self, b: &Self, pixel: impl Fn(&Textures, usize, usize) -> f32) {
        self.passes += 1;
        for (at, to) in self.levels.iter_mut().enumerate() {
            let textures = Textures { images: [a, b], left: Cell::new(READS) };
            let number = pixel(&textures, at / self.side, at % self.side);
            *to = to.saturating_add(level(number));
        }
    }
}

/// The nearest of the 256 levels.
fn level(number: f32) -> u8 {
    (255.0 * number).round() as u8
}

/// The product of two images, divided by their side: each pixel is the mean of its products.
pub fn multiply(a: &Image, b: &Image) -> Image {
    let n = a.side;
    let mut screen = Image::new(n, |_, _| 0.0);
    // EXERCISE: begin
    for start in (0..n).step_by(READS / 2) {
        let terms = start..n.min(start + READS / 2);
        screen.draw(a, b, |textures, i, j| {
            let term = |p: usize| textures.a(i, p) * textures.b(p, j);
            terms.clone().map(term).sum::<f32>() / n as f32
        });
    }
    // EXERCISE: instead
    // for p in 0..n {
    //     screen.draw(a, b, |textures, i, j| textures.a(i, p) * textures.b(p, j));
    // }
    // EXERCISE: end
    screen
}
