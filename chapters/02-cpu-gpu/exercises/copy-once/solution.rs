//! After how many passes is the GPU ahead?

/// A job that is repeated on the same data.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Seconds of a pass on the CPU.
    pub cpu: f64,
    /// Seconds of a pass on the GPU, without the launch.
    pub gpu: f64,
    /// Bytes that are copied to the card before the first pass.
    pub to: f64,
    /// Bytes that are copied back after the last one.
    pub back: f64,
}

/// The fewest passes after which the GPU has taken less time than the CPU, for a launch of `alpha` seconds and
/// a link that moves `link` bytes a second. `None` if there are none.
pub fn passes(job: Job, alpha: f64, link: f64) -> Option<u64> {
    // EXERCISE: begin
    let gain = job.cpu - job.gpu - alpha;
    let copies = (job.to + job.back) / link;
    (gain > 0.0).then(|| (copies / gain).floor() as u64 + 1)
    // EXERCISE: instead
    // // Copies the data for every pass.
    // let gpu = alpha + job.gpu + (job.to + job.back) / link;
    // (gpu < job.cpu).then_some(1)
    // EXERCISE: end
}
