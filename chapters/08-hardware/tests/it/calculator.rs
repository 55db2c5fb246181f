use backprop::count::Model;
use hardware::{
    Job, Market,
    calculator::{DRAW, Options, Range, Shares, break_even, buy, seconds},
    cards::Format,
};
use proptest::prelude::*;

fn market() -> Market {
    Market::load().unwrap()
}

fn vgg() -> Job {
    Job::of(&Model::vgg16(), 32, 1_000_000).unwrap()
}

#[test]
fn times_have_the_unit_of_their_size() {
    assert_eq!(Range::new(0.0005, 0.001).time(), "1.80 to 3.60 s");
    assert_eq!(Range::new(0.0005, 0.5).time(), "0.0300 to 30.0 min");
    assert_eq!(Range::new(1.5, 2.5).time(), "1.50 to 2.50 h");
    assert_eq!(Range::new(3.0, 3.0).time(), "3.00 h");
}

#[test]
fn time_is_that_of_the_slower_limit_and_of_the_launches() {
    let job = Job {
        name: "by hand".to_owned(),
        parameters: 10.0,
        operations: 100.0,
        kept: 5.0,
        launches: 3.0,
        batch: 4.0,
        examples: 8.0,
        unit: "examples",
    };
    let exact = |n: f64| Range::new(n, n);
    let shares = Shares {
        compute: Range::new(0.25, 0.5),
        memory: exact(0.5),
        parallel: exact(0.5),
        launch: Range::new(1.0, 2.0),
    };
    // 400 operations at half of 100/s: 8 s; 480 bytes at half of 1000/s: under a second. 3 launches: 3 s.
    let fast = seconds(&job, Format::F32, (100.0, 1000.0), 1, &shares);
    assert_eq!((fast.low, fast.high), (2.0 * (8.0 + 3.0), 2.0 * (16.0 + 6.0)));
    // 40·10 + 4·4·5·4 = 720 bytes at half of 10/s: 144 s.
    assert_eq!(seconds(&job, Format::F32, (1e9, 10.0), 1, &shares).low, 2.0 * (144.0 + 3.0));
    // Four cards at half of their speed are two; the launches stay.
    assert_eq!(seconds(&job, Format::F32, (1e9, 10.0), 4, &shares).low, 2.0 * (72.0 + 3.0));
}

#[test]
fn shares_are_the_cards_own_where_it_was_measured() {
    let market = market();
    let of = |id: &str| Shares::of(&market, market.card(id).unwrap()).unwrap();
    let a100 = of("a100-80");
    assert!((a100.compute.low - 53.0 / 312.0).abs() < 1e-12, "{a100:?}");
    assert!((a100.compute.high - 136.0 / 312.0).abs() < 1e-12, "{a100:?}");
    let all = of("h100");
    assert!(all.compute.low <= a100.compute.low && all.compute.high > a100.compute.high);
    // The best product on an MI300X reaches half of its peak: no training can reach more.
    assert!((of("mi300x").compute.high - 668.4 / 1307.0).abs() < 1e-9);
    for card in &market.cards {
        let Shares { compute, memory, .. } = of(&card.id);
        for range in [compute, memory] {
            assert!(0.0 < range.low && range.low <= range.high && range.high < 1.0, "{range:?}");
        }
    }
}

#[test]
fn a_published_run_lies_in_the_range() {
    // Brown and others 2020 trained 175e9 weights on 300e9 tokens on V100s; Patterson and others 2021, table 4, give
    // 14.8 days on 10,000 of them. Their 24.6 TFLOP/s are 20% of the peak, parallel losses included.
    let job = Job::language(175e9, 96, 3.2e6, 300e9).unwrap();
    let market = market();
    let options = Options { cards: 10_000, only: vec!["v100".to_owned()], ..Options::of(job) };
    let report = buy(&market, &options).unwrap();
    let days = report.lines[0].hours.times(1.0 / 24.0);
    assert!(days.low < 14.8 && 14.8 < days.high, "{days:?}");
}

#[test]
fn the_cheapest_comes_first_and_money_is_hours_times_price() {
    let market = market();
    let report = buy(&market, &Options::of(vgg())).unwrap();
    let costs: Vec<f64> =
        report.lines.iter().map(|l| l.cost().map_or(f64::INFINITY, Range::middle)).collect();
    assert!(costs.is_sorted() && costs[0].is_finite(), "{costs:?}");
    let line = |card: &str| report.lines.iter().find(|line| line.card == card).unwrap();
    let h100 = line("h100");
    let rent = h100.rent.unwrap();
    assert!((rent.low / h100.hours.low - market.prices("h100")[0]).abs() < 1e-9);
    let power = h100.kwh.unwrap();
    assert!((power.high - 0.7 * DRAW.high * h100.hours.high).abs() < 1e-9);
    assert_eq!(report.best().unwrap().card, report.lines[0].card);
    // A buyer pays price and electricity.
    let laptop = line("rtx-4060-laptop");
    assert!(laptop.cost().is_none() && laptop.electricity.is_some());
    let ours = line("rtx-3060").cost().unwrap();
    assert!(ours.low > 329.0, "{ours:?}");
    // In a long run a card of which there is also an offer is bought: the run is as dear as that.
    let long = Job { examples: 1e11, ..vgg() };
    let (budget, only) = (Some(6000.0), vec!["rtx-4090".to_owned()]);
    let report = buy(&market, &Options { budget, only, ..Options::of(long) }).unwrap();
    let bought = report.best().unwrap();
    assert_eq!(bought.cost().unwrap().low, 1599.0 + bought.electricity.unwrap().low);
    assert!(bought.rent.unwrap().middle() > bought.cost().unwrap().middle());
}

