use matmul::pairs::{Model, word};
use matmul::{bf16::bf16, registers::Vector};

/// One lane: sum + the products of both halves of two words.
fn lane(x: u32, y: u32, sum: f32) -> f32 {
    let [x, y] = [x, y].map(|bits| Model([f32::from_bits(bits); 16]));
    // SAFETY: the model runs on any CPU.
    unsafe { x.mul_add(y, Model([sum; 16])).0[0] }
}

fn of(x: f32, y: f32) -> u32 {
    word(bf16::from_f32(x), bf16::from_f32(y)).to_bits()
}

#[test]
fn upper_halves_are_added_first() {
    // 2²⁴ + 1 is a tie that goes back to 2²⁴; 2²⁴ + 3 is one that goes up to 2²⁴ + 4.
    let large = 16_777_216.0;
    assert!(lane(of(3.0, 1.0), of(1.0, 1.0), large).to_bits() == (large + 4.0).to_bits());
    assert!(lane(of(1.0, 3.0), of(1.0, 1.0), large).to_bits() == (large + 4.0).to_bits());
    // The large one in the upper half swallows the sum of 1 before the lower one takes it away again.
    assert!(lane(of(-1.0, 1.0), of(large, large), 1.0).abs() < f32::MIN_POSITIVE);
    let last = lane(of(1.0, 1.0), of(1.0, -large), large);
    assert!((last - 1.0).abs() < f32::EPSILON);
}

#[test]
fn a_multiplication_and_an_addition_are_rounded_once() {
    // (1 + 2⁻⁷)² = 1 + 2⁻⁶ + 2⁻¹⁴: with 2²⁴⁻¹⁴ in the sum, all digits decide the rounding.
    let x = 1.0 + 2.0_f32.powi(-7);
    let sum = 2.0_f32.powi(10);
    let exact = f64::from(sum) + f64::from(x) * f64::from(x);
    assert!(lane(of(x, 0.0), of(x, 0.0), sum).to_bits() == (exact as f32).to_bits());
    // A product that is too large for an f32 comes back with the sum.
    let big = bf16::MAX.to_f32();
    assert!(lane(of(big, 0.0), of(2.0, 0.0), -big).to_bits() == big.to_bits());
}

#[test]
fn denormal_numbers_count_as_zero() {
    let tiny = f32::from_bits(1 << 16);
    assert!(lane(of(tiny, tiny), of(1e30, 1e30), 0.0) == 0.0);
    assert!(lane(of(1e-20, 0.0), of(1e-20, 0.0), 0.0) == 0.0);
    assert!(lane(0, 0, f32::from_bits(1)) == 0.0);
}

#[test]
fn nan_and_infinity_are_passed_on() {
    assert!(lane(of(f32::NAN, 0.0), of(1.0, 1.0), 0.0).is_nan());
    assert!(lane(of(f32::INFINITY, 1.0), of(0.0, 1.0), 0.0).is_nan());
    assert!(lane(of(1.0, f32::INFINITY), of(1.0, 2.0), 0.0) == f32::INFINITY);
}

/// Wherever the CPU has the instruction, the model gives its bits.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_model_is_the_instruction() {
    use matmul::pairs::{Hardware, Pairs};

    #[target_feature(enable = "avx512f,avx512bf16")]
    fn both(x: Model, y: Model, sum: Model) -> (Model, Model) {
        // SAFETY: three registers of 64 bytes; the features are enabled.
        unsafe {
            let of = |x: Model| std::mem::transmute::<Model, Hardware>(x);
            let found = of(x).mul_add(of(y), of(sum));
            (std::mem::transmute::<Hardware, Model>(found), x.mul_add(y, sum))
        }
    }
    if !Pairs::Hardware.available() {
        return;
    }
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as u32
    };
    for round in 0..100_000 {
        // All bits at random; then numbers near 1, whose sums round.
        let mut register = || {
            Model(std::array::from_fn(|_| {
                let bits = next();
                let near = bits & 0x83ff_83ff | 0x3c00_3c00;
                f32::from_bits(if round % 2 == 0 { bits } else { near })
            }))
        };
        let (x, y, sum) = (register(), register(), register());
        // SAFETY: the CPU has the instruction.
        let (hardware, model) = unsafe { both(x, y, sum) };
        for i in 0..16 {
            let (found, expected) = (hardware.0[i], model.0[i]);
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{:x} · {:x} + {:e}: {found:e}, not {expected:e}",
                x.0[i].to_bits(),
                y.0[i].to_bits(),
                sum.0[i]
            );
        }
    }
}
