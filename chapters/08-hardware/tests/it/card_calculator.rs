//! The page's calculator has the crate's data and calculates as the crate does. It runs on Node.js.

use hardware::{Market, Options, Reader, buy, page};
use lab::testing;
use serde_json::Value;

const SCRIPT: &str = "card-calculator.js";

#[test]
fn the_page_has_the_table_of_the_crate() {
    testing::has_data(SCRIPT, &page::data().unwrap());
}

#[test]
fn the_page_calculates_as_the_crate_does() {
    let function = "() => page.DATA.jobs.map(({ job, cards }) => \
        page.calculate(job, cards, page.DATA.electricity).map(({ card, ...rest }) => ({ card: card.id, ...rest })))";
    let Some(found) = testing::node(SCRIPT, function, &Value::Null) else { return };
    let found: Vec<Vec<Value>> = serde_json::from_value(found).unwrap();
    let market = Market::load().unwrap();
    for (reader, lines) in Reader::ALL.into_iter().zip(found) {
        let options = Options { only: vec![], ..reader.options().unwrap() };
        let report = buy(&market, &options).unwrap();
        let able: Vec<&Value> = lines.iter().filter(|line| line["why"].is_null()).collect();
        assert_eq!(able.len(), report.lines.len(), "{reader}");
        for (ours, theirs) in report.lines.iter().zip(able) {
            assert_eq!(theirs["card"], ours.card, "{reader}");
            let close = |key: &str, wanted: Option<[f64; 2]>| {
                let Some(wanted) = wanted else {
                    return assert!(theirs[key].is_null(), "{reader} {}: {key}", ours.card);
                };
                for (at, wanted) in wanted.into_iter().enumerate() {
                    let found = theirs[key][at].as_f64().unwrap();
                    assert!((found / wanted - 1.0).abs() < 1e-9, "{reader} {}: {key}", ours.card);
                }
            };
            let ends = |range: hardware::calculator::Range| [range.low, range.high];
            close("hours", Some(ends(ours.hours)));
            close("kwh", ours.kwh.map(ends));
            close("rent", ours.rent.map(ends));
            close("breakEven", ours.break_even.map(ends));
        }
    }
}
