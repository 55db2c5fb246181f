use hardware::cards::{Figure, Format, Market, is_date};

#[test]
fn the_table_is_whole_and_within_reason() {
    let market = Market::load().unwrap();
    assert!(market.cards.len() >= 20, "{}", market.cards.len());
    let mut ids: Vec<&str> = market.cards.iter().map(|card| card.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), market.cards.len(), "a card is there twice");
    for card in &market.cards {
        let within = |figure: &Figure, low: f64, high: f64| {
            assert!((low..=high).contains(&figure.value), "{}: {figure:?}", card.id);
        };
        within(&card.memory, 0.5e9, 10e12);
        // On-chip memory is a thousand times as fast.
        within(&card.bandwidth, 50e9, if card.memory.value < 50e9 { 25e15 } else { 25e12 });
        for figure in Format::ALL.iter().filter_map(|_| card.f32.as_ref()) {
            within(figure, 1e12, 1e15);
        }
        for figure in [&card.power, &card.price, &card.link, &card.cores].into_iter().flatten() {
            within(figure, 30.0, 2e12);
        }
        assert!((2015..=2027).contains(&card.year), "{}", card.id);
        assert!(card.training().is_some() || card.note.is_some(), "{} needs a word", card.id);
    }
}

#[test]
fn fewer_bits_are_never_slower() {
    for card in Market::load().unwrap().cards {
        let rates = Format::ALL.map(|format| card.rate(format));
        let [f32, tf32, f16, bf16, fp8] = rates;
        for (wide, narrow) in [(f32, tf32), (tf32, bf16), (f32, bf16), (f32, f16), (bf16, fp8)] {
            if let (Some(wide), Some(narrow)) = (wide, narrow) {
                assert!(narrow >= wide, "{}: {narrow} < {wide}", card.id);
                // A matrix unit is at most 28 times as fast as the vectors (B200); more would be a slip.
                assert!(narrow <= 29.0 * wide, "{}: {narrow} > 29·{wide}", card.id);
            }
        }
        if let (Some(f16), Some(bf16)) = (f16, bf16) {
            assert!((f16 - bf16).abs() < 1e-9 * f16, "{}: f16 and bf16 differ", card.id);
        }
    }
}

#[test]
fn rates_are_dense() {
    // Cores × operations a clock × clock, as NVIDIA's and AMD's papers compute them.
    let market = Market::load().unwrap();
    for (id, wanted) in [
        ("a100-80", 1.410e9 * 256.0 * 2.0 * 432.0),
        ("h100", 1.830e9 * 512.0 * 2.0 * 528.0),
        ("mi300x", 2.1e9 * 256.0 * 2.0 * 1216.0),
        ("mi250x", 1.7e9 * 128.0 * 2.0 * 880.0),
        ("gaudi-2", 1.65e9 * 65_536.0 * 2.0 * 2.0),
        ("rtx-4090", 2.52e9 * 64.0 * 2.0 * 512.0),
        ("rtx-4070", 2.475e9 * 64.0 * 2.0 * 184.0),
    ] {
        let found = market.card(id).unwrap().rate(Format::Bf16).unwrap();
        assert!((found / wanted - 1.0).abs() < 0.01, "{id}: {found:e}, and not {wanted:e}");
    }
}

#[test]
fn what_was_measured_is_below_the_peak() {
    let market = Market::load().unwrap();
    for measured in &market.measured {
        let card = market.card(&measured.card).unwrap();
        let limit = match measured.format {
            Some(format) => card.rate(format).unwrap(),
            None => card.bandwidth.value,
        };
        assert!(measured.value < limit, "{measured:?} above {limit:e}");
        assert!(measured.value > 0.1 * limit, "{measured:?} far below {limit:e}");
    }
}

#[test]
fn prices_are_for_one_card_and_dated() {
    let market = Market::load().unwrap();
    let prices = market.prices("h100");
    assert!(prices.len() >= 3 && prices.is_sorted());
    assert!(prices[0] > 1.0 && prices[prices.len() - 1] < 15.0, "{prices:?}");
    assert!(market.prices("no-such-card").is_empty());
    for offer in &market.offers {
        assert!(offer.card == "two-cores" || market.card(&offer.card).is_ok(), "{offer:?}");
    }
    let (oldest, newest) = market.price_dates().unwrap();
    assert!(oldest <= newest);
}

#[test]
fn a_spoilt_file_is_refused_with_the_way_out() {
    let (cards, cloud) =
        (include_str!("../../data/accelerators.json"), include_str!("../../data/cloud.json"));
    for (wrong, why) in [
        (cards.replace("\"2022-03-22\"", "\"22.3.2022\""), "no date"),
        (
            cards.replace(
                "\"value\": 700, \"source\": \"nv-h100\"",
                "\"value\": 700, \"source\": \"me\"",
            ),
            "no source",
        ),
        (cards.replace("\"value\": 700,", "\"value\": 0,"), "above zero"),
        ("{}".to_owned(), "missing field"),
    ] {
        let error = Market::from_json(&wrong, cloud).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("accelerators.json"), "{error}");
    }
    let error = Market::from_json(cards, &cloud.replace("\"cards\": 1,", "\"cards\": 0,"));
    assert!(error.unwrap_err().to_string().contains("cloud.json"));
    assert!(Market::load().unwrap().card("h1000").unwrap_err().to_string().contains("h100, "));
    assert!(["2026-1-1", "2026-13-01", "1926-01-01", "x", ""].iter().all(|text| !is_date(text)));
    assert!("bf17".parse::<Format>().is_err() && "bf16".parse::<Format>().is_ok());
}
