//! The numbers of E4M3.

/// The number of a code of E4M3.
pub fn decode(code: u8) -> f64 {
    // EXERCISE: begin
    let sign = if code >> 7 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(code >> 3 & 0xf);
    let fraction = f64::from(code & 7) / 8.0;
    match (code & 0x7f, exponent) {
        (0x7f, _) => f64::NAN,
        (_, 0) => sign * fraction * 2f64.powi(-6),
        _ => sign * (1.0 + fraction) * 2f64.powi(exponent - 7),
    }
    // EXERCISE: instead
    // let exponent = i32::from(code >> 3 & 0xf);
    // let mantissa = f64::from(code & 7);
    // match exponent {
    //     15 if mantissa > 0.0 => f64::NAN,
    //     15 => f64::INFINITY,
    //     _ => (1.0 + mantissa / 8.0) * 2f64.powi(exponent - 7),
    // }
    // EXERCISE: end
}
