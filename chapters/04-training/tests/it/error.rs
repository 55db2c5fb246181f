use training::error::Error;

#[test]
fn a_run_that_diverges_hears_which_choice_was_too_large() {
    let said = |lr, decay| {
        let what = "the loss became NaN".to_owned();
        Error::Diverged { epoch: 1, step: 2, lr, chosen: lr, decay, what }.to_string()
    };
    let wild = said(1e308, 0.0);
    assert!(
        wild.ends_with(
            "a learning rate of 1e308; start again with a smaller one, such as --lr 0.001"
        ),
        "{wild}"
    );
    assert!(said(0.003, 0.01).ends_with("such as --lr 0.0003"), "{}", said(0.003, 0.01));
    let planned = said(999.732_293_738, 0.0);
    assert!(planned.contains("a learning rate of 1000; "), "{planned}");
    let decays = said(0.001, 1e23);
    assert!(
        decays.contains("a weight decay of 1e23") && decays.ends_with("--decay 0.01"),
        "{decays}"
    );
}
