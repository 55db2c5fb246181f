use backprop::count::Model;
use backprop::fits::{Bytes, Moves, bytes, largest_batch};

#[test]
fn vgg16_on_a_card_by_hand() {
    let counts = Model::vgg16().count().unwrap();
    let bytes = Bytes::of(&counts, 32, Moves::Adam);
    assert_eq!(bytes.weights, 4 * 138_357_544);
    assert_eq!(bytes.optimizer, 2 * bytes.weights);
    assert_eq!(bytes.activations, 32 * 4 * counts.kept);
    let batch = largest_batch(&counts, 24 << 30, Moves::Adam);
    assert!(Bytes::of(&counts, batch, Moves::Adam).total() <= 24 << 30);
    assert!(Bytes::of(&counts, batch + 1, Moves::Adam).total() > 24 << 30);
    assert!(largest_batch(&counts, 24 << 30, Moves::Sgd) > batch);
    assert_eq!(largest_batch(&counts, 1 << 30, Moves::Adam), 0);
}

#[test]
fn amounts_are_read_as_people_write_them() {
    for (text, wanted) in [
        ("24GiB", 24 << 30),
        ("24 gib", 24 << 30),
        ("0.5MiB", 1 << 19),
        ("80GB", 80_000_000_000),
        ("1000", 1000),
        ("16g", 16 << 30),
    ] {
        assert_eq!(bytes(text).unwrap(), wanted, "{text}");
    }
    for bad in ["", "GiB", "-1GiB", "24 giraffes", "0", "inf"] {
        assert!(bytes(bad).is_err(), "{bad}");
    }
}

#[test]
fn endless_batches_are_too_large_and_nothing_overflows() {
    let counts = Model::vgg16().count().unwrap();
    assert_eq!(Bytes::of(&counts, u64::MAX, Moves::Adam).total(), u64::MAX);
}
