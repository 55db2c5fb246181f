//! Every kernel is right where it runs line by line; and what is wrong there is found.

use tile::{
    catalog::Kernel,
    check::{Checker, KINDS, numbers},
    interpreter::{launch, run},
    library::tile_ir,
};

/// The kind of that number, as it is compiled for a generation.
fn is_right(kind: usize, target: &str) {
    let (name, check) = KINDS[kind];
    let launch =
        |kernel: &Kernel, inputs: &[Vec<f32>], scalar| launch(kernel, target, inputs, scalar);
    check(&mut Checker::new(target, &launch)).unwrap_or_else(|why| panic!("{name}: {why}"));
}

#[test]
fn products_are_right() {
    is_right(0, "sm_90");
}

#[test]
fn products_in_smaller_tiles_are_right() {
    is_right(0, "sm_80");
}

#[test]
fn layers_are_right() {
    is_right(1, "sm_90");
}

#[test]
fn losses_and_their_gradients_are_right() {
    is_right(2, "sm_90");
}

#[test]
fn norms_and_their_gradients_are_right() {
    is_right(3, "sm_90");
}

#[test]
fn attention_and_its_gradients_are_right() {
    is_right(4, "sm_90");
}

/// A change to a kernel's text is noticed by the check of its kind: of sums, activation, mask, norm, and what is stored.
#[test]
fn mistakes_are_found() {
    for (kind, from, to) in [
        (0, "store_view_tko", "make_token"),
        (0, "constant <f32: 0.0>", "constant <f32: 0.5>"),
        (1, "= tanh", "= exp"),
        (2, "constant <f32: -inf>", "constant <f32: 0.0>"),
        (3, "= rsqrt", "= exp"),
        (4, "greater_than_or_equal", "less_than"),
        (4, "= subf", "= addf"),
    ] {
        let launch = |kernel: &Kernel, inputs: &[Vec<f32>], scalar| {
            run(kernel, &tile_ir(kernel, "sm_90")?.replace(from, to), inputs, scalar)
        };
        let why = KINDS[kind].1(&mut Checker::new("sm_90", &launch)).unwrap_err();
        assert!(why.contains("are wrong"), "{from}: {why}");
    }
}

/// All programs take the same tile: each number would be written by all of them.
#[test]
fn programs_that_write_to_one_place_are_found() {
    let kernel = Kernel::new("column_sums", &["32", "64"], [40, 200, 0]).unwrap();
    let ir = tile_ir(&kernel, "sm_90").unwrap();
    let at = ir.find("store_view_tko").unwrap();
    let (before, store) = ir.split_at(at);
    let open = store.find('[').unwrap();
    let close = store.find(']').unwrap();
    let with = |index: &str| format!("{before}{}[{index}{}", &store[..open], &store[close..]);
    let inputs = [numbers(40 * 200, 1)];
    run(&kernel, &ir, &inputs, None).unwrap();
    let twice = run(&kernel, &with("0"), &inputs, None).unwrap_err();
    assert!(twice.contains("written twice"), "{twice}");
    let outside = run(&kernel, &with("4"), &inputs, None).unwrap_err();
    assert!(outside.contains("lies outside"), "{outside}");
}

/// A kernel that was compiled for rows of a multiple of 16 says so, and is not run for others.
#[test]
fn an_assumption_that_does_not_hold_is_found() {
    let kernel = |columns| Kernel::new("column_sums", &["32", "64"], [40, columns, 0]).unwrap();
    let ir = tile_ir(&kernel(208), "sm_90").unwrap();
    let why = run(&kernel(200), &ir, &[numbers(40 * 200, 1)], None).unwrap_err();
    assert!(why.contains("does not hold"), "{why}");
}
