//! A message that travels over several hops in pieces.

use multi_gpu::comm::AlphaBeta;

/// Seconds until all of a message of `bytes` has arrived behind `hops` links, in so many pieces of equal size.
pub fn seconds(link: AlphaBeta, bytes: f64, hops: usize, pieces: usize) -> f64 {
    // EXERCISE: begin
    (hops + pieces - 1) as f64 * (link.alpha + link.beta * bytes / pieces as f64)
    // EXERCISE: instead
    // // Every rank waits for all of it.
    // hops as f64 * pieces as f64 * (link.alpha + link.beta * bytes / pieces as f64)
    // EXERCISE: end
}

/// The number of pieces, 1 to `most`, that takes the least time; of equals the fewest.
pub fn best(link: AlphaBeta, bytes: f64, hops: usize, most: usize) -> usize {
    // EXERCISE: begin
    let root = ((hops - 1) as f64 * link.beta * bytes / link.alpha).sqrt();
    let below = (root.floor() as usize).clamp(1, most);
    let above = (below + 1).min(most);
    let [fewer, more] = [below, above].map(|pieces| seconds(link, bytes, hops, pieces));
    if more < fewer { above } else { below }
    // EXERCISE: instead
    // let _ = (link, bytes, hops, most);
    // 1
    // EXERCISE: end
}
