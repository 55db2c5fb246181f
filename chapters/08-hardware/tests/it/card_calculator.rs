//! The page's calculator has the crate's data and calculates as the crate does. It runs on Node.js.

use hardware::{
    Market, Options, Reader, buy,
    calculator::{Estimate, Range},
    page,
};
use lab::testing;
use serde_json::json;

const SCRIPT: &str = "card-calculator.js";

#[test]
fn the_page_has_the_table_of_the_crate() {
    testing::has_data(SCRIPT, &page::data().unwrap());
}

#[test]
fn the_page_calculates_as_the_crate_does() {
    let function = "() => page.DATA.jobs.map(({ job, cards }) => \
        page.calculate(job, cards, page.DATA.electricity).map(({ card, ...rest }) => ({ card: card.id, ...rest })) \
            .filter(({ why }) => why == null))";
    let market = Market::load().unwrap();
    let wanted = Reader::ALL.map(|reader| {
        let options = Options { only: vec![], ..reader.options().unwrap() };
        let report = buy(&market, &options).unwrap();
        let line = |line: &Estimate| {
            let ends = |range: Range| [range.low, range.high];
            json!({ "card": line.card, "hours": ends(line.hours), "kwh": line.kwh.map(ends),
                "rent": line.rent.map(ends), "breakEven": line.break_even.map(ends) })
        };
        report.lines.iter().map(line).collect::<Vec<_>>()
    });
    testing::agrees(SCRIPT, function, &(), &wanted, testing::relative(1e-9));
}
