//! The test of the exercise `field-of-view`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Layer, field, side};

fn layer(k: usize, stride: usize, pad: usize) -> Layer {
    Layer { k, stride, pad }
}

#[test]
fn the_side_of_an_output() {
    for (of, input, wanted) in [
        (layer(5, 1, 2), 28, Some(28)),
        (layer(5, 1, 0), 14, Some(10)),
        (layer(2, 2, 0), 28, Some(14)),
        (layer(2, 2, 0), 7, Some(3)),
        (layer(3, 2, 1), 28, Some(14)),
        (layer(7, 2, 3), 224, Some(112)),
        (layer(5, 3, 0), 5, Some(1)),
        (layer(5, 1, 0), 4, None),
        (layer(5, 1, 1), 3, Some(1)),
    ] {
        assert_eq!(side(of, input), wanted, "{of:?} on {input}×{input}");
    }
}

/// The positions along one axis that depend on pixel `at`, through all layers.
fn reached(layers: &[Layer], input: usize, at: usize) -> Vec<bool> {
    let mut depends: Vec<bool> = (0..input).map(|pixel| pixel == at).collect();
    for layer in layers {
        let positions = (depends.len() + 2 * layer.pad - layer.k) / layer.stride + 1;
        let padding = vec![false; layer.pad];
        let padded = [&padding[..], &depends, &padding].concat();
        let sees = |position: usize| padded[position * layer.stride..][..layer.k].contains(&true);
        depends = (0..positions).map(sees).collect();
    }
    depends
}

#[test]
fn the_field_is_what_a_change_of_pixels_shows() {
    for layers in [
        vec![],
        vec![layer(3, 1, 1)],
        vec![layer(3, 1, 1); 3],
        vec![layer(5, 1, 2), layer(2, 2, 0), layer(5, 1, 0), layer(2, 2, 0)],
        vec![layer(7, 2, 3), layer(3, 2, 1), layer(3, 1, 1), layer(3, 2, 1)],
    ] {
        // A unit in the middle of the output, far from the borders.
        let middle = reached(&layers, 200, 0).len() / 2;
        let wanted = (0..200).filter(|at| reached(&layers, 200, *at)[middle]).count();
        println!("{} layers see {wanted}×{wanted} pixels", layers.len());
        assert_eq!(field(&layers), wanted, "{layers:?}");
    }
}
