use backprop::{count::Model, fits::Moves};
use performance::memory::predict::{Operation, Timeline, least, mlp, timeline};

#[test]
fn the_highest_point_of_a_step_by_hand() {
    let mut step = Timeline { fixed: 100, operations: Vec::new() };
    step.operations.push(Operation { makes: 10, ..Operation::default() });
    step.operations.push(Operation {
        makes: 20,
        drops: 10,
        aside: 5,
        gradients: 40,
        kept: 20,
        aside_back: 3,
    });
    // Forward: 110, then 135 and back to 120; backward: 160 and 3 more.
    assert_eq!(step.peak(), 163);
}

#[test]
fn an_mlp_by_hand() {
    let model = mlp().unwrap();
    let step = timeline(&model, 7, Moves::Adam, 1).unwrap();
    let weights: u64 = 784 * 128 + 128 + 1280 + 10;
    assert_eq!(step.fixed, 4 * 4 * weights);
    // At the end: the images, their gradient, four gradients of the hidden layer and eight of the scores.
    let each = 784 + 784 + 4 * 128 + 10 + 10 + 5 * 10 + 2;
    let wanted = step.fixed + 4 * 7 * each;
    let found = step.peak();
    assert!(found.abs_diff(wanted) <= wanted / 100, "{found} and {wanted}");
}

#[test]
fn what_cannot_be_is_refused() {
    let model = mlp().unwrap();
    assert!(timeline(&model, 0, Moves::Sgd, 1).is_err());
    let none = Model { layers: vec![], ..model };
    assert!(timeline(&none, 1, Moves::Sgd, 1).is_err() && least(&none, 1, Moves::Sgd).is_err());
}
