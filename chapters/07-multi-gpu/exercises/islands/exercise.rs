//! An all-reduce over islands of ranks: fast links inside an island, slow ones between islands.

use multi_gpu::{Communicator, Rank, Result};

/// Every rank gets the sum over all ranks. Ranks 0 to `island` − 1 are one island, the next `island` ranks another one,
/// and so on; the last island may have fewer.
#[allow(unused_variables, reason = "the stub knows no islands")]
pub fn all_reduce(comm: &mut dyn Communicator, island: usize, data: &mut [f32]) -> Result<()> {
    // EXERCISE: begin
    // Everything to rank 0 and back.
    if comm.rank() == Rank(0) {
        let mut got = vec![0.0; data.len()];
        for from in 1..comm.size() {
            comm.receive(Rank(from), &mut got)?;
            data.iter_mut().zip(&got).for_each(|(sum, new)| *sum += new);
        }
        (1..comm.size()).try_for_each(|to| comm.send(Rank(to), data))
    } else {
        comm.send(Rank(0), data)?;
        comm.receive(Rank(0), data)
    }
    // EXERCISE: end
}
