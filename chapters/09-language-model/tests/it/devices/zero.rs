use language_model::train::adamw::inside;

#[test]
fn a_part_has_its_pieces_of_the_tensors() {
    let tensors = || vec![(0..4, true), (4..6, false), (6..12, true)];
    assert_eq!(inside(&tensors(), &(0..12)), tensors());
    assert_eq!(inside(&tensors(), &(3..8)), [(0..1, true), (1..3, false), (3..5, true)]);
    assert_eq!(inside(&tensors(), &(7..9)), [(0..2, true)]);
    assert_eq!(inside(&tensors(), &(12..12)), []);
}
