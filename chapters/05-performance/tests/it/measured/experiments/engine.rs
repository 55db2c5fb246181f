mod models;
mod race;

use backprop::count::Model;
use performance::{
    engine::ladder::MODELS,
    measured::experiments::engine::{operations, parameters},
};

#[test]
fn operations_and_parameters_are_those_that_chapter_3_counts() {
    for (_, sizes) in MODELS {
        let counts = Model::mlp(sizes).unwrap().count().unwrap();
        let (found, wanted) = (operations(sizes), counts.forward + counts.backward);
        assert!((found - wanted).abs() < 0.5, "{found}, not {wanted}");
        assert_eq!(parameters(sizes) as u64, counts.parameters);
    }
}
