//! Is what a kernel left in its buffer right?

/// Elements of the strip at each end of a buffer.
pub const STRIP: usize = 8;
/// The bits of an element in a strip: a NaN.
pub const FENCE: u32 = 0x7fc0_fe1c;
/// The bits of an element that was never written: another NaN.
pub const UNWRITTEN: u32 = 0x7fc0_0b5e;

/// What is wrong with a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The buffer has another length, or a strip has changed.
    Outside,
    /// This element of the result is the first that was never written.
    NotWritten(usize),
    /// This element of the result is the first that is not certainly within its bound.
    Wrong(usize),
}

/// Checks a buffer: a strip, the result, a strip. `want` is the exact result, `bound` what rounding may change
/// of each element.
pub fn check(buffer: &[f32], want: &[f64], bound: &[f64]) -> Result<(), Fault> {
    // EXERCISE: begin
    let is = |bits: u32| move |x: &f32| x.to_bits() == bits;
    if buffer.len() != want.len() + 2 * STRIP {
        return Err(Fault::Outside);
    }
    let (left, rest) = buffer.split_at(STRIP);
    let (got, right) = rest.split_at(want.len());
    if !left.iter().chain(right).all(is(FENCE)) {
        return Err(Fault::Outside);
    }
    if let Some(at) = got.iter().position(is(UNWRITTEN)) {
        return Err(Fault::NotWritten(at));
    }
    let right = |at: usize| (f64::from(got[at]) - want[at]).abs() <= bound[at];
    match (0..want.len()).find(|at| !right(*at)) {
        Some(at) => Err(Fault::Wrong(at)),
        None => Ok(()),
    }
    // EXERCISE: instead
    // let got = buffer.iter().skip(STRIP);
    // let mut apart = got.zip(want).map(|(&got, want)| (f64::from(got) - want).abs());
    // let _ = bound; // and no more than taste for a bound
    // apart.position(|apart| apart > 0.01).map_or(Ok(()), |at| Err(Fault::Wrong(at)))
    // EXERCISE: end
}
