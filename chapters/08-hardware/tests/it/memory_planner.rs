//! The page's memory planner knows the crates' models, and counts bytes as they do. It runs on Node.js.

use backprop::{
    count::Model,
    fits::{Bytes, Moves, largest_batch},
};
use hardware::Market;
use lab::testing;
use multi_gpu::plan::{
    cards::Card,
    model::{Block, Precision, Transformer, Workload},
    search::{Question, one},
    split::{Memory, Split},
};
use performance::memory::predict;
use serde::Deserialize;
use serde_json::{Value, json};

const SCRIPT: &str = "memory-planner.js";

/// The models that are counted layer by layer.
fn counted() -> [Model; 3] {
    [predict::mlp().unwrap(), predict::cnn(), Model::vgg16()]
}

/// The transformers; the last one is what a reader's own starts with.
const TRANSFORMERS: [&str; 5] = ["gpt-125m", "gpt-1.3b", "gpt-7b", "gpt-13b", "gpt-175b"];

/// The cards that a reader can choose.
const CARDS: [&str; 10] = [
    "rtx-4060-laptop",
    "rtx-3060",
    "t4",
    "rtx-4090",
    "rtx-5090",
    "l40s",
    "h100",
    "h200",
    "b200",
    "mi300x",
];

/// What the page has to know of a model.
fn summary(work: &Workload) -> Value {
    let each = |of: fn(&Block) -> f64| work.blocks.iter().map(of);
    let most = |of| each(of).fold(0.0, f64::max);
    let sum = |of| each(of).sum::<f64>();
    json!({
        "parameters": sum(|b| b.parameters),
        "inputs": sum(|b| b.input),
        "kept": sum(|b| b.kept + b.kept_split),
        "largest": most(|b| b.largest),
        "unrolled": most(|b| b.unrolled),
        "mostParameters": most(|b| b.parameters),
        "mostKept": most(|b| b.kept + b.kept_split),
    })
}

#[test]
fn the_page_has_the_models_and_the_cards_of_the_crates() {
    let layered = counted().map(|model| {
        let work = Workload::of_counts(&model.count().unwrap(), Moves::Adam).unwrap();
        json!({ "name": model.name, "work": summary(&work) })
    });
    let transformers = TRANSFORMERS.map(|name| {
        let Transformer { layers, width, sequence, vocabulary, .. } =
            Transformer::named(name).unwrap().unwrap();
        let shape = json!({ "layers": layers, "width": width, "sequence": sequence, "vocabulary": vocabulary });
        json!({ "name": name, "shape": shape })
    });
    let market = Market::load().unwrap();
    let cards = CARDS.map(|id| {
        let card = market.card(id).unwrap();
        json!({ "name": card.name, "memory": card.memory.value })
    });
    let models: Vec<Value> = layered.into_iter().chain(transformers).collect();
    testing::has_data(SCRIPT, &json!({ "models": models, "cards": cards }));
}

/// A plan, as the page writes it.
#[derive(Clone, Debug, Deserialize)]
struct Plan {
    model: String,
    batch: usize,
    precision: String,
    moves: String,
    recompute: bool,
    pieces: usize,
    zero: u8,
    devices: usize,
}

impl Plan {
    fn moves(&self) -> Moves {
        self.moves.parse().unwrap()
    }

    fn work(&self) -> Workload {
        let moves = self.moves();
        let layered = counted().into_iter().find(|model| model.name == self.model);
        let mut work = match layered {
            Some(model) => Workload::of_counts(&model.count().unwrap(), moves).unwrap(),
            None => Workload::named(&self.model, moves).unwrap(),
        };
        work.precision = match &self.precision[..] {
            "f32" => Precision::single(moves),
            "amp" => Precision::mixed(moves),
            _ => Precision::narrow(moves),
        };
        work
    }

    /// What chapter 7's planner reports. The batch is rounded up to equal pieces.
    fn memory(&self) -> Memory {
        let Self { pieces: micro_batches, devices, zero, recompute, .. } = *self;
        let split = Split { data: devices, zero, micro_batches, recompute, ..Split::ONE };
        let batch = self.batch.next_multiple_of(devices * micro_batches);
        let card = Card::named("h100").unwrap();
        let question = Question { work: self.work(), card, cards: devices, batch };
        one(&question, split).unwrap().memory
    }

    fn fits(&self, card: f64) -> bool {
        self.memory().total() <= card
    }
}

/// All settings of a small grid, on the page: `plans` is a list of them.
const GRID: &str = "\
    const all = (lists) => Object.entries(lists).reduce((plans, [key, values]) => \
        plans.flatMap((plan) => values.map((value) => ({ ...plan, [key]: value }))), [{}]); \
    const plans = all({ model: input.models, batch: [1, 48, 1000], precision: Object.keys(page.PRECISIONS), \
        moves: Object.keys(page.MOVES), recompute: [false, true], pieces: [1, 4], zero: [0, 1, 2, 3], devices: [1, 8] }); \
    const work = (name) => { \
        const own = name.startsWith('gpt:') && Object.fromEntries(name.slice(4).split(',').map((part) => \
            part.split('=')).map(([key, value]) => [key, Number(value)])); \
        const known = page.DATA.models.find((model) => model.name === name); \
        return own ? page.transformer(own) : known.work ?? page.transformer(known.shape); };";

