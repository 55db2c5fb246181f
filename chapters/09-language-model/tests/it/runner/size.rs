use language_model::runner::size::{Size, settings};
use language_model::{Config, count::Parameters, train::Settings};

#[test]
fn a_size_is_a_name_or_a_number_of_parameters() {
    assert_eq!("Small".parse::<Size>().unwrap(), Size::Small);
    assert_eq!("tiny".parse::<Size>().unwrap().config(Some(64)).context, 64);
    let of = |text: &str| Parameters::of(&text.parse::<Size>().unwrap().config(None)).all();
    for (text, wanted) in [("3M", 3e6), ("0.3m", 3e5), ("12000000", 12e6), ("0.1B", 1e8)] {
        let off = (of(text) as f64 / wanted).ln().abs();
        assert!(off < 0.5, "{text}: {}", of(text));
    }
    for wrong in ["", "m", "huge", "-3M", "1", "9e99", "NaN", "é"] {
        let said = wrong.parse::<Size>().unwrap_err().to_string();
        assert!(said.contains("such as 3M"), "{wrong}: {said}");
    }
}

#[test]
fn a_wider_model_takes_shorter_steps() {
    let usual = Settings::default();
    assert_eq!(settings(&Config::tiny()), usual);
    let small = settings(&Config::small());
    assert_eq!((small.lr, small.length), (1.5e-3, 256));
}