#[test]
fn what_cannot_is_out_with_a_reason() {
    let market = market();
    let reason = |options: Options, name: &str| {
        let report = buy(&market, &options).unwrap();
        let text = report.to_string();
        let refused = report.refused.into_iter().find(|r| r.name.contains(name)).unwrap();
        assert!(text.contains(&refused.why), "{text}");
        refused.why
    };
    let big = Job::language(7e9, 32, 1e5, 1e9).unwrap();
    assert!(reason(Options::of(big), "RTX 3060").contains("needs"));
    assert!(reason(Options::of(vgg()), "Apple").contains("no rate"));
    assert!(reason(Options::of(vgg()), "Alveo").contains("no rate"));
    assert!(reason(Options { hours: Some(0.1), ..Options::of(vgg()) }, "T4").contains("hours"));
    assert!(reason(Options { budget: Some(0.1), ..Options::of(vgg()) }, "B200").contains("cost"));
    let none = Options { hours: Some(1e-6), only: vec!["t4".to_owned()], ..Options::of(vgg()) };
    assert!(buy(&market, &none).unwrap().to_string().contains("no card is left"));
}

#[test]
fn small_jobs_have_small_units() {
    let of =
        |reader: hardware::Reader| buy(&market(), &reader.options().unwrap()).unwrap().to_string();
    let small = of(hardware::Reader::Small);
    assert!(small.contains(" s ") && small.contains("US cents"), "{small}");
    assert!(!small.contains("×10"), "{small}");
    assert!(of(hardware::Reader::Cluster).contains("kWh"));
}

#[test]
fn a_large_model_fits_on_several_cards() {
    let market = market();
    let job = Job::language(7e9, 32, 1e5, 1e9).unwrap();
    let one = Options { only: vec!["h100".to_owned()], ..Options::of(job) };
    assert!(buy(&market, &one).unwrap().lines.is_empty());
    let eight = buy(&market, &Options { cards: 8, ..one }).unwrap();
    assert_eq!(eight.lines[0].cards, 8);
    let text = eight.to_string();
    assert!(text.contains("8 × NVIDIA H100") && text.contains(" tokens in "), "{text}");
}

#[test]
fn errors_are_sentences() {
    let market = market();
    let base = Options::of(vgg());
    for options in [
        Options { cards: 0, ..base.clone() },
        Options { electricity: -1.0, ..base.clone() },
        Options { budget: Some(0.0), ..base.clone() },
        Options { hours: Some(f64::NAN), ..base.clone() },
        Options { only: vec!["h1".to_owned()], ..base.clone() },
    ] {
        let error = buy(&market, &options).unwrap_err().to_string();
        assert!(error.len() > 20, "{error}");
    }
}

#[test]
fn a_report_is_also_json() {
    let report = buy(&market(), &Options::of(vgg())).unwrap();
    let value = serde_json::to_value(&report).unwrap();
    assert_eq!(value["lines"][0]["card"], report.lines[0].card);
    assert!(value["lines"][0]["hours"]["low"].as_f64().unwrap() > 0.0);
    assert_eq!(value["job"]["name"], "vgg16");
}

proptest! {
    #[test]
    fn after_the_break_even_buying_is_cheaper(
        price in 1.0..1e5f64, rent in 0.01..100.0f64, watts in 1.0..2000.0f64, kwh in 0.0..1.0f64,
    ) {
        let power = watts / 1000.0 * kwh;
        match break_even(price, rent, watts, kwh) {
            None => prop_assert!(rent <= power),
            Some(hours) => {
                let bought = price + hours * power;
                prop_assert!((bought - hours * rent).abs() <= 1e-6 * bought);
                prop_assert!(price + 2.0 * hours * power < 2.0 * hours * rent);
            }
        }
    }

    #[test]
    fn a_faster_card_is_never_slower(
        peak in 1e12..1e15f64, bandwidth in 1e11..1e13f64, more in 1.0..10.0f64,
    ) {
        let market = market();
        let shares = Shares::of(&market, &market.cards[0]).unwrap();
        let time = |peak, bandwidth| seconds(&vgg(), Format::Bf16, (peak, bandwidth), 1, &shares);
        let base = time(peak, bandwidth);
        prop_assert!(base.low <= base.high);
        prop_assert!(time(more * peak, bandwidth).low <= base.low);
        prop_assert!(time(peak, more * bandwidth).high <= base.high);
    }
}
