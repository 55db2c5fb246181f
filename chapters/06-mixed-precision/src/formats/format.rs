//! A number in a few bits: a sign, an exponent, a mantissa. From bits to the number that they mean.

/// What the highest exponent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Top {
    /// Infinity where the mantissa is zero, NaN elsewhere: IEEE 754-2019, section 3.4.
    InfinityAndNan,
    /// Ordinary numbers, except for the last code of each sign, which is NaN. There is no infinity: OFP8.
    LastIsNan,
}

/// A binary format of numbers. A code of it lies in the lowest [`bits`](Format::bits) bits of a `u32`: the
/// sign on top, below it the exponent, then the mantissa.
///
/// ```
/// use mixed_precision::formats::Format;
/// assert_eq!(Format::F16.decode(0x3c00), 1.0);
/// assert_eq!(Format::E4M3.max(), 448.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub(super) name: &'static str,
    pub(super) exponent_bits: u32,
    pub(super) mantissa_bits: u32,
    pub(super) bias: i32,
    pub(super) top: Top,
}

impl Format {
    /// IEEE 754's binary32, Rust's `f32`.
    pub const F32: Self = Self::ieee("f32", 8, 23);
    /// NVIDIA's TF32, which matrix units round f32 inputs to: f32's exponent, f16's mantissa. 19 bits.
    pub const TF32: Self = Self::ieee("tf32", 8, 10);
    /// IEEE 754's binary16, "half precision".
    pub const F16: Self = Self::ieee("f16", 5, 10);
    /// Brain floating point: the upper half of an f32.
    pub const BF16: Self = Self::ieee("bf16", 8, 7);
    /// OFP8's E4M3: no infinity, and the largest number is 448.
    pub const E4M3: Self = Self { top: Top::LastIsNan, ..Self::ieee("E4M3", 4, 3) };
    /// OFP8's E5M2, built like the IEEE formats.
    pub const E5M2: Self = Self::ieee("E5M2", 5, 2);
    /// All of them, in the order of the page.
    pub const ALL: [Self; 6] =
        [Self::F32, Self::TF32, Self::F16, Self::BF16, Self::E4M3, Self::E5M2];

    const fn ieee(name: &'static str, exponent_bits: u32, mantissa_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        Self { name, exponent_bits, mantissa_bits, bias, top: Top::InfinityAndNan }
    }

    /// The name: `bf16`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Bits of the exponent.
    pub const fn exponent_bits(self) -> u32 {
        self.exponent_bits
    }

    /// Bits of the mantissa. The 1 before the point is not among them.
    pub const fn mantissa_bits(self) -> u32 {
        self.mantissa_bits
    }

    /// What is subtracted from the stored exponent.
    pub const fn bias(self) -> i32 {
        self.bias
    }

    /// Sign, exponent and mantissa together.
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }

    // ANCHOR: decode
    /// The number that `code` means. It is exact: an f64 represents each number of
    /// each format here. Bits above the format's own are ignored.
    pub fn decode(self, code: u32) -> f64 {
        let mantissa = code & ((1 << self.mantissa_bits) - 1);
        let top = (1 << self.exponent_bits) - 1;
        let exponent = code >> self.mantissa_bits & top;
        let magnitude = if code & self.magnitude_mask() > self.max_code() {
            let infinite = self.top == Top::InfinityAndNan && mantissa == 0;
            if infinite { f64::INFINITY } else { f64::NAN }
        } else {
            // A stored exponent of 0 has no leading 1, and means the same power of
            // two as a stored 1: that is where the subnormal numbers are.
            let leading = u32::from(exponent > 0) << self.mantissa_bits;
            f64::from(leading + mantissa) * self.gap_at(exponent.max(1))
        };
        let negative = code >> (self.bits() - 1) & 1 == 1;
        if negative { -magnitude } else { magnitude }
    }
    // ANCHOR_END: decode

    /// From a number with this stored exponent to the next one: 2 to the power of exponent − bias − mantissa bits.
    fn gap_at(self, stored: u32) -> f64 {
        power_of_two(stored as i32 - self.bias - self.mantissa_bits as i32)
    }

    /// All bits but the sign.
    pub(super) const fn magnitude_mask(self) -> u32 {
        (1 << (self.bits() - 1)) - 1
    }

    /// The code of the largest number.
    pub const fn max_code(self) -> u32 {
        match self.top {
            Top::InfinityAndNan => self.infinity_code() - 1,
            Top::LastIsNan => self.magnitude_mask() - 1,
        }
    }

    /// An exponent of ones and a mantissa of zeros: infinity, where the format has one.
    pub(super) const fn infinity_code(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The largest number.
    pub fn max(self) -> f64 {
        self.decode(self.max_code())
    }

    /// The smallest positive number with a leading 1, a *normal* one.
    pub fn min_normal(self) -> f64 {
        self.decode(1 << self.mantissa_bits)
    }

    /// The smallest positive number.
    pub fn min_positive(self) -> f64 {
        self.decode(1)
    }

    /// From 1 to the next larger number.
    pub fn epsilon(self) -> f64 {
        power_of_two(-(self.mantissa_bits as i32))
    }

    /// From the number at or below `|x|` to the next larger one, its *unit in the last place*; as if the exponent
    /// had no upper end. NaN for NaN and infinity.
    pub fn gap(self, x: f64) -> f64 {
        if !x.is_finite() {
            return f64::NAN;
        }
        let lowest = 1 - self.bias;
        power_of_two(exponent_of(x).max(lowest) - self.mantissa_bits as i32)
    }

    /// The numbers next to that of `code`, below and above; NaN and infinity count as none. The two zeros count as
    /// one.
    pub fn neighbours(self, code: u32) -> (Option<f64>, Option<f64>) {
        let value = self.decode(code);
        if value.is_nan() {
            return (None, None);
        }
        let magnitude = code & self.magnitude_mask();
        let outward = Some(self.decode(magnitude + 1)).filter(|v| v.is_finite());
        if magnitude == 0 {
            return (outward.map(|v| -v), outward);
        }
        let inward = self.decode(magnitude - 1);
        if value < 0.0 { (outward.map(|v| -v), Some(-inward)) } else { (Some(inward), outward) }
    }
}

/// 2 to the power of `exponent`, from −1022 to 1023.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent));
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The exponent of the highest binary digit of a finite number; −1022 for zero and what is smaller still.
pub fn exponent_of(x: f64) -> i32 {
    let stored = (x.to_bits() >> 52 & 0x7ff) as i32;
    stored.max(1) - 1023
}
