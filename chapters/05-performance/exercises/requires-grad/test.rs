//! The test of the exercise `requires-grad`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Value::{self, Data, Elementwise, Parameter, Product};
use exercise::{backward, needed};
use lab::random::SplitMix64;

/// Weights that are trained.
const W: Value = Parameter { trained: true };

fn product((of, flops): ([usize; 2], u64)) -> Value {
    Product { of, flops }
}

/// A network of dense layers with ReLU. Layer l has `flops[l]`, and is trained or not.
fn layers(flops: &[u64], trained: &[bool]) -> Vec<Value> {
    let mut network = vec![Data];
    let mut push = |value| {
        network.push(value);
        network.len() - 1
    };
    let mut x = 0;
    for (flops, trained) in flops.iter().zip(trained) {
        let w = push(Parameter { trained: *trained });
        let b = push(Parameter { trained: *trained });
        let y = push(Product { of: [x, w], flops: *flops });
        let y = push(Elementwise(vec![y, b]));
        x = push(Elementwise(vec![y]));
    }
    let labels = push(Data);
    push(Elementwise(vec![x, labels]));
    network
}

#[track_caller]
fn takes(flops: &[u64], trained: &[bool], wanted: u64) {
    let found = backward(&layers(flops, trained));
    assert_eq!(found, wanted, "operations backward, layers of {flops:?}, trained: {trained:?}");
}

#[test]
fn the_gradient_of_the_images_is_left_out() {
    takes(&[100, 10, 1], &[true; 3], 2 * 111 - 100);
    takes(&[7], &[true], 7);
    let network = layers(&[100, 10], &[true; 2]);
    for (at, (value, found)) in network.iter().zip(needed(&network)).enumerate() {
        assert_eq!(found, *value != Data, "the derivative of value {at}, {value:?}");
    }
}

#[test]
fn the_backward_pass_ends_at_the_first_trained_layer() {
    takes(&[100, 10, 1], &[false, false, true], 1);
    takes(&[100, 10, 1], &[false, true, true], 10 + 2);
    takes(&[100, 10, 1], &[true, false, false], 100 + 10 + 1);
    takes(&[100, 10, 1], &[false; 3], 0);
}

#[test]
fn what_the_loss_does_not_depend_on_costs_nothing() {
    // The hidden layer has a second head, which no loss uses.
    let [hidden, unused, used] = [([0, 1], 100), ([2, 3], 10), ([2, 5], 1)].map(product);
    let network = [Data, W, hidden, W, unused, W, used, Elementwise(vec![6])];
    let wanted = [false, true, true, false, false, true, true, true];
    assert_eq!(needed(&network), wanted, "the derivatives that are needed");
    assert_eq!(backward(&network), 100 + 2, "operations backward");
}

#[test]
fn a_shared_weight_is_counted_for_each_use() {
    let [first, second, last] = [([0, 1], 5), ([2, 1], 3), ([3, 3], 2)].map(product);
    let network = [Data, W, first, second, last];
    assert_eq!(backward(&network), 5 + 2 * 3 + 2 * 2, "operations backward");
    assert!(needed(&[]).is_empty());
    assert_eq!(backward(&[]), 0);
}

/// Whether value `to` is `from`, or computed from it.
fn leads(network: &[Value], from: usize, to: usize) -> bool {
    from == to || network[to].operands().iter().any(|of| leads(network, from, *of))
}

#[test]
fn networks_of_any_shape() {
    let mut random = SplitMix64::new(3);
    for _ in 0..200 {
        let mut network = vec![Data, W];
        for at in 2..12 {
            let [a, b] = [(); 2].map(|()| random.below(at));
            network.push(match random.below(5) {
                0 => Data,
                1 => Parameter { trained: random.below(2) == 0 },
                2 => Elementwise(vec![a, b]),
                _ => Product { of: [a, b], flops: 1 << at },
            });
        }
        let trained = |at: &usize| network[*at] == W;
        let is_needed = |value: usize| {
            let moves = (0..network.len()).filter(trained).any(|p| leads(&network, p, value));
            moves && leads(&network, value, network.len() - 1)
        };
        let wanted: Vec<bool> = (0..network.len()).map(is_needed).collect();
        assert_eq!(needed(&network), wanted, "{network:?}");
        let of = |at: usize| match network[at] {
            Product { of, flops } if wanted[at] => of.map(|of| u64::from(wanted[of]) * flops),
            _ => [0; 2],
        };
        let flops: u64 = (0..network.len()).flat_map(of).sum();
        assert_eq!(backward(&network), flops, "{network:?}");
    }
}
