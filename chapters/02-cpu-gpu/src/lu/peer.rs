//! The library that does it for a living: `faer`, in Rust, next to the decomposition of this chapter. It keeps its
//! matrices column after column and cuts them by recursion.

use super::error::{Result, check_length};
use faer::{
    MatMut, Par,
    dyn_stack::{MemBuffer, MemStack},
    linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch},
};

/// Decomposes the n×n matrix in place on all threads (or on one). The matrix lies column after column, as
/// faer likes it best. Returns which row of A each row of PA is. A singular matrix is not noticed: its triangles
/// hold zeros, infinities or NaN.
///
/// # Errors
/// [`super::error::LuError::Length`].
pub fn factor(a: &mut [f32], n: usize, all_threads: bool) -> Result<Vec<usize>> {
    check_length(a.len(), n, n)?;
    let par = if all_threads { Par::rayon(0) } else { Par::Seq };
    let (mut forward, mut inverse) = (vec![0_usize; n], vec![0_usize; n]);
    let mut memory =
        MemBuffer::new(lu_in_place_scratch::<usize, f32>(n, n, par, faer::Spec::default()));
    lu_in_place(
        MatMut::from_column_major_slice_mut(a, n, n),
        &mut forward,
        &mut inverse,
        par,
        MemStack::new(&mut memory),
        faer::Spec::default(),
    );
    Ok(forward)
}
