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
    // As they are, and so long that it is cheaper to buy.
    let lengths = [1.0, 1e6];
    let function = "(lengths) => lengths.flatMap((times) => page.DATA.jobs.map(({ job, cards }) => \
        page.calculate({ ...job, examples: times * job.examples }, cards, page.DATA.electricity) \
            .map(({ card, ...rest }) => ({ card: card.id, ...rest })).filter(({ why }) => why == null)))";
    let market = Market::load().unwrap();
    let of = |times: f64, reader: Reader| {
        let mut options = Options { only: vec![], ..reader.options().unwrap() };
        options.job.examples *= times;
        let report = buy(&market, &options).unwrap();
        let line = |line: &Estimate| {
            let ends = |range: Range| [range.low, range.high];
            json!({ "card": line.card, "hours": ends(line.hours), "kwh": line.kwh.map(ends),
                "rent": line.rent.map(ends), "cost": line.cost().map(ends),
                "breakEven": line.break_even.map(ends) })
        };
        report.lines.iter().map(line).collect::<Vec<_>>()
    };
    let wanted = lengths.map(|times| Reader::ALL.map(|reader| of(times, reader))).concat();
    testing::agrees(SCRIPT, function, &lengths, &wanted, testing::relative(1e-9));
}
