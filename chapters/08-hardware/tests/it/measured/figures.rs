use hardware::{
    Market,
    measured::{
        experiments::TIME,
        figures::{FAMILIES, RENTED, figures, moment, sittings, table_rented, tables},
    },
};
use lab::{
    Drawing, Figure, Table,
    testing::{self, MadeUp},
};
use training::Model;

#[test]
fn figures_and_tables_say_what_they_show() {
    let mut made_up = MadeUp::default();
    for (model, minutes) in Model::ALL.into_iter().zip(1..) {
        made_up.add(TIME.at(&[("model", &model)]), 60.0 * f64::from(minutes));
    }
    let records = made_up.records(&hardware::chapter());
    let mut tables = tables();
    tables.retain(|table| table.key != RENTED);
    // One needs records; the others are made of the chapter's tables alone.
    let (made, calculated): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|table| table.key == "hardware.time.models");
    testing::are_drawn(&[], &made, &records);
    for Figure { key, draw } in figures() {
        let Drawing { svg, caption, alt, .. } = draw(&testing::unmeasured()).unwrap();
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{key}");
        let text = format!("{caption} {alt}");
        assert!(text.len() > 100 && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    for Table { key, make } in calculated {
        let data = make(&testing::unmeasured()).unwrap();
        assert!(data.rows.len() > 2 && data.caption.len() > 40, "{key}");
    }
}

#[test]
fn every_card_with_a_rate_is_in_one_family() {
    for card in Market::load().unwrap().cards.iter().filter(|card| card.ridge().is_some()) {
        let families = FAMILIES.iter().filter(|(_, belongs)| belongs(card)).count();
        assert_eq!(families, 1, "{}", card.id);
    }
}

#[test]
fn a_date_is_a_moment() {
    assert_eq!(moment("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(moment("2024-02-29T23:59:59Z"), Some(1_709_251_199));
    assert_eq!(moment("2026-11-26T09:13:28Z"), Some(1_795_684_408));
    assert_eq!(moment("yesterday"), None);
}

#[test]
fn a_sitting_ends_where_nothing_began_for_long() {
    let mut records = testing::unmeasured();
    let chapter = hardware::chapter();
    let one = MadeUp::default().add(TIME.at(&[("model", &"mlp")]), 1.0).records(&chapter);
    let run = one.runs().next().unwrap();
    let at = |date: &str| lab::record::Run { date: date.to_owned(), ..run.clone() };
    let runs = ["2026-01-01T11:05:00Z", "2026-01-01T10:50:00Z", "2026-01-01T12:00:00Z"].map(at);
    let record = lab::record::ChapterRecord { runs: runs.into() };
    records.chapters.insert("hardware".to_owned(), record);
    assert_eq!(sittings(&records), [(2, 900), (1, 0)]);
    let without = table_rented(&records).unwrap_err().to_string();
    assert!(without.contains("no card"), "{without}");
    records.machine.gpus = vec!["NVIDIA H100 80GB HBM3".to_owned()];
    let table = table_rented(&records).unwrap();
    let prices = Market::load().unwrap().prices("h100");
    assert_eq!(table.rows[0][3], format!("{:.2}", prices[0] / 4.0), "a quarter of an hour");
    for (gpu, card) in [
        ("NVIDIA L40S", Some("L40S")),
        ("NVIDIA L4", Some("L4")),
        ("NVIDIA A100-SXM4-80GB", Some("A100 SXM 80 GB")),
        ("NVIDIA A100-SXM4-40GB", Some("A100 SXM 40 GB")),
        ("NVIDIA GeForce RTX 4090", Some("RTX 4090")),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
    ] {
        records.machine.gpus = vec![gpu.to_owned()];
        let said = table_rented(&records).ok().map(|table| table.caption);
        let wanted = card.map(|card| format!("{card} was measured"));
        assert_eq!(said.is_some(), wanted.is_some(), "{gpu}");
        assert!(said.unwrap_or_default().contains(&wanted.unwrap_or_default()), "{gpu}");
    }
}
