use training::learning::metrics::Epoch;

#[test]
fn an_epoch_reads_as_a_line() {
    let epoch = Epoch {
        epoch: 3,
        train_loss: 0.123_44,
        train_accuracy: 0.9631,
        test_loss: 0.1,
        test_accuracy: 0.971,
        validation_loss: None,
        validation_accuracy: None,
        seconds: 1.5,
        images_per_second: 40_000.0,
    };
    assert_eq!(
        epoch.to_string(),
        "epoch  3  train loss 0.1234, accuracy 96.31%  test loss 0.1000, accuracy 97.10%  \
         1.50 s, 40000 images/s"
    );
}
