use backprop::measured::peers::Answer;
use backprop::train::{Examples, Settings};
use performance::measured::experiments::engine::race::{RACERS, crates};

#[test]
fn everyone_without_python_runs() {
    let data = lab::data::drawn(120, 40, 1);
    let examples = (Examples::of(&data.train), Examples::of(&data.test));
    let settings = Settings { batch: 50, epochs: 2, ..Settings::default() };
    let results = crates(&settings, &data, (&examples.0, &examples.1)).rounds(1).unwrap();
    assert_eq!(results.ran().count(), 3);
    for who in results.ran() {
        let Answer { seconds, accuracy, .. } = &results.of(who).unwrap()[0];
        assert_eq!(seconds.len(), 2, "{who}");
        assert!((0.0..=1.0).contains(accuracy), "{who}: {accuracy}");
        assert!(RACERS.contains(&who));
    }
}
