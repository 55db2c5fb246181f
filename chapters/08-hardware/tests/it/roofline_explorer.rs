//! The page's roofline has the machines of the table, and counts as the crates do. It runs on Node.js.

use backprop::count::Model;
use hardware::{Job, Market, cards::Format, cards::Kind};
use lab::testing;
use matmul::{Shape, roofline::bound};
use serde_json::{Map, Value, json};

const SCRIPT: &str = "roofline-explorer.js";

/// The machines that a reader can choose.
const CARDS: [&str; 14] = [
    "t4",
    "v100",
    "a100-80",
    "l4",
    "rtx-4090",
    "rtx-5090",
    "h100",
    "h200",
    "b200",
    "mi300x",
    "tpu-v5p",
    "gaudi-3",
    "epyc-9654",
    "xeon-8490h",
];

/// VGG16's training step on `batch` images.
fn vgg16(batch: u64) -> Job {
    Job::of(&Model::vgg16(), batch, batch).unwrap()
}

#[test]
fn the_page_has_the_table_of_the_crate() {
    let market = Market::load().unwrap();
    let cards = CARDS.map(|id| {
        let card = market.card(id).unwrap();
        let peak = |f: Format| Some((f.name().to_owned(), json!(card.rate(f)?)));
        let peaks: Map<String, Value> = Format::ALL.into_iter().filter_map(peak).collect();
        json!({
            "id": id,
            "name": card.name,
            "cpu": card.kind == Kind::Cpu,
            "bandwidth": card.bandwidth.value,
            "peaks": peaks,
        })
    });
    let bytes: Map<String, Value> =
        Format::ALL.into_iter().map(|f| (f.name().to_owned(), json!(f.bytes()))).collect();
    let Job { parameters, operations, kept, .. } = vgg16(1);
    let vgg16 = json!({ "parameters": parameters, "operations": operations, "kept": kept });
    testing::has_data(SCRIPT, &json!({ "cards": cards, "bytes": bytes, "vgg16": vgg16 }));
}

/// Operations and bytes of products one after the other, whose numbers have so many bytes.
fn products(shapes: &[Shape], number: f64) -> (f64, f64) {
    let operations = shapes.iter().map(|shape| shape.operations()).sum();
    (operations, shapes.iter().map(|shape| number / 4.0 * shape.bytes()).sum())
}

/// What a kernel of the page does, by the crates.
fn counted(kernel: &str, size: usize, format: Format) -> (f64, f64) {
    const WIDTH: usize = 4096;
    const HEAD: usize = 128;
    let number = format.bytes();
    let product = |m, k, n| Shape::new(m, k, n);
    let scores = [product(size, HEAD, size), product(size, size, HEAD)];
    match kernel {
        "product" => products(&[Shape::square(size)], number),
        "forward" => products(&[product(size, WIDTH, WIDTH)], number),
        // The weights' gradient, and the input's.
        "backward" => products(&[product(WIDTH, size, WIDTH), product(size, WIDTH, WIDTH)], number),
        "vgg16" => {
            let job = vgg16(size as u64);
            (job.step_operations(), job.step_bytes(format))
        }
        "scores" => products(&scores, number),
        // The same operations; queries, keys, values and results pass once.
        "attention" => (products(&scores, number).0, 4.0 * number * (size * HEAD) as f64),
        "token" => products(&[product(1, HEAD, size), product(1, size, HEAD)], number),
        "sum" => (1.0, 3.0 * number),
        other => panic!("the page has a kernel that no crate knows: {other}"),
    }
}

#[test]
fn the_page_counts_as_the_crates_do() {
    let function = "() => Object.keys(page.KERNELS).flatMap((kernel) => [1, 7, 64, 1000].flatMap((size) => \
        Object.keys(page.DATA.bytes).map((format) => [kernel, size, format, page.intensity(kernel, size, format)])))";
    let Some(found) = testing::node(SCRIPT, function, &Value::Null) else { return };
    let found: Vec<(String, usize, String, f64)> = serde_json::from_value(found).unwrap();
    assert_eq!(found.len(), 8 * 4 * 5);
    for (kernel, size, format, intensity) in found {
        let (operations, bytes) = counted(&kernel, size, format.parse().unwrap());
        let (wanted, what) = (operations / bytes, format!("{kernel} {size} {format}"));
        assert!((intensity / wanted - 1.0).abs() < 1e-12, "{what}: {intensity}, not {wanted}");
    }
}

#[test]
fn the_page_draws_the_roof_of_chapter_1() {
    let points: Vec<[f64; 3]> = [0.01, 0.3, 5.0, 200.0, 1e4]
        .into_iter()
        .flat_map(|x| [[x, 9.5e10, 1.6e10], [x, 9.89e14, 4.8e12]])
        .collect();
    let function = "(points) => points.map((point) => page.bound(...point))";
    let wanted: Vec<f64> = points.iter().map(|&[x, peak, width]| bound(x, peak, width)).collect();
    testing::agrees(SCRIPT, function, &points, &wanted, testing::relative(0.0));
}

/// The values that chapter 1's page gives for its two questions.
#[test]
fn the_layer_leaves_the_slope_where_the_page_says() {
    let market = Market::load().unwrap();
    let card = market.card("h200").unwrap();
    let leaves = |format: Format| {
        let ridge = card.rate(format).unwrap() / card.bandwidth.value;
        let above = |b: &usize| {
            let (operations, bytes) = counted("forward", *b, format);
            operations / bytes >= ridge
        };
        (1..4096).find(above).unwrap()
    };
    assert_eq!((leaves(Format::Bf16), leaves(Format::F32)), (230, 29));
}

#[test]
fn the_picture_without_javascript_is_one_of_the_scripts_own() {
    testing::is_drawn("01-matmul/explorer.svg", SCRIPT, "() => page.still()");
}
