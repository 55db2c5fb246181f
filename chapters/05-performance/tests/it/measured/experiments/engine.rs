mod models;
mod race;

use backprop::count::Model;
use performance::measured::experiments::engine::{operations, parameters};

#[test]
fn operations_and_parameters_are_those_that_chapter_3_counts() {
    for sizes in [&[784, 128, 10][..], &[784, 512, 128, 10]] {
        let counts = Model::mlp(sizes).unwrap().count().unwrap();
        let (found, wanted) = (operations(sizes), counts.forward + counts.backward);
        assert!((found - wanted).abs() < 0.5, "{found}, not {wanted}");
        assert_eq!(parameters(sizes) as u64, counts.parameters);
    }
}
