//! Axes: from values to positions on the sheet, and where the ticks go.

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Log,
}

/// One axis: its label, its unit and its scale.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with the unit: `rate (GFLOP/s)`.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
    /// The range, if the data should not choose it.
    pub range: Option<(f64, f64)>,
    /// Where the ticks are, if not chosen by the scale (sizes such as 512, 1024, 2048).
    pub ticks: Option<Vec<f64>>,
    /// Where bars begin, if not at zero or at the lower end: 1 for ratios. An axis of lines holds it, zero for instance.
    pub base: Option<f64>,
    /// Whether the reader may change to the other scale.
    pub toggled: bool,
}

impl Axis {
    /// An axis whose range and ticks follow from the data.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, range: None, ticks: None, base: None, toggled: false }
    }

    /// The same axis, whose bars begin here, or which holds this value below or above its lines.
    #[must_use]
    pub fn from(self, base: f64) -> Self {
        Self { base: Some(base), ..self }
    }

    /// The same axis, which the reader may change to the other scale.
    #[must_use]
    pub fn toggled(self) -> Self {
        Self { toggled: true, ..self }
    }

    /// The same axis on the other scale, with a range of its own.
    pub(super) fn other(&self) -> Self {
        let scale = if self.scale == Scale::Log { Scale::Linear } else { Scale::Log };
        Self { scale, range: None, ticks: None, ..self.clone() }
    }

    /// Its label, which says so if the scale is logarithmic.
    pub fn words(&self) -> String {
        match (self.scale, self.label.strip_suffix(')')) {
            (Scale::Log, Some(start)) => format!("{start}, log scale)"),
            (Scale::Log, None) if !self.label.is_empty() => format!("{} (log scale)", self.label),
            _ => self.label.clone(),
        }
    }

    /// The same axis with this range.
    #[must_use]
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// The same axis with these ticks.
    #[must_use]
    pub fn ticks(self, ticks: impl Into<Vec<f64>>) -> Self {
        Self { ticks: Some(ticks.into()), ..self }
    }
}

/// An axis laid over a stretch of the sheet.
#[derive(Clone, Copy, Debug)]
pub struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    /// The axis from `from` to `to` on the sheet, with the axis' own range or one that holds `values`.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = match axis.range {
            Some((a, b)) if fits(axis.scale, a) && fits(axis.scale, b) && (a < b || b < a) => {
                (a.min(b), a.max(b))
            }
            _ => holding(axis.scale, values.chain(axis.base)),
        };
        Self { scale: axis.scale, low, high, from, to }
    }

    /// The position of `value`.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share * (self.to - self.from)
    }

    /// The position of `value`, or of the nearer end where it lies outside.
    pub fn clamped(&self, value: f64) -> f64 {
        self.at(value.clamp(self.low, self.high))
    }

    /// Whether the value lies between the ends.
    pub fn shows(&self, value: f64) -> bool {
        let slack = match self.scale {
            Scale::Linear => 1e-9 * (self.high - self.low).abs(),
            // Relative to the value: 10⁻¹² has no position on an axis from 10⁻¹¹ to 1.
            Scale::Log => 1e-9 * value.abs(),
        };
        fits(self.scale, value) && value >= self.low - slack && value <= self.high + slack
    }

    /// The ticks: those that the axis names, else round numbers.
    pub fn ticks(&self, axis: &Axis) -> Vec<f64> {
        let ticks = match &axis.ticks {
            Some(ticks) => ticks.clone(),
            None => match self.scale {
                Scale::Linear => round_steps(self.low, self.high),
                Scale::Log => round_ratios(self.low, self.high),
            },
        };
        ticks.into_iter().filter(|&tick| self.shows(tick)).collect()
    }
}