/// Models of each kind, one of them a reader's own.
fn models() -> Value {
    json!({ "models": ["mlp", "cnn", "vgg16", "gpt-125m", "gpt-7b",
        "gpt:layers=3,width=64,heads=4,sequence=96,vocabulary=1000",
        "gpt:layers=2,width=512,heads=8,sequence=16,vocabulary=70"] })
}

#[test]
fn the_page_counts_the_bytes_that_the_crates_count() {
    let function = format!(
        "(input) => {{ {GRID} return plans.map((plan) => [plan, page.memory(work(plan.model), plan)]); }}"
    );
    let Some(found) = testing::node(SCRIPT, &function, &models()) else { return };
    let found: Vec<(Plan, Value)> = serde_json::from_value(found).unwrap();
    assert_eq!(found.len(), 7 * 3 * 3 * 3 * 2 * 2 * 4 * 2);
    for (plan, parts) in found {
        let wanted = plan.memory();
        let part = |name: &str| parts[name].as_f64().unwrap();
        let pairs = [
            (part("weights"), wanted.weights),
            (part("gradients"), wanted.gradients),
            (part("masters") + part("optimizer"), wanted.optimizer),
            (part("activations"), wanted.activations),
            (part("scratch"), wanted.scratch),
        ];
        for (found, wanted) in pairs {
            assert!((found - wanted).abs() <= 1e-9 * wanted, "{plan:?}: {parts} is not {wanted:?}");
        }
        // On one device, in f32 and with nothing computed again, that is chapter 3's count.
        let alone = plan.devices * plan.pieces == 1 && plan.precision == "f32" && !plan.recompute;
        let layered = counted().into_iter().find(|model| model.name == plan.model);
        if let Some(model) = layered.filter(|_| alone && plan.zero == 0) {
            let bytes = Bytes::of(&model.count().unwrap(), plan.batch as u64, plan.moves());
            assert!((wanted.total() - bytes.total() as f64).abs() < 0.5, "{plan:?}");
        }
    }
}

#[test]
fn the_pages_largest_batch_is_chapter_3s() {
    let function = "(input) => page.DATA.models.slice(0, 3).map(({ work }) => [8, 24, 80].map((gib) => \
        page.largest(work, { precision: 'f32', moves: 'adam', recompute: false, pieces: 1, zero: 0, devices: 1 }, \
            gib * 2 ** 30)))";
    let wanted = counted().map(|model| {
        let counts = model.count().unwrap();
        [8, 24, 80].map(|gib| largest_batch(&counts, gib << 30, Moves::Adam))
    });
    testing::agrees(SCRIPT, function, &(), &wanted, testing::relative(0.0));
}

/// A plan with its single changes: each as a plan, in words, and whether it fits.
type Changes = (Plan, Vec<(Plan, String, bool)>);

#[test]
fn a_change_that_the_page_offers_makes_it_fit_and_a_smaller_one_does_not() {
    const CARD: f64 = 24e9;
    let function = format!(
        "(input) => {{ {GRID} return plans.filter((plan) => page.total(page.memory(work(plan.model), plan)) > {CARD:?}) \
            .map((plan) => [plan, page.changes(work(plan.model), plan, {CARD:?}).map(({{ change, fits }}) => \
                [{{ ...plan, ...change }}, Object.keys(change)[0], fits])]); }}"
    );
    let input = json!({ "models": ["vgg16", "gpt-1.3b"] });
    let Some(found) = testing::node(SCRIPT, &function, &input) else { return };
    let found: Vec<Changes> = serde_json::from_value(found).unwrap();
    let mut offered = 0;
    for (plan, changes) in found {
        assert!(!plan.fits(CARD), "{plan:?}");
        for (changed, what, fits) in changes {
            assert_eq!(changed.fits(CARD), fits, "{plan:?}, {what}: {changed:?}");
            offered += usize::from(fits);
            // One step back from what is offered is too little.
            let back = match &what[..] {
                "pieces" => Plan { pieces: changed.pieces / 2, ..changed },
                "devices" => Plan { devices: changed.devices / 2, ..changed },
                "batch" => Plan { batch: changed.batch + 1, ..changed },
                "zero" => Plan { zero: changed.zero - 1, ..changed },
                _ => continue,
            };
            assert!(!back.fits(CARD), "{plan:?}: {what} changes more than it must: {back:?}");
        }
    }
    assert!(offered > 100, "only {offered} changes were offered");
}

#[test]
fn the_picture_without_javascript_is_one_of_the_scripts_own() {
    testing::is_drawn("03-backprop/planner.svg", SCRIPT, "() => page.still()");
}
