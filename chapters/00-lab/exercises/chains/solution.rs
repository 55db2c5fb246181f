//! How many chains keep the FMA units busy?

/// What the rate of a core depends on.
#[derive(Clone, Copy, Debug)]
pub struct Core {
    /// Numbers in a vector.
    pub lanes: usize,
    /// FMA units, each of which starts one FMA of whole vectors in a cycle.
    pub units: usize,
    /// Cycles from the start of an FMA until another one can use its result.
    pub latency: usize,
    /// Cycles in a second.
    pub clock: f64,
}

/// The FLOP/s of one core with `chains` chains of FMAs side by side. Within a chain each FMA needs the
/// result of the one before it.
pub fn rate(core: Core, chains: usize) -> f64 {
    // EXERCISE: begin
    let started = (chains as f64 / core.latency as f64).min(core.units as f64);
    // EXERCISE: instead
    // let started = chains.min(core.units) as f64; // as if each result were there in the next cycle
    // EXERCISE: end
    2.0 * core.lanes as f64 * started * core.clock
}

/// The fewest chains with which the core reaches its peak.
pub fn enough(core: Core) -> usize {
    // EXERCISE: begin
    core.units * core.latency
    // EXERCISE: instead
    // core.units
    // EXERCISE: end
}
