use language_model::Error;

#[test]
fn an_error_says_what_to_do() {
    for (lr, such) in [
        (3e-3, "such as --lr 1.0e-3"),
        (1e30, "such as --lr 1.0e-3"),
        (3e-4, "such as --lr 1.0e-4"),
    ] {
        let error =
            Error::Diverged { step: 7, lr, what: "the gradient's norm", found: f64::INFINITY };
        let text = lab::Error::from(error).to_string();
        assert!(text.contains("norm became inf in step 7") && text.contains(such), "{text}");
    }
    let text = Error::TooShort { found: 3, context: 128 }.to_string();
    assert!(text.contains("at least 129"), "{text}");
}
