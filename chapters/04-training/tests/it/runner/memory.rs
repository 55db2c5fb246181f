use training::{
    config::{EngineKind, Model},
    runner::memory::check,
};

#[test]
fn a_batch_beyond_all_memory_is_refused_and_a_usual_one_is_not() {
    for (engine, model) in EngineKind::ALL.into_iter().flat_map(|e| Model::ALL.map(|m| (e, m))) {
        check(engine, model, training::Settings::of(model).batch).unwrap();
        for batch in [usize::MAX, 1 << 40] {
            let said = check(engine, model, batch).unwrap_err().to_string();
            assert!(said.contains("--batch"), "{said}");
        }
    }
}
