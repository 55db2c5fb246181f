use backprop::measured::{peers::Answer, race::OURS};
use lab::data::Source;
use performance::measured::experiments::engine::models::{EPOCHS, cases, engines, pytorch};
use std::path::Path;
use training::Model;

#[test]
fn both_engines_run_every_model() {
    let data = lab::data::drawn(40, 10, 1);
    for case in cases() {
        let results = engines(case, &data).rounds(1).unwrap();
        for who in [OURS, "plain"] {
            let Answer { seconds, accuracy, .. } = &results.of(who).unwrap()[0];
            assert_eq!(seconds.len(), EPOCHS, "{case:?}, {who}");
            assert!((0.0..=1.0).contains(accuracy), "{case:?}, {who}: {accuracy}");
        }
    }
    assert_eq!(cases().count(), 7, "only the residual network has another batch");
}

#[test]
fn the_peer_is_there_and_wants_images_where_it_can_turn_them() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pytorch_models.py");
    assert!(program.is_file());
    let why = pytorch(Model::Rnn, "pytorch-nhwc", &Source::Drawn).err().unwrap();
    assert!(why.contains("convolutions"), "{why}");
}
