//! The test of the exercise `parameters`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Layer, count};

fn vgg16() -> Vec<Layer> {
    let blocks = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)];
    let block = |(channels, times)| [vec![Layer::Conv { channels }; times], vec![Layer::Pool]];
    let dense = [4096, 4096, 1000].map(|units| Layer::Dense { units });
    blocks.into_iter().flat_map(block).flatten().chain(dense).collect()
}

#[test]
fn a_dense_layer_is_counted() {
    assert_eq!(count([1, 28, 28], &[Layer::Dense { units: 128 }]), (100_480, 200_704));
}

#[test]
fn a_convolution_and_a_pool_by_hand() {
    let layers = [Layer::Conv { channels: 4 }, Layer::Pool, Layer::Dense { units: 10 }];
    let weights = 9 * 2 * 4;
    let dense = 4 * 3 * 5 * 10;
    let wanted = (weights + 4 + dense + 10, 2 * weights * 6 * 10 + 2 * dense);
    assert_eq!(count([2, 6, 10], &layers), wanted);
}

#[test]
fn vgg16_has_its_published_number_of_parameters() {
    let (parameters, operations) = count([3, 224, 224], &vgg16());
    assert_eq!(parameters, 138_357_544);
    assert_eq!(operations / 1_000_000, 30_940);
}
