use performance::profile::cost::{Cost, Reader, numbers_after, shapes};

#[test]
fn a_type_gives_its_shapes_and_numbers() {
    let what = "a::b<x::Op, (usize, d::Const<128>), f32, (), d::Cpu>::{{closure}}";
    assert_eq!(shapes(what), [vec![None, Some(128)], vec![]]);
    assert_eq!(numbers_after("t::dense<28, 384, p::Timed<c>>", "dense<"), [28, 384]);
    assert_eq!(numbers_after("Norm<24, f32>", "Norm<"), [24]);
}

#[test]
fn the_lower_bound_is_the_slower_of_the_two() {
    let cost = Cost { products: 90.0, others: 10.0, bytes: 20.0 };
    assert!((cost.seconds(100.0, 10.0) - 2.0).abs() < 1e-12);
    assert!((cost.seconds(10.0, 10.0) - 10.0).abs() < 1e-12);
    assert!((cost.intensity() - 5.0).abs() < 1e-12);
}

#[test]
fn what_it_does_not_know_it_says() {
    let found = Reader::new(4).operations(&["my::own::thing<3>::{{closure}}"]);
    assert_eq!(found, [None]);
}
