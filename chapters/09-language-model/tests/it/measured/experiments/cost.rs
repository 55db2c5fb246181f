use hardware::{Market, Options, buy};
use lab::testing;
use language_model::measured::experiments::cost::{CARD, Here, Training, experiments, trainings};

#[test]
fn twenty_tokens_a_parameter_and_the_published_size_of_gpt_2() {
    let [.., gpt2, seven] = trainings();
    assert!((gpt2.parameters - 124_439_808.0).abs() < 0.5);
    assert!((seven.tokens() / 140e9 - 1.0).abs() < 1e-12);
    assert!((seven.operations() / 5.88e21 - 1.0).abs() < 1e-9);
}

#[test]
fn every_training_has_its_hours_and_its_price() {
    let found = testing::run(&experiments()[0]);
    assert_eq!(found.values.len(), 2 + 3 * 4 + 2 + 4 * 2 * 4 * 2);
    assert!(found.values.iter().all(|value| value.median > 0.0));
}

#[test]
fn every_training_fits_the_card_and_costs_more_the_larger_it_is() {
    let market = Market::load().unwrap();
    let rent = |training: Training| {
        let job = training.job().unwrap();
        let options = Options { only: vec![CARD.to_owned()], ..Options::of(job) };
        let report = buy(&market, &options).unwrap();
        assert!(report.refused.is_empty(), "{:?}", report.refused);
        report.lines[0].rent.unwrap().middle()
    };
    assert!(trainings().map(rent).is_sorted());
    let two = Here::of(&market, 2).unwrap();
    assert!(two.kw.low > 0.0 && two.kw.high < 0.02 && two.usd > 0.0);
}
