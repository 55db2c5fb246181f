//! The page's script converts as the crate does. It runs on Node.js.

use backprop::random::SplitMix64;
use lab::testing;
use mixed_precision::formats::{Format, Overflow, Rounding};
use serde::Serialize;

/// Holds what a function of the page's script makes of `input`, with numbers' bits as text, to what the crate makes of it.
fn agrees(function: &str, input: &impl Serialize, wanted: &impl Serialize) {
    let function = format!(
        "(input) => {{ const words = new DataView(new ArrayBuffer(8)); \
         const bits = (x) => {{ words.setFloat64(0, x); \
             return Number.isNaN(x) ? 'NaN' : words.getBigUint64(0).toString(16); }}; \
         const number = (hex) => {{ words.setBigUint64(0, BigInt('0x' + hex)); \
             return words.getFloat64(0); }}; \
         return ({function})(input); }}"
    );
    testing::agrees("bit-explorer.js", &function, input, wanted, testing::relative(0.0));
}

/// The bits of a number; all NaNs alike.
fn bits(x: f64) -> String {
    if x.is_nan() { "NaN".to_owned() } else { format!("{:x}", x.to_bits()) }
}

/// The codes that are tried: all of the formats of 8 and 16 bits, many of the others.
fn codes(format: Format) -> Vec<u32> {
    if format.bits() <= 16 {
        return (0..1 << format.bits()).collect();
    }
    let mut random = SplitMix64::new(1);
    let mask = ((1_u64 << format.bits()) - 1) as u32;
    let special = [0, 1, format.max_code(), format.max_code() + 1, 1 << (format.bits() - 1)];
    (0..50_000).map(|_| random.next() as u32 & mask).chain(special).collect()
}

#[test]
fn the_page_knows_the_formats_of_the_crate() {
    let program =
        "() => page.FORMATS.map(({ name, exponent, mantissa }) => [name, exponent, mantissa])";
    agrees(program, &(), &Format::ALL.map(|f| (f.name(), f.exponent_bits(), f.mantissa_bits())));
}

#[test]
fn the_page_decodes_as_the_crate_does() {
    let program = "(all) => all.map((codes, i) => codes.map((code) => \
        [page.decode(page.FORMATS[i], code), ...page.neighbours(page.FORMATS[i], code)] \
            .map((x) => (x === null ? 'none' : bits(x)))))";
    let wanted = Format::ALL.map(|format| {
        let decoded = |code| {
            let (below, above) = format.neighbours(code);
            let next = |x: Option<f64>| x.map_or("none".to_owned(), bits);
            [bits(format.decode(code)), next(below), next(above)]
        };
        codes(format).into_iter().map(decoded).collect::<Vec<_>>()
    });
    agrees(program, &Format::ALL.map(codes), &wanted);
}

#[test]
fn the_page_encodes_as_the_crate_does() {
    let all = Format::ALL.map(|format| {
        let mut random = SplitMix64::new(2);
        let mut numbers: Vec<f64> = (0..20_000).map(|_| f64::from_bits(random.next())).collect();
        numbers.extend([f64::NAN, f64::INFINITY, f64::MAX, f64::from_bits(1), 0.0]);
        for value in codes(format).into_iter().map(|code| format.decode(code)) {
            let middle = value + 0.5 * format.gap(value);
            // f16's and bf16's neighbours are tried by the crate; here each number, and both sides of each tie.
            numbers.extend([value, middle, middle.next_down(), middle.next_up()]);
        }
        numbers.extend(numbers.clone().iter().take(20_005).map(|x| -x));
        numbers
    });
    let program = "(all) => all.map((numbers, i) => numbers.map((x) => \
        page.encode(page.FORMATS[i], x === 'NaN' ? NaN : number(x))))";
    let texts = all.each_ref().map(|numbers| numbers.iter().map(|&x| bits(x)).collect::<Vec<_>>());
    let encoded = |(format, numbers): (Format, Vec<f64>)| {
        // The page has one NaN.
        let one = |x: f64| if x.is_nan() { f64::NAN } else { x };
        let encode = |x| format.encode(one(x), Rounding::Nearest, Overflow::Special);
        numbers.into_iter().map(encode).collect::<Vec<_>>()
    };
    let wanted: Vec<Vec<u32>> = Format::ALL.into_iter().zip(all).map(encoded).collect();
    agrees(program, &texts, &wanted);
}
