use backprop::order::order;

#[test]
fn is_the_order_that_old_checkpoints_were_written_in() {
    assert_eq!(order(7, 3, 10), [3, 0, 6, 2, 1, 8, 9, 5, 7, 4]);
    assert_eq!(order(u64::MAX, 1, 12), [7, 1, 9, 5, 0, 4, 2, 3, 8, 11, 6, 10]);
}

#[test]
fn depends_on_seed_and_epoch_alone() {
    assert_eq!(order(1, 2, 100), order(1, 2, 100));
    assert_ne!(order(1, 2, 100), order(1, 3, 100));
    assert_ne!(order(1, 2, 100), order(2, 2, 100));
    assert_ne!(order(1, 2, 100), order(2, 1, 100));
}

#[test]
fn every_image_reaches_every_place() {
    // 4000 shuffles of four: each image is first about 1000 times (σ ≈ 27).
    let mut first = [0; 4];
    for epoch in 0..4000 {
        first[order(9, epoch, 4)[0]] += 1;
    }
    assert!(first.iter().all(|n| (850..1150).contains(n)), "{first:?}");
}
