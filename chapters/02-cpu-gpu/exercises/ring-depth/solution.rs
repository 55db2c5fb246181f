//! A ring that keeps the tensor cores busy.

/// A tile of C, and how many steps along k a slot of the ring holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows of C.
    pub rows: usize,
    /// Columns of C.
    pub cols: usize,
    /// Steps along k.
    pub depth: usize,
}

/// A multiprocessor, as far as the queue is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Multiprocessor {
    /// Operations of its tensor cores in a cycle.
    pub operations: usize,
    /// Cycles from the request for a slot's data until all of them have arrived.
    pub latency: usize,
    /// Bytes of shared memory.
    pub shared: usize,
    /// Sums that its registers have room for.
    pub sums: usize,
}

impl Tile {
    /// Cycles that a slot's data are multiplied for.
    pub fn cycles(self, on: Multiprocessor) -> usize {
        (2 * self.rows * self.cols * self.depth).div_ceil(on.operations)
    }

    /// Bytes of a slot: its part of A and of B, in bf16.
    pub fn bytes(self) -> usize {
        2 * (self.rows + self.cols) * self.depth
    }
}

/// The fewest slots with which the multiplication never waits, once the first data are there.
pub fn slots(tile: Tile, on: Multiprocessor) -> usize {
    // EXERCISE: begin
    1 + on.latency.div_ceil(tile.cycles(on))
    // EXERCISE: instead
    // let _ = (tile, on);
    // 2 // one is filled, one is used
    // EXERCISE: end
}

/// Of these tiles the one that fetches the fewest bytes for each operation, if its sums fit into the
/// registers and its ring into shared memory.
pub fn best(tiles: &[Tile], on: Multiprocessor) -> Option<Tile> {
    // EXERCISE: begin
    let fits = |tile: &Tile| {
        tile.rows * tile.cols <= on.sums && slots(*tile, on) * tile.bytes() <= on.shared
    };
    let fetched =
        |tile: &Tile| tile.bytes() as f64 / (2 * tile.rows * tile.cols * tile.depth) as f64;
    let fitting = tiles.iter().copied().filter(fits);
    fitting.min_by(|a, b| fetched(a).total_cmp(&fetched(b)))
    // EXERCISE: instead
    // let _ = (on.shared, on.sums);
    // tiles.iter().copied().max_by_key(|tile| tile.rows * tile.cols)
    // EXERCISE: end
}
