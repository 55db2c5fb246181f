use super::job::batches;
use backprop::{sgd::Sgd, softmax::best, train::Examples};
use engine::{cpu::Cpu, program::Numbers, step::Step};
use multi_gpu::split::claims::{Sum, Trial, answers, learn, read_differently};
use multi_gpu::split::equality::{Strategy, split};
use multi_gpu::split::hybrid::Grid;
use multi_gpu::split::job::{Job, Network, Rule};

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

#[test]
fn a_network_that_was_split_predicts_what_one_device_does() {
    let (_, test) = digits();
    let (batches, rows) = (batches(784, 10, &[9], 3), test.len());
    let dense = Network::Dense(vec![784, 12, 10]);
    for network in [dense, Network::Cnn(0.0), Network::Resnet, Network::Rnn, Network::Transformer] {
        let job = Job { network, seed: 3, rule: Rule::Sgd(Sgd { lr: 0.1, momentum: 0.9 }) };
        let (model, rule) = (job.model().unwrap(), job.rule.of_engine());
        let mut one = Step::on(Cpu::new(1), model, 3, rule);
        for batch in &batches {
            one.fill(9, &batch.x, &batch.words());
            one.gradient(9, Numbers::F32);
            one.update(0.0);
        }
        one.fill(rows, &test.pixels, &vec![0; rows]);
        let scores = one.predict(rows);
        let wanted: Vec<u8> = scores.chunks_exact(10).map(|row| best(row) as u8).collect();
        let trained = split(Strategy::Layers, 2, &job, &batches).unwrap();
        assert_eq!(answers(&job, &trained.parameters, &test).unwrap(), wanted, "{job:?}");
    }
}
