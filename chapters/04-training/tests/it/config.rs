use training::config::{EngineKind, LARGEST_BATCH, Model, Rule, Settings};

#[test]
fn every_model_has_a_recipe_that_can_work() {
    for model in Model::ALL {
        let recipe = Settings::of(model);
        assert_eq!(recipe.model, model);
        recipe.check().unwrap();
    }
    for optimizer in Rule::ALL {
        let lr = optimizer.usual_rate();
        Settings { optimizer, lr, ..Settings::default() }.check().unwrap();
    }
}

#[test]
fn choices_that_cannot_work_name_their_option() {
    let good = Settings::default();
    good.check().unwrap();
    let bad = [
        (Settings { epochs: 0, ..good.clone() }, "--epochs"),
        (Settings { batch: 0, ..good.clone() }, "--batch"),
        (Settings { batch: LARGEST_BATCH + 1, ..good.clone() }, "--batch"),
        (Settings { limit: Some(0), ..good.clone() }, "--limit"),
        (Settings { lr: f64::NAN, ..good.clone() }, "--lr"),
        (Settings { lr: -1.0, ..good.clone() }, "--lr"),
        (Settings { lr: 0.0, ..good.clone() }, "--lr"),
        // With 32 bits nothing, infinite, and 1.
        (Settings { lr: 1e-50, ..good.clone() }, "--lr"),
        (Settings { lr: 1e39, ..good.clone() }, "--lr"),
        (Settings { dropout: 1.0 - 1e-9, ..good.clone() }, "--dropout"),
        (Settings { decay: -0.1, ..good.clone() }, "--decay"),
        (Settings { decay: f64::NAN, ..good.clone() }, "--decay"),
        (Settings { dropout: 1.0, ..good.clone() }, "--dropout"),
        (Settings { dropout: -0.1, ..good.clone() }, "--dropout"),
        (Settings { patience: Some(0), ..good.clone() }, "--patience"),
        (Settings { accumulate: Some(8), ..good.clone() }, "--engine fast"),
        (Settings { recompute: 2, ..good.clone() }, "--engine fast"),
        (Settings { accumulate: Some(0), engine: EngineKind::Fast, ..good }, "--accumulate"),
    ];
    for (settings, flag) in bad {
        assert!(settings.check().unwrap_err().to_string().contains(flag), "{settings:?}");
    }
}
