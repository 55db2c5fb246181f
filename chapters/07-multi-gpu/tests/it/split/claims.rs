use backprop::train::Examples;
use multi_gpu::split::claims::{Sum, Trial, learn, read_differently};
use multi_gpu::split::hybrid::Grid;

fn digits() -> (Examples, Examples) {
    let set = lab::data::drawn(600, 200, 9);
    (Examples::of(&set.train), Examples::of(&set.test))
}

#[test]
fn a_split_learns_what_one_device_learns() {
    let (train, test) = digits();
    let one = Trial::one(1, 0.1, 30, 2);
    let wanted = learn(&one, &train, &test).unwrap();
    assert!(wanted.accuracy > 0.3, "{}", wanted.accuracy);
    for (data, stages, tensor) in [(4, 1, 1), (1, 2, 1), (1, 1, 2)] {
        let grid = Grid { data, stages, tensor };
        let found = learn(&Trial { grid, ..one.clone() }, &train, &test).unwrap();
        assert!(read_differently(&found, &wanted) <= 1, "{grid:?}");
    }
}

#[test]
fn the_wrong_sum_is_another_learning_rate() {
    let (train, test) = digits();
    let grid = Grid::replicas_of(2);
    let slow = Trial { grid, sum: Sum::DividedTwice, ..Trial::one(1, 0.1, 30, 1) };
    let fast = Trial { grid, sum: Sum::OfMeans, ..Trial::one(1, 0.025, 30, 1) };
    let right = Trial::one(1, 0.05, 30, 1);
    let [slow, fast, right] = [slow, fast, right].map(|p| learn(&p, &train, &test).unwrap());
    assert!(read_differently(&slow, &right) <= 1 && read_differently(&fast, &right) <= 1);
}
