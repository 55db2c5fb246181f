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
fn the_gradient_of_the_queries_is_right() {
    is_right(2, "sm_90");
}

/// A change to a kernel's text is noticed by the check of its kind: of sums, activation, mask, softmax, and what is stored.
#[test]
fn mistakes_are_found() {
    for (kind, from, to) in [
        (0, "store_view_tko", "make_token"),
        (0, "constant <f32: 0.0>", "constant <f32: 0.5>"),
        (1, "= tanh", "= exp"),
        (2, "greater_than_or_equal", "less_than"),
        (2, "= subf", "= addf"),
    ] {
        let launch = |kernel: &Kernel, inputs: &[Vec<f32>], scalar| {
            run(kernel, &tile_ir(kernel, "sm_90")?.replace(from, to), inputs, scalar)
        };
        let why = KINDS[kind].1(&mut Checker::new("sm_90", &launch)).unwrap_err();
        assert!(why.contains("are wrong"), "{from}: {why}");
    }
}

/// A product of 40×16 and 16×n, in small tiles.
fn small(n: usize) -> Kernel {
    Kernel::new("product", &["f32", "32", "64", "16"], [40, n, 16]).unwrap()
}

/// All programs take the same tile: each number would be written by all of them.
#[test]
fn programs_that_write_to_one_place_are_found() {
    let kernel = small(200);
    let ir = tile_ir(&kernel, "sm_90").unwrap();
    let at = ir.find("store_view_tko").unwrap();
    let (before, store) = ir.split_at(at);
    let open = store.find('[').unwrap();
    let close = store.find(']').unwrap();
    let with = |index: &str| format!("{before}{}[{index}{}", &store[..open], &store[close..]);
    let inputs = [numbers(40 * 16, 1), numbers(16 * 200, 2)];
    run(&kernel, &ir, &inputs, None).unwrap();
    let twice = run(&kernel, &with("0, 0"), &inputs, None).unwrap_err();
    assert!(twice.contains("written twice"), "{twice}");
    let outside = run(&kernel, &with("0, 4"), &inputs, None).unwrap_err();
    assert!(outside.contains("lies outside"), "{outside}");
}

/// A kernel that was compiled for rows of a multiple of 16 says so, and is not run for others.
#[test]
fn an_assumption_that_does_not_hold_is_found() {
    let ir = tile_ir(&small(208), "sm_90").unwrap();
    let inputs = [numbers(40 * 16, 1), numbers(16 * 200, 2)];
    let why = run(&small(200), &ir, &inputs, None).unwrap_err();
    assert!(why.contains("does not hold"), "{why}");
}
