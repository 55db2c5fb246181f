//! The test of the exercise `where-to-convert`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Choice, Operation, best, seconds};
use lab::random::SplitMix64;

/// A product that a matrix unit does eight times as fast in 16 bits.
const PRODUCT: Operation = Operation { wide: 8.0, narrow: Some(1.0), convert: 0.5 };

/// An operation on each value, whose conversions inside cost more than the bytes that it saves, as on a CPU
/// on which the matrix unit alone computes in 16 bits.
const RELU: Operation = Operation { wide: 0.5, narrow: Some(0.7), convert: 0.5 };

/// A loss, which stays in f32.
const LOSS: Operation = Operation { wide: 0.1, narrow: None, convert: 0.1 };

#[track_caller]
fn chooses(chain: &[Operation], wanted: &[bool]) {
    let found = best(chain);
    let [took, least] = [&found[..], wanted].map(|choice| seconds(chain, choice));
    assert_eq!(found, wanted, "{took} seconds, and not {least}");
}

#[test]
fn one_conversion_pays_for_many_products_and_what_must_stay_in_f32_stays() {
    chooses(&[PRODUCT, RELU, PRODUCT, RELU, PRODUCT, LOSS], &[true, true, true, true, true, false]);
    chooses(&[LOSS], &[false]);
    chooses(&[PRODUCT, LOSS, PRODUCT, LOSS], &[true, false, true, false]);
    chooses(&[], &[]);
}

#[test]
fn a_small_product_is_not_worth_two_conversions() {
    let small = Operation { wide: 1.0, narrow: Some(0.5), convert: 0.3 };
    chooses(&[small, LOSS, small, LOSS], &[true, false, true, false]);
    let loss = Operation { convert: 0.3, ..LOSS };
    chooses(&[small, loss, small, loss], &[false; 4]);
    chooses(&[small, small, small, loss], &[true, true, true, false]);
}

/// The least time of all choices.
fn least(chain: &[Operation]) -> f64 {
    let choice =
        |bits: usize| -> Choice { (0..chain.len()).map(|at| (bits >> at) & 1 == 1).collect() };
    (0..1 << chain.len()).map(|bits| seconds(chain, &choice(bits))).fold(f64::INFINITY, f64::min)
}

/// A chain of operations that each may be faster in either format.
fn drawn(len: usize, random: &mut SplitMix64) -> Vec<Operation> {
    let mut operation = || Operation {
        wide: random.unit(),
        narrow: (random.below(5) > 0).then(|| random.unit()),
        convert: 0.4 * random.unit(),
    };
    (0..len).map(|_| operation()).collect()
}

#[test]
fn no_other_choice_is_faster() {
    let mut random = SplitMix64::new(1);
    for len in 0..=11 {
        for _ in 0..30 {
            let chain = drawn(len, &mut random);
            let choice = best(&chain);
            assert_eq!(choice.len(), len, "a format for each operation");
            let (found, wanted) = (seconds(&chain, &choice), least(&chain));
            assert!(found <= wanted + 1e-12, "{found} seconds, and not {wanted}: {chain:?}");
        }
    }
}

#[test]
fn a_long_chain_can_be_chosen_for() {
    let chain = drawn(2000, &mut SplitMix64::new(2));
    let choice = best(&chain);
    let [found, wide] = [&choice, &vec![false; 2000]].map(|choice| seconds(&chain, choice));
    println!("{found:.0} seconds, and {wide:.0} in f32");
    assert!(found < wide, "{found} seconds, and {wide} in f32");
    // No single operation is better off in the other format.
    for at in 0..chain.len() {
        let mut other = choice.clone();
        other[at] = !other[at];
        let time = seconds(&chain, &other);
        assert!(time >= found - 1e-9, "operation {at}: {time} in its other format");
    }
}
