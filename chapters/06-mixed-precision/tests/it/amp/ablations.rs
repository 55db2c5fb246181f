use lab::data;
use mixed_precision::amp::ablations::{SETTINGS, Setting, Variant};
use training::Error;

fn short(name: &str) -> Setting {
    let setting = SETTINGS.into_iter().find(|setting| setting.name == name).unwrap();
    Setting { epochs: 2, ..setting }
}

#[test]
fn adam_with_its_usual_epsilon_fails_in_f16() {
    let data = data::drawn(300, 50, 1);
    let [bad, good] =
        [1e-8, 1e-3].map(|epsilon| short("usual").train(Variant::HalfAdam { epsilon }, 0, &data));
    assert!(matches!(bad, Err(Error::Diverged { .. })), "{bad:?}");
    assert!(good.unwrap().test_accuracy().unwrap() > 0.2);
}

#[test]
fn every_other_variant_trains() {
    let data = data::drawn(200, 50, 1);
    for setting in SETTINGS {
        let setting = short(setting.name);
        for variant in setting.variants {
            if matches!(variant, Variant::HalfAdam { .. }) {
                continue;
            }
            let outcome = setting.train(*variant, 1, &data).unwrap();
            assert_eq!(outcome.history.len(), 2, "{variant}");
            let scaled = *variant != Variant::F32;
            assert_eq!(outcome.loss_scale.is_some(), scaled, "{variant}");
        }
    }
}

#[test]
fn small_steps_need_f32_weights() {
    let data = data::drawn(600, 100, 3);
    let setting = Setting { batch: 8, epochs: 4, ..short("small steps") };
    let loss = |variant| setting.train(variant, 0, &data).unwrap().history[3].train_loss;
    let [f32, amp, none] = [Variant::F32, Variant::Amp, Variant::NoMasters].map(loss);
    assert!((f32 - amp).abs() < 1e-3, "{amp} is not {f32}");
    assert!(none > f32 + 1e-3, "{none} against {f32}");
}

#[test]
fn a_small_loss_needs_a_factor() {
    let data = data::drawn(600, 100, 3);
    let setting = Setting { batch: 32, epochs: 3, ..short("usual") };
    let loss = |variant| setting.train(variant, 0, &data).unwrap().history[2].train_loss;
    let [f32, usual, small] = [Variant::F32, Variant::NoScale, Variant::SmallLoss].map(loss);
    assert!((f32 - usual).abs() < 0.01, "{usual} is not {f32}");
    assert!(small > f32 + 0.1, "{small} against {f32}");
}
