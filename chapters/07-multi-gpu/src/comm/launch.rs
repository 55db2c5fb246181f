//! Whether a launcher has started this process as one of many.

/// How many processes `mpirun` or another MPI launcher has started together with this one; `None` if none has.
/// A program that is built without the feature `mpi` can say so with it.
pub fn processes() -> Option<usize> {
    // Open MPI; MPICH and those made from it.
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}
