use language_model::error::{Error, count};

#[test]
fn an_error_says_what_to_do() {
    let error = Error::Diverged { step: 7, lr: 3e-3, loss: f64::NAN };
    let text = lab::Error::from(error).to_string();
    assert!(text.contains("step 7") && text.contains("such as 1.0e-3"), "{text}");
    let text = Error::TooShort { found: 3, context: 128 }.to_string();
    assert!(text.contains("at least 129"), "{text}");
    assert!(count("x", 1, 2).is_err() && count("x", 2, 2).is_ok());
}
