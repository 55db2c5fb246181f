use backprop::check::error_f32;
use language_model::{
    Config, Error, Model, product::Numbers, train::settings::Settings, train::trainer::Trainer,
    transformer::bytes,
};
use mixed_precision::amp::scaler::{Dynamic, LossScale, Scaler, Scaling};

#[test]
fn numbers_of_16_bits_learn_as_f32_does_on_any_number_of_threads() {
    let stream: Vec<u32> = (0..900_u32).map(|i| (i * 5 + i / 50) % 31).collect();
    let config = Config { vocabulary: 31, context: 16, width: 24, heads: 2, layers: 2, hidden: 40 };
    let of = |numbers, threads| {
        let usual = Settings { numbers, steps: 30, warmup: 3, lr: 0.01, ..Settings::default() };
        let settings = Settings { batch: 4, length: 16, ..usual };
        let mut trainer =
            Trainer::new(Model::new(config, 1).unwrap(), settings, &stream, threads).unwrap();
        let losses: Vec<f64> = (0..30).map(|_| trainer.step(&stream).unwrap().loss).collect();
        (losses, trainer.model().parameters)
    };
    let wanted = of(Numbers::F32, 1);
    assert!(wanted.0[29] < 0.8 * wanted.0[0], "{:?}", wanted.0);
    for numbers in [Numbers::Bf16, Numbers::F16] {
        let found = of(numbers, 1);
        for (wanted, found) in wanted.0.iter().zip(&found.0) {
            assert!((found / wanted - 1.0).abs() < 0.02, "{numbers:?}: {found} {wanted}");
        }
        assert!(wanted.1 != found.1, "{numbers:?}: nothing was rounded");
        assert!(found == of(numbers, 3), "{numbers:?}");
    }
}

#[test]
fn a_step_that_leaves_the_range_of_f16_is_skipped_and_its_factor_halves() {
    let stream: Vec<u32> = (0..400_u32).map(|i| i * i % 31).collect();
    let config = Config { vocabulary: 31, context: 9, width: 12, heads: 2, layers: 2, hidden: 10 };
    let settings = Settings { numbers: Numbers::F16, batch: 2, length: 9, ..Settings::default() };
    let mut trainer = Trainer::new(Model::new(config, 1).unwrap(), settings, &stream, 1).unwrap();
    let start = 2f32.powi(30);
    trainer.scaler = Some(Scaler::new(Scaling::Dynamic(Dynamic { start, every: 2000 })));
    let (model, moments) = (trainer.model(), trainer.moments());
    let mut skipped = 0;
    while !trainer.step(&stream).unwrap().norm.is_finite() {
        skipped += 1;
        let at = LossScale { scale: start / 2f32.powi(skipped), good: 0, skipped };
        assert_eq!(trainer.scaler.map(|scaler| scaler.state()), Some(at));
        assert!(trainer.model() == model && trainer.moments() == moments);
    }
    assert!((5..30).contains(&skipped), "{skipped}");
    assert_eq!((trainer.step, trainer.transformer.step.updates()), (skipped as u64 + 1, 1));
    assert!(trainer.model() != model);
}

#[test]
fn a_stream_that_changes_where_it_lies_is_another_one() {
    let mut stream = vec![1; 40];
    let config = Config { vocabulary: 31, context: 9, width: 12, heads: 2, layers: 1, hidden: 10 };
    let settings = Settings { batch: 2, length: 9, ..Settings::default() };
    let mut trainer = Trainer::new(Model::new(config, 1).unwrap(), settings, &stream, 1).unwrap();
    trainer.step(&stream).unwrap();
    let mut other = Trainer::new(trainer.model(), settings, &stream, 1).unwrap();
    other.restore(1, &trainer.model().parameters, &trainer.moments());
    stream.fill(2);
    assert_eq!(trainer.step(&stream).unwrap(), other.step(&stream).unwrap());
}

#[test]
fn a_batch_in_pieces_is_the_batch() {
    let stream: Vec<u32> = (0..400_u32).map(|i| i * i % 31).collect();
    let config = Config { vocabulary: 31, context: 9, width: 12, heads: 2, layers: 2, hidden: 10 };
    let of = |accumulate| {
        let settings =
            Settings { batch: 6, accumulate, length: 9, steps: 5, ..Settings::default() };
        let mut trainer = Trainer::new(Model::new(config, 1)?, settings, &stream, 1)?;
        let first = trainer.step(&stream)?;
        Ok::<_, Error>((first, trainer))
    };
    let (step, whole) = of(1).unwrap();
    for pieces in [2, 3, 6] {
        let (same, parts) = of(pieces).unwrap();
        assert!((same.loss / step.loss - 1.0).abs() < 1e-6, "{pieces}: {same:?} {step:?}");
        assert!(error_f32(&parts.gradient(), &whole.gradient()) < 1e-5, "{pieces}");
        assert!(bytes(&parts.transformer.step) < bytes(&whole.transformer.step));
    }
    for wrong in [0, 4, 7] {
        let said = of(wrong).err().unwrap().to_string();
        assert!(said.contains("equal pieces"), "{said}");
    }
}
