//! The page's script computes what dfdx computes, and frames ink as the crate does. It runs on Node.js.

use lab::{data, testing};
use serde::Serialize;
use training::{
    Classifier, Model,
    export::{Format, export},
    picture::{Grey, frame},
    runner::form::Form,
};

const PIXELS: usize = 784;

/// Holds what a function of the page's script makes of `input` to what the crate makes of it.
fn agrees(function: &str, input: &impl Serialize, wanted: &impl Serialize, within: f64) {
    let near = |found: f64, wanted: f64| (found - wanted).abs() < within;
    testing::agrees("digit-canvas.js", function, input, wanted, near);
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
            let spread = wanted.iter().flatten().copied().fold(0.0, f64::max);
            assert!(spread > 0.2, "{kind} predicts the same for all: {spread}");
            agrees(program, &input, &wanted, 1e-5);
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
    let program = "(pages) => pages.map((ink) => Array.from(page.frame(ink, 280, 280)))";
    let framed =
        |levels: &Vec<f32>| frame(&Grey { width, height, levels: levels.clone() }).unwrap();
    let wanted: Vec<Vec<f32>> = pages.iter().map(framed).collect();
    assert!(wanted.iter().all(|image| image.iter().any(|level| *level > 0.9)));
    agrees(program, &pages, &wanted, 1e-4);
    // A model's own form: dark on light, larger, and turned in each way; the page is no square.
    for turn in 0..8 {
        let centre = [13.2, 15.3]; // no halves to be rounded one way or the other
        let form =
            Form { paper: 0.9, ink: 0.1, side: 24, centre, turn: Some(turn), ..Form::default() };
        let ink: Vec<f32> = (0..40 * 30).map(|at| f32::from(u8::from(at % 7 < at / 160))).collect();
        let program =
            "({ ink, form }) => Array.from(page.frame(Float32Array.from(ink), 40, 30, form))";
        let input = serde_json::json!({ "ink": ink, "form": form });
        let wanted = form.frame(&Grey { width: 40, height: 30, levels: ink }).unwrap();
        agrees(program, &input, &wanted, 1e-4);
        assert!(wanted.iter().any(|level| *level < 0.2) && (wanted[0] - 0.9).abs() < 1e-6);
    }
    let program = "() => page.frame(new Float32Array(280 * 280), 280, 280)";
    agrees(program, &(), &(), 0.0);
}
