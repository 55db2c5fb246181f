//! The page's script computes what dfdx computes, and frames ink as the crate does. It runs on Node.js.

use lab::{data, testing};
use training::{
    Classifier, Model,
    export::{Format, export},
    picture::{Grey, frame},
    runner::form::Form,
};

const PIXELS: usize = 784;

/// What a function makes of `input`, with the page's script as `page`; `None` where there is no Node.js.
fn node(function: &str, input: &serde_json::Value) -> Option<serde_json::Value> {
    testing::node("digit-canvas.js", function, input)
}

#[test]
fn the_page_computes_what_dfdx_computes() {
    // Half of the images are digits, half are noise.
    let mut pixels = data::drawn(100, 0, 7).train.scaled();
    let mut word = 1_u32;
    for _ in 0..100 * PIXELS {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        pixels.push((word >> 8) as f32 / (1_u32 << 24) as f32);
    }
    for kind in [Model::Linear, Model::Mlp, Model::Cnn] {
        // Larger weights than the first ones, so that the predictions differ.
        let random = Classifier::random(kind, 9).unwrap();
        let large: Vec<f32> = random.weights().unwrap().iter().map(|w| 2.0 * w).collect();
        let one = Classifier::from_weights(kind, &large).unwrap();
        for format in Format::ALL {
            let export = export(&one, format).unwrap();
            let wanted = export.rounded.probabilities(&pixels).unwrap();
            let images: Vec<&[f32]> = pixels.chunks_exact(PIXELS).collect();
            let input = serde_json::json!({ "script": export.script, "images": images });
            let program = "({ script, images }) => { \
                new Function(script)(); \
                const layers = page.layersOf(globalThis.digitModel); \
                return images.map((one) => page.probabilities(layers, Float32Array.from(one))); }";
            let Some(got) = node(program, &input) else { return };
            let got: Vec<Vec<f64>> = serde_json::from_value(got).unwrap();
            assert_eq!(got.len(), wanted.len());
            let spread = wanted.iter().flatten().copied().fold(0.0, f64::max);
            assert!(spread > 0.2, "{kind} predicts the same for all: {spread}");
            for (got, wanted) in got.iter().flatten().zip(wanted.iter().flatten()) {
                assert!((got - wanted).abs() < 1e-5, "{kind} {format:?}: {got} is not {wanted}");
            }
        }
    }
}

#[test]
fn the_page_frames_ink_as_the_crate_does() {
    let digits = data::drawn(6, 0, 3).train.scaled();
    let (width, height) = (280, 280);
    let pages: Vec<Vec<f32>> = digits
        .chunks_exact(PIXELS)
        .enumerate()
        .map(|(number, digit)| {
            let times = 3 + number;
            let at = |place: usize| place.checked_sub(10 + number).map(|at| at / times);
            let level = |x, y| match (at(x), at(y)) {
                (Some(x), Some(y)) if x < 28 && y < 28 => digit[y * 28 + x],
                _ => 0.0,
            };
            (0..width * height).map(|i| level(i % width, i / width)).collect()
        })
        .collect();
    let plain = pages.into_iter().map(|ink| (ink, width, height, None));
    // A model's own form: dark on light, larger, and turned in each way; the page is no square.
    let turned = (0..8).map(|turn| {
        let centre = [13.2, 15.3]; // no halves to be rounded one way or the other
        let form =
            Form { paper: 0.9, ink: 0.1, side: 24, centre, turn: Some(turn), ..Form::default() };
        let ink = (0..40 * 30).map(|at| f32::from(u8::from(at % 7 < at / 160))).collect();
        (ink, 40, 30, Some(form))
    });
    let cases: Vec<(Vec<f32>, usize, usize, Option<Form>)> = plain.chain(turned).collect();
    let program = "(all) => all.map(([ink, width, height, form]) => \
        Array.from(page.frame(Float32Array.from(ink), width, height, form ?? undefined)))";
    let Some(got) = node(program, &serde_json::json!(cases)) else { return };
    let got: Vec<Vec<f32>> = serde_json::from_value(got).unwrap();
    for (got, (levels, width, height, form)) in got.iter().zip(cases) {
        let ink = Grey { width, height, levels };
        let wanted = form.as_ref().map_or_else(|| frame(&ink), |form| form.frame(&ink)).unwrap();
        let [paper, mark] = form.map_or([0.0, 1.0], |form| [form.paper, form.ink]);
        assert!((wanted[0] - paper).abs() < 1e-6);
        assert!(wanted.iter().any(|level| (level - mark).abs() < 0.1), "no ink");
        for (got, wanted) in got.iter().zip(&wanted) {
            assert!((got - wanted).abs() < 1e-4, "{got} is not {wanted}");
        }
    }
    let program = "() => page.frame(new Float32Array(280 * 280), 280, 280)";
    assert!(node(program, &serde_json::json!(null)).unwrap().is_null());
}
