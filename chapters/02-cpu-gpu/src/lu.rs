//! LU decomposition with partial pivoting, PA = LU: what solves a system of equations, and what ran on a GPU in
//! 2005 because nearly all of it is one matrix product after another.
//!
//! A is m×n, row after row, in f32. P exchanges rows, L is m×min(m,n) with ones on its diagonal and zeros above, U is
//! min(m,n)×n with zeros below its diagonal. Both fit into A's memory: the ones of L are not stored.
//!
//! The modules in the order of the page:
//!
//! 1. [`unblocked`]: one column after the other, as in a textbook.
//! 2. [`panel`]: the same for a few columns at once, halved and halved again.
//! 3. [`triangle`]: a triangular solve made of products.
//! 4. [`blocked`]: panel, row swaps, triangular solve, product; and the time that each of them takes.
//! 5. [`decomposition`]: L, U and P as a value that solves systems; [`error`]: why there may be none.
//! 6. [`device`]: the matrix stays on a GPU, and the panels travel.
//! 7. `peer`: the library that does it for a living (with the cargo feature `peers`).
//! 8. [`check`]: how far off a decomposition is, and matrices that try it.

pub mod blocked;
pub mod check;
pub mod decomposition;
pub mod device;
pub mod error;
pub mod panel;
#[cfg(feature = "peers")]
pub mod peer;
pub mod triangle;
pub mod unblocked;

pub use blocked::{BLOCK, Plan, Times, operations, product_share};
pub use decomposition::Lu;
pub use error::{LuError, Result};
