//! LU decomposition in blocks of columns. A panel is decomposed by itself; its row swaps reach the other columns; a
//! triangular solve makes the panel's rows of U; and one large product subtracts the panel's part from all that
//! remains. With blocks of b columns the product does all but about 3b/(2n) of the operations.

use super::{
    error::{Result, check_length},
    panel::Panel,
    triangle::{self, Rows},
    unblocked::{check_finite, swap_rows},
};
use matmul::Threads;
use std::time::{Duration, Instant};

/// How the work is cut.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Columns of a panel (0 counts as 1).
    pub block: usize,
    /// How many threads share the products.
    pub threads: Threads,
}

/// Columns of a panel, unless asked otherwise.
pub const BLOCK: usize = 128;

impl Default for Plan {
    fn default() -> Self {
        Self { block: BLOCK, threads: Threads::All }
    }
}

/// Where the time of a decomposition went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Decomposing the panels, with copying them out and back.
    pub panel: Duration,
    /// Exchanging rows.
    pub swaps: Duration,
    /// The triangular solves.
    pub triangle: Duration,
    /// The products with all that remains.
    pub product: Duration,
}

impl Times {
    /// The parts and their names, in the order in which a step takes them.
    pub fn parts(&self) -> [(&'static str, Duration); 4] {
        [
            ("panel", self.panel),
            ("swaps", self.swaps),
            ("triangle", self.triangle),
            ("product", self.product),
        ]
    }

    /// All parts together.
    pub fn total(&self) -> Duration {
        self.parts().iter().map(|part| part.1).sum()
    }
}

/// What a decomposition leaves next to the triangles.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// For each step, the row that was swapped with that step's row.
    pub swaps: Vec<usize>,
    /// Where the time went.
    pub times: Times,
}

/// Turns the m×n matrix into its LU decomposition, in place.
///
/// # Errors
/// [`super::error::LuError::Length`], [`super::error::LuError::Singular`] or [`super::error::LuError::NotFinite`]; after the last two the
/// matrix is half done.
pub fn factor(a: &mut [f32], rows: usize, cols: usize, plan: &Plan) -> Result<Done> {
    check_length(a.len(), rows, cols)?;
    let (steps, block) = (rows.min(cols), plan.block.max(1));
    let (mut done, mut panel) = (Done::default(), Panel::new());
    for first in (0..steps).step_by(block) {
        let width = block.min(steps - first);
        let (panel, times) = (&mut panel, &mut done.times);
        let step = Step { cols, first, width, threads: plan.threads, panel, times };
        let swaps = step.run(&mut a[first * cols..])?;
        done.swaps.extend(swaps.iter().map(|row| first + row));
    }
    check_finite(a, rows, cols)?;
    Ok(done)
}

/// What a step works with.
struct Step<'a> {
    cols: usize,
    /// The panel's first row and column; everything above and left of it is done.
    first: usize,
    width: usize,
    threads: Threads,
    panel: &'a mut Panel,
    times: &'a mut Times,
}

impl Step<'_> {
    /// Does the step on the rows beginning with `first`. Returns its swaps, counted from there.
    // ANCHOR: step
    fn run(self, rows: &mut [f32]) -> Result<Vec<usize>> {
        let Step { cols, first, width, threads, panel, times } = self;
        let mut clock = Clock(Instant::now());
        panel.load(rows, cols, first, width);
        let swaps = panel.factor(first, threads)?;
        clock.add_to(&mut times.panel);
        for (step, &row) in swaps.iter().enumerate() {
            swap_rows(rows, cols, step, row);
        }
        clock.add_to(&mut times.swaps);
        panel.store(rows, cols, first);
        panel.negate();
        clock.add_to(&mut times.panel);
        let mut rest = Rows { values: rows, cols, right: first + width };
        let (mut upper, mut lower) = rest.split(width);
        triangle::solve(panel, &mut upper, threads);
        clock.add_to(&mut times.triangle);
        let minus_l = panel.block(width, 0, lower.count(), width);
        lower.add_product(minus_l, &upper, threads);
        clock.add_to(&mut times.product);
        Ok(swaps)
    }
    // ANCHOR_END: step
}

/// The time since it was last looked at.
struct Clock(Instant);

impl Clock {
    fn add_to(&mut self, part: &mut Duration) {
        let now = Instant::now();
        *part += now - self.0;
        self.0 = now;
    }
}

/// Operations of a decomposition of an n×n matrix: 2/3·n³, without the lower powers of n.
pub fn operations(n: usize) -> f64 {
    2.0 / 3.0 * (n as f64).powi(3)
}

/// The fraction of [`operations`] that the blocked algorithm spends in its trailing product: step s of N = n/b
/// multiplies (n−sb)×b by b×(n−sb), and 2b·Σ(n−sb)² over 2/3·n³ is 1 − 3b/(2n) + b²/(2n²).
pub fn product_share(n: usize, block: usize) -> f64 {
    let part = (block as f64 / n as f64).min(1.0);
    1.0 - 1.5 * part + 0.5 * part * part
}
