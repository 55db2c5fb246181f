use lab::random::{SplitMix64, numbers};
use language_model::quantise::{rounded, scale};
use language_model::{Config, Layout, generate::Decoder};

#[test]
fn a_weight_moves_by_half_a_scale_at_most() {
    let weights = numbers(1000, 1);
    let scale = scale(weights.iter().copied());
    for weight in weights {
        let back = f32::from(rounded(weight, scale)) * scale;
        assert!((back - weight).abs() <= 0.5001 * scale, "{weight} {back}");
    }
}

#[test]
fn the_edges_are_right() {
    assert_eq!((scale([].into_iter()), scale([0.0, -0.0].into_iter())), (0.0, 0.0));
    assert_eq!(rounded(0.0, 0.0), 0);
    assert_eq!([-254.0, 254.0, 1.0].map(|w| rounded(w, 2.0)), [-127, 127, 1]);
    for wrong in [f32::NAN, f32::INFINITY] {
        assert!(scale([1.0, wrong, 2.0].into_iter()).is_nan());
    }
    // A tiny column has a tiny scale of its own.
    assert_eq!(rounded(1e-30, scale([1e-30, -5e-31].into_iter())), 127);
}

/// A model of random weights.
fn model() -> (Config, Vec<f32>) {
    let config =
        Config { vocabulary: 101, context: 24, width: 48, heads: 4, layers: 2, hidden: 80 };
    let mut random = SplitMix64::new(7);
    let len = Layout::new(&config).len;
    (config, (0..len).map(|_| (0.1 * random.normal()) as f32).collect())
}

#[test]
fn a_model_in_8_bits_is_nearly_the_same_in_a_quarter_of_the_bytes() {
    let (config, parameters) = model();
    let wide = Decoder::new(&config, &parameters).unwrap();
    let narrow = Decoder::in_8_bits(&config, &parameters).unwrap();
    assert!(narrow.bytes() as f64 / (wide.bytes() as f64) < 0.3);
    let tokens: Vec<u32> = (0..24).map(|i| i * 37 % 101).collect();
    let (one, two) = (wide.logits(&tokens).unwrap(), narrow.logits(&tokens).unwrap());
    let square = |x: f32| f64::from(x) * f64::from(x);
    let size: f64 = one.iter().map(|x| square(*x)).sum();
    let off: f64 = one.iter().zip(&two).map(|(a, b)| square(a - b)).sum();
    let error = (off / size).sqrt();
    assert!(error > 1e-4 && error < 0.05, "{error}");
}

#[test]
fn weights_that_are_not_numbers_stay_so() {
    let (config, mut parameters) = model();
    let at = Layout::new(&config).blocks[0].down.start;
    parameters[at] = f32::NAN;
    let decoder = Decoder::in_8_bits(&config, &parameters).unwrap();
    assert!(decoder.logits(&[1, 2]).unwrap().iter().any(|x| x.is_nan()));
}
