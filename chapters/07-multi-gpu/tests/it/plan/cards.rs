use multi_gpu::plan::cards::{Card, LINKS, network};

#[test]
fn every_name_is_a_card_and_others_are_refused() {
    for name in Card::NAMES {
        let card = Card::named(name).unwrap();
        assert!(card.flops > card.flops_f32 && card.memory > 1e9 && card.rate(2.0) < card.flops);
        assert!(card.rate(4.0) < card.rate(2.0));
    }
    assert!(LINKS.iter().all(|links| network(links.0).is_ok()));
    let words = Card::named("abacus").unwrap_err().to_string();
    assert!(words.contains("h100") && network("rope").is_err(), "{words}");
}
