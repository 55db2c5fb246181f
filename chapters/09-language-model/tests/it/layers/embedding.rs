use language_model::layers::embedding::{backward, forward};

#[test]
fn a_token_that_occurs_twice_gets_both_derivatives() {
    let table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut rows = [0.0; 6];
    forward(&mut rows, &[2, 0, 2], &table, 2);
    assert_eq!(rows, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
    let mut dtable = [0.5; 6];
    let drows = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0];
    // Part by part: the first two tokens, and the last one.
    let (two, one) = dtable.split_at_mut(4);
    backward(two, 0, &drows, &[2, 0, 2], 2);
    backward(one, 2, &drows, &[2, 0, 2], 2);
    assert_eq!(dtable, [3.5, 4.5, 0.5, 0.5, 11.5, 22.5]);
}