/// Whether a value has a position on the scale at all.
pub fn fits(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

fn holding(scale: Scale, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|&v| fits(scale, v)) {
        low = low.min(value);
        high = high.max(value);
    }
    if low > high {
        return (if scale == Scale::Log { 0.1 } else { 0.0 }, 1.0);
    }
    match scale {
        Scale::Log if high / low < 1.0001 => (low / 2.0, high * 2.0),
        Scale::Log => {
            let margin = (high / low).powf(0.05);
            (low / margin, high * margin)
        }
        Scale::Linear if high - low <= 1e-12 * high.abs().max(1e-300) => {
            let margin = if high == 0.0 { 1.0 } else { 0.5 * high.abs() };
            (low - margin, high + margin)
        }
        Scale::Linear => {
            let margin = 0.06 * (high - low);
            // Zero is where a quantity starts: an axis that comes near it begins there.
            let from = if low >= 0.0 && low < 0.4 * high { 0.0 } else { low - margin };
            (from, high + margin)
        }
    }
}

fn round_steps(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough * 0.999)
        .unwrap_or(rough);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    // A range that is tiny next to its values has no round numbers that a float can hold apart.
    if !(last - first).is_finite() || last - first > 20.0 {
        return vec![low, high];
    }
    (0..=(last - first) as i64).map(|i| (first + i as f64) * step).collect()
}

fn round_ratios(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = match decades {
        d if d < 1.3 => &[1.0, 2.0, 5.0],
        d if d < 2.5 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let every = ((decades / 6.0).ceil() as usize).max(1);
    let mut ticks: Vec<f64> = (first..=last)
        .step_by(every)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)))
        .collect();
    if ticks.iter().filter(|&&t| t >= low && t <= high).count() < 2 {
        ticks = round_steps(low, high);
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::plain;
    use proptest::prelude::*;

    fn axis(scale: Scale) -> Axis {
        Axis::new("", scale)
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(round_steps(0.0, 1.0), [0.0, 0.2, 0.4, 0.2 * 3.0, 0.8, 1.0]);
        assert_eq!(round_ratios(0.3, 3000.0), [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]);
        let texts: Vec<String> = [0.0, 0.05, 512.0, 1024.0, 20_000.0, 1e7, 1e-6, -2.5, 0.6 + 1e-10]
            .into_iter()
            .map(plain)
            .collect();
        assert_eq!(texts, ["0", "0.05", "512", "1024", "20,000", "10⁷", "10⁻⁶", "−2.5", "0.6"]);
    }

    #[test]
    fn a_logarithmic_axis_says_so() {
        assert_eq!(Axis::new("n", Scale::Log).words(), "n (log scale)");
        assert_eq!(Axis::new("rate (GFLOP/s)", Scale::Log).words(), "rate (GFLOP/s, log scale)");
        assert_eq!(Axis::new("rate (GFLOP/s)", Scale::Linear).words(), "rate (GFLOP/s)");
    }

    #[test]
    fn an_axis_of_lines_holds_where_it_is_from() {
        for (scale, held) in [(Scale::Linear, true), (Scale::Log, false)] {
            let ruler = Ruler::new(&axis(scale).from(0.0), [90.0, 100.0].into_iter(), 0.0, 1.0);
            assert_eq!(ruler.shows(0.0), held, "a logarithmic axis has no zero");
            assert!(ruler.shows(90.0) && ruler.shows(100.0) && !ruler.shows(120.0));
        }
    }

    proptest! {
        #[test]
        fn every_value_has_its_place_between_the_ends(
            mut values in prop::collection::vec(1e-12_f64..1e15, 1..20), log: bool,
        ) {
            let axis = axis(if log { Scale::Log } else { Scale::Linear });
            let ruler = Ruler::new(&axis, values.iter().copied(), 10.0, 90.0);
            values.sort_by(f64::total_cmp);
            let places: Vec<f64> = values.iter().map(|&v| ruler.at(v)).collect();
            prop_assert!(places.iter().all(|p| (9.999..=90.001).contains(p)), "{places:?}");
            prop_assert!(places.is_sorted());
            let ticks = ruler.ticks(&axis);
            prop_assert!((2..=14).contains(&ticks.len()), "{ticks:?}");
            // Those that are named or fall outside are left out.
            let named = axis.ticks([&ticks[..], &[0.0, 1e-30, 1e30]].concat());
            for ticks in [ruler.ticks(&named), ticks] {
                prop_assert!(ticks.iter().all(|&t| (9.999..=90.001).contains(&ruler.at(t))), "{ticks:?}");
            }
        }
    }
}
