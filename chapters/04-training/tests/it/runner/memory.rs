use training::{config::Model, runner::memory::check};

#[test]
fn a_batch_beyond_all_memory_is_refused_and_a_usual_one_is_not() {
    for model in Model::ALL {
        check(model, training::Settings::of(model).batch).unwrap();
        for batch in [usize::MAX, 1 << 40] {
            let said = check(model, batch).unwrap_err().to_string();
            assert!(said.contains("--batch"), "{said}");
        }
    }
}
