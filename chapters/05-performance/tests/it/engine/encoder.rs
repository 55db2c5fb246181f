use backprop::check;
use dfdx::prelude::*;
use performance::engine::encoder::block;
use training::transformer::{Attention, Block, PATCHES, Transformer, WIDTH};
use training::{model::build, norm::Rows};

type Grads = Gradients<f32, Cpu>;

fn first_block(dev: &Cpu) -> Block<f32, Cpu> {
    build::<Transformer<f32, Cpu>, Cpu>(dev).unwrap().block1
}

#[test]
fn a_block_in_two_operations_is_the_block() {
    for images in [1, 3] {
        let dev = Cpu::seed_from_u64(images as u64);
        let plain = first_block(&dev);
        let x: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(images * PATCHES, Const));
        let up: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(images * PATCHES, Const));
        let (ours, tape) = block(&plain, x.leaky_trace()).unwrap().split_tape();
        let (theirs, other) = plain.forward(x.leaky_trace()).unwrap().split_tape();
        let close = |a: Vec<f32>, b: Vec<f32>, what: &str| {
            let error = check::error_f32(&a, &b);
            assert!(error < 1e-5, "{what}: {error}");
        };
        close(ours.as_vec(), theirs.as_vec(), "y");
        let (ours, theirs) = (ours.put_tape(tape), theirs.put_tape(other));
        let [a, b]: [Grads; 2] = [ours, theirs].map(|y| (y * up.clone()).sum().backward());
        close(a.get(&x).as_vec(), b.get(&x).as_vec(), "x");
        let Block { norm1, attention, norm2, wide, narrow } = &plain;
        let Attention { query, key, value, merge } = attention;
        for (what, norm) in [("norm1", norm1), ("norm2", norm2)] {
            close(a.get(&norm.gamma).as_vec(), b.get(&norm.gamma).as_vec(), what);
            close(a.get(&norm.beta).as_vec(), b.get(&norm.beta).as_vec(), what);
        }
        // The bias of the keys moves all scores of a query alike: its gradient is zero but for rounding.
        for (what, layer) in [("query", query), ("key", key), ("value", value), ("merge", merge)] {
            close(a.get(&layer.weight).as_vec(), b.get(&layer.weight).as_vec(), what);
            if what != "key" {
                close(a.get(&layer.bias).as_vec(), b.get(&layer.bias).as_vec(), what);
            }
        }
        close(a.get(&wide.weight).as_vec(), b.get(&wide.weight).as_vec(), "wide");
        close(a.get(&wide.bias).as_vec(), b.get(&wide.bias).as_vec(), "wide");
        close(a.get(&narrow.weight).as_vec(), b.get(&narrow.weight).as_vec(), "narrow");
        close(a.get(&narrow.bias).as_vec(), b.get(&narrow.bias).as_vec(), "narrow");
    }
}

#[test]
fn rows_of_half_an_image_are_refused() {
    let dev = Cpu::seed_from_u64(1);
    let plain = first_block(&dev);
    let x: Rows<WIDTH, Cpu> = dev.zeros_like(&(PATCHES / 2, Const));
    assert!(block(&plain, x.leaky_trace()).is_err());
    let none: Rows<WIDTH, Cpu> = dev.zeros_like(&(0, Const));
    assert_eq!(block(&plain, none.leaky_trace()).unwrap().shape().0, 0);
}
