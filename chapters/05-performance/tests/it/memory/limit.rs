use performance::memory::limit::Limit;
use training::{EngineKind, Model, Settings};

fn of(model: Model) -> Settings {
    Settings { engine: EngineKind::Fast, ..Settings::of(model) }
}

#[test]
fn the_largest_batch_fits_and_one_more_does_not() {
    for model in Model::ALL {
        for limit in [8, 16, 40].map(|mib| Limit(mib << 20)) {
            let settings = of(model);
            let most = limit.largest_batch(&settings);
            assert!(most > 0, "{model} in {limit:?}");
            assert!(limit.check(&settings, most).unwrap() <= limit.0);
            let error = limit.check(&settings, most + 1).unwrap_err().to_string();
            assert!(error.contains(&format!("--accumulate {most}")), "{error}");
            assert!(error.contains(&format!("the limit is {}.", limit.0 >> 20)), "{error}");
            // And that is a way out, as is recomputing for a little more.
            let pieces = Settings { accumulate: Some(most), ..settings };
            assert!(limit.check(&pieces, 10 * most).unwrap() <= limit.0);
        }
    }
}

#[test]
fn what_can_never_fit_is_said_so() {
    let settings = of(Model::Mlp);
    assert_eq!(Limit(1 << 20).largest_batch(&settings), 0);
    lab::testing::refused(Limit(1 << 20).check(&settings, 1), ["single image", "several devices"]);
}
