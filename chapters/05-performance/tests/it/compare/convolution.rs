use crate::convolve::convolve;
use backprop::check::{error, wide};
use dfdx::prelude::*;
use lab::random::numbers;
use lab::testing::refused;
use performance::compare::convolution::{Layer, all_patches, direct, few_at_a_time};

#[test]
fn all_ways_are_the_definition() {
    let dev = Cpu::default();
    for layer in [
        Layer { name: "", side: 9, inputs: 1, outputs: 16, k: 5, pad: 2 },
        Layer { name: "", side: 7, inputs: 16, outputs: 32, k: 5, pad: 0 },
        Layer { name: "", side: 5, inputs: 24, outputs: 24, k: 3, pad: 1 },
        Layer { name: "", side: 1, inputs: 48, outputs: 48, k: 3, pad: 1 },
    ] {
        let images = numbers(3 * layer.image(), 1);
        let filters = numbers(layer.patch() * layer.outputs, 2);
        let Layer { side, inputs, outputs, k, pad, .. } = layer;
        let (weights, bias) = (wide(&filters), vec![0.0; outputs]);
        let of = |image| convolve(image, [&weights, &bias], [side, side, inputs], [k, pad]);
        let wanted: Vec<f64> = wide(&images).chunks_exact(layer.image()).flat_map(of).collect();
        let few = few_at_a_time(&images, &filters, layer, &dev);
        for way in [all_patches(&images, &filters, layer), few, direct(&images, &filters, layer)] {
            assert!(error(&wide(&way.unwrap()), &wanted) < 1e-6, "{layer:?}");
        }
        let operations = 2.0 * (wanted.len() / 3 * layer.patch()) as f64;
        assert!((layer.operations() - operations).abs() < 0.5);
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let layer = Layer { name: "", side: 6, inputs: 3, outputs: 17, k: 3, pad: 1 };
    let (image, filters) = (numbers(layer.image(), 3), numbers(layer.patch() * 17, 4));
    refused(few_at_a_time(&image, &filters, layer, &Cpu::default()), ["no layer"]);
    for way in [direct, all_patches] {
        refused(way(&image[1..], &filters, layer), ["no images"]);
    }
    assert!(all_patches(&[], &filters, layer).unwrap().is_empty());
}
