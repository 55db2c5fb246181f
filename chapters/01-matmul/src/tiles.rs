//! The tile instructions of AMX, as a trait. [`Hardware`] are the instructions themselves, by inline assembly;
//! [`Model`] does in plain Rust what Intel's manual says that they do, so that packing, edges and sums are tested on
//! any machine.

#[cfg(target_arch = "x86_64")]
mod hardware;
mod model;

#[cfg(target_arch = "x86_64")]
pub use hardware::{Hardware, available};
pub use model::Model;
#[cfg(not(target_arch = "x86_64"))]
pub use model::{Model as Hardware, available};

/// Rows of a tile, and 32-bit words in a row.
pub(crate) const SIDE: usize = 16;
/// 32-bit words in a tile.
pub(crate) const WORDS: usize = SIDE * SIDE;

/// The tile instructions. Tiles 0 to 3 hold f32, 4 to 7 hold bf16.
///
/// # Safety
/// An implementation does what the instructions do: 16 rows of 64 bytes each, `stride` bytes apart.
pub unsafe trait Tiles {
    /// Configures the tiles of the calling thread: 16 rows of 64 bytes each.
    ///
    /// # Panics
    /// When this machine does not have them.
    fn start() -> Self;

    /// Makes tile `T` zero (`tilezero`).
    fn zero<const T: usize>(&mut self);

    /// Reads tile `T` (`tileloadd`).
    ///
    /// # Safety
    /// 16 rows of 64 bytes can be read, `stride` bytes apart.
    unsafe fn load<const T: usize>(&mut self, from: *const u32, stride: usize);

    /// Writes tile `T` (`tilestored`).
    ///
    /// # Safety
    /// 16 rows of 64 bytes can be written, `stride` bytes apart.
    unsafe fn store<const T: usize>(&self, to: *mut u32, stride: usize);

    /// Tile `C` += tile `A` · tile `B` (`tdpbf16ps`). A word of A holds two terms of a row, a word of B the same two
    /// terms of a column.
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self);

    /// Asks for the 128 bytes that will be needed next, wherever they lie.
    fn prefetch(&self, _at: *const f32) {}
}
