//! The page's counter has the crates' formulas and cards. It runs on Node.js.

use hardware::{Job, Market, Options, buy, page};
use lab::testing;
use language_model::{
    Config,
    count::{Bytes, Operations, Parameters, TOKENS_PER_PARAMETER, cache, near},
};
use serde_json::{Value, json};

const SCRIPT: &str = "gpt-count.js";

/// The cards that the page has.
const CARDS: [&str; 4] = ["rtx-4090", "h100", "h200", "b200"];

/// What the page needs of a card.
const FIELDS: [&str; 9] =
    ["bandwidth", "bytes", "compute", "copy", "format", "id", "memory", "name", "peak"];

/// Sizes of every kind: the chapter's, odd ones, and one that is large.
fn configs() -> Vec<Config> {
    let odd = Config { vocabulary: 11, context: 50, width: 12, heads: 3, layers: 2, hidden: 5 };
    let large = Config {
        vocabulary: 32_000,
        context: 4096,
        width: 4096,
        heads: 32,
        layers: 32,
        hidden: 10_944,
    };
    vec![odd, Config::tiny(), Config::small(), large]
}

#[test]
fn the_page_has_the_cards_of_chapter_8() {
    let all = page::data().unwrap();
    let cards: Vec<Value> = CARDS
        .iter()
        .map(|id| {
            let known = all["cards"].as_array().unwrap();
            let card = known.iter().find(|card| card["id"] == *id).unwrap();
            FIELDS.iter().map(|name| ((*name).to_owned(), card[*name].clone())).collect()
        })
        .collect();
    testing::has_data(SCRIPT, &json!({ "cards": cards, "launch": all["launch"] }));
}

#[test]
fn the_page_counts_as_the_crate_does() {
    let cases: Vec<(Config, (usize, usize))> = configs()
        .into_iter()
        .flat_map(|config| [(1, 1), (3, 33), (16, 128)].map(|case| (config, case)))
        .collect();
    let function = "(input) => input.map(([config, [batch, tokens]]) => { \
        const each = page.operations(config, tokens); \
        return { parameters: page.parameters(config), each, training: page.training(each), \
            share: page.attentionShare(each), bytes: page.bytes(config, batch, tokens), \
            cache: page.cache(config, tokens), ratio: page.TOKENS_PER_PARAMETER }; })";
    let counted = |&(config, (batch, tokens)): &(Config, (usize, usize))| {
        let Parameters { embedding, attention, feed_forward, norms } = Parameters::of(&config);
        let each = Operations::of(&config, tokens);
        let Bytes { parameters, gradient, moments, activations, .. } =
            Bytes::of(&config, batch, tokens);
        json!({
            "parameters": { "embedding": embedding, "attention": attention, "feedForward": feed_forward, "norms": norms },
            "each": { "weights": each.weights, "attention": each.attention },
            "training": each.training(),
            "share": each.attention_share(),
            "bytes": {
                "parameters": parameters, "gradient": gradient, "moments": moments, "activations": activations,
            },
            "cache": cache(&config, tokens),
            "ratio": TOKENS_PER_PARAMETER,
        })
    };
    let wanted: Vec<Value> = cases.iter().map(counted).collect();
    testing::agrees(SCRIPT, function, &cases, &wanted, testing::relative(1e-9));
}

#[test]
fn the_pages_hidden_units_are_those_of_the_family() {
    let function = "(input) => input.map(page.hiddenOf)";
    let family: Vec<Config> =
        [3e5, 1e6, 5e6, 2e7, 1e8, 1e9].map(|parameters| near(parameters, 2048, 256)).to_vec();
    let widths: Vec<usize> = family.iter().map(|config| config.width).collect();
    let wanted: Vec<usize> = family.iter().map(|config| config.hidden).collect();
    testing::agrees(SCRIPT, function, &widths, &wanted, testing::relative(0.0));
}

#[test]
fn the_page_trains_on_a_card_as_long_as_chapter_8_says() {
    let function = "(input) => page.DATA.cards.map((card) => \
        [card.id, input.map(([config, batch, tokens]) => \
            page.onCard(card, config, batch, tokens)?.map((seconds) => seconds / 3600) ?? null)])";
    let cases: Vec<(Config, usize, f64)> =
        configs().into_iter().map(|config| (config, 4, 1e9)).collect();
    let market = Market::load().unwrap();
    let wanted = CARDS.map(|card| {
        let hours = cases.iter().map(|(config, batch, tokens)| {
            let parameters = Parameters::of(config).all() as f64;
            let step = (batch * config.context) as f64;
            let job = Job::language(parameters, config.layers as u64, step, *tokens).unwrap();
            let options = Options { only: vec![card.to_owned()], ..Options::of(job) };
            let report = buy(&market, &options).unwrap();
            report.lines.first().map(|line| [line.hours.low, line.hours.high])
        });
        (card, hours.collect::<Vec<_>>())
    });
    let refused = wanted.iter().any(|(_, hours)| hours.contains(&None));
    assert!(refused, "every training fits on every card");
    testing::agrees(SCRIPT, function, &cases, &wanted, testing::relative(1e-9));
}
