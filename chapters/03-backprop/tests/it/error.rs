use backprop::error::{Error, count, rows};

#[test]
fn rows_are_whole_and_there_is_one() {
    assert_eq!(rows("x", 12, 4).unwrap(), 3);
    assert!(matches!(rows("x", 0, 4), Err(Error::EmptyBatch)));
    assert_eq!(rows("x", 13, 4).unwrap_err().to_string(), "x: 13 values are not rows of 4");
    assert!(rows("x", 3, 0).is_err());
    assert!(count("x", 1, 2).is_err() && count("x", 2, 2).is_ok());
}

#[test]
fn divergence_says_where_and_what_to_do() {
    let error = Error::Diverged { epoch: 2, step: 7, lr: 0.5, loss: f64::NAN };
    let text = lab::Error::from(error).to_string();
    assert!(text.contains("step 7 of epoch 2") && text.contains("such as 0.05"), "{text}");
}
