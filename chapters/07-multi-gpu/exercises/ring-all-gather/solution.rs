//! The all-gather half of a ring.

use multi_gpu::{Communicator, Rank, Result, communicator::part_of};

/// Every rank gets part r (see [`part_of`]) of rank r's numbers.
pub fn all_gather(comm: &mut dyn Communicator, data: &mut [f32]) -> Result<()> {
    let (len, size, me) = (data.len(), comm.size(), comm.rank().0);
    // EXERCISE: begin
    let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
    for step in 0..size - 1 {
        let part = |back: usize| part_of(len, Rank((me + size - back) % size), size);
        let out = data[part(step)].to_vec();
        comm.exchange(next, &out, before, &mut data[part(step + 1)])?;
    }
    // EXERCISE: instead
    // // Every rank sends its part to every other.
    // for other in (0..size).filter(|other| *other != me) {
    //     comm.send(Rank(other), &data[part_of(len, Rank(me), size)])?;
    // }
    // for other in (0..size).filter(|other| *other != me) {
    //     comm.receive(Rank(other), &mut data[part_of(len, Rank(other), size)])?;
    // }
    // EXERCISE: end
    Ok(())
}
