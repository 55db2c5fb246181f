use training::{
    Settings,
    config::{EngineKind, Model},
    memory::{bytes, check},
};

#[test]
fn a_batch_beyond_all_memory_is_refused_and_a_usual_one_is_not() {
    for model in Model::ALL {
        let settings = Settings::of(model);
        let check = |settings: &Settings, batch| check(settings, batch, bytes(settings, batch));
        check(&settings, settings.batch).unwrap();
        let fast = Settings { engine: EngineKind::Fast, ..settings.clone() };
        for batch in [usize::MAX, 1 << 40] {
            for (settings, more) in [(&settings, false), (&fast, true)] {
                let said = check(settings, batch).unwrap_err().to_string();
                assert!(
                    said.contains("--batch") && said.contains("--accumulate") == more,
                    "{said}"
                );
            }
        }
    }
}
