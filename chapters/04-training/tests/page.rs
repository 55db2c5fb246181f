//! The page's script computes what dfdx computes, and frames ink as the crate does. It runs on Node.js.

use lab::data;
use std::{fs, io::ErrorKind, path::Path, process::Command};
use training::{
    Classifier, Model,
    export::export,
    picture::{Grey, frame},
};

const PIXELS: usize = 784;

/// What `program` prints, a JSON value, with the page's script as `page` and the file `input` as `input`;
/// `None` where there is no Node.js.
fn node(program: &str, input: &serde_json::Value) -> Option<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input.json");
    fs::write(&file, input.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/theme/digit-canvas.js");
    let program = format!(
        "const page = require(process.argv[1]); \
         const input = JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8')); \
         console.log(JSON.stringify(({program})(input)));"
    );
    let ran = Command::new("node").arg("-e").arg(program).arg(script).arg(file).output();
    let out = match ran {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: no Node.js here to run the page's script");
            return None;
        }
        ran => ran.unwrap(),
    };
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

#[test]
fn the_page_computes_what_dfdx_computes() {
    // Half of the pictures are digits, half are noise.
    let mut pixels = data::drawn(100, 0, 7).train.scaled();
    let mut word = 1_u32;
    for _ in 0..100 * PIXELS {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        pixels.push((word >> 8) as f32 / (1_u32 << 24) as f32);
    }
    for kind in [Model::Linear, Model::Mlp, Model::Cnn] {
        // Larger weights than the first ones, so that the answers differ.
        let random = Classifier::random(kind, 9).unwrap();
        let large: Vec<f32> = random.weights().unwrap().iter().map(|w| 2.0 * w).collect();
        let export = export(&Classifier::from_weights(kind, &large).unwrap()).unwrap();
        let wanted = export.rounded.probabilities(&pixels).unwrap();
        let pictures: Vec<&[f32]> = pixels.chunks_exact(PIXELS).collect();
        let input = serde_json::json!({ "script": export.script, "pictures": pictures });
        let program = "({ script, pictures }) => { \
            new Function(script)(); \
            const layers = page.layersOf(globalThis.digitModel); \
            return pictures.map((one) => page.probabilities(layers, Float32Array.from(one))); }";
        let Some(got) = node(program, &input) else { return };
        let got: Vec<Vec<f64>> = serde_json::from_value(got).unwrap();
        assert_eq!(got.len(), wanted.len());
        let spread = wanted.iter().flatten().copied().fold(0.0, f64::max);
        assert!(spread > 0.2, "{kind} says the same of everything: {spread}");
        for (got, wanted) in got.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((got - wanted).abs() < 1e-5, "{kind}: {got} is not {wanted}");
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
    let Some(got) = node(program, &serde_json::json!(pages)) else { return };
    let got: Vec<Vec<f32>> = serde_json::from_value(got).unwrap();
    for (got, levels) in got.iter().zip(pages) {
        let wanted = frame(&Grey { width, height, levels }).unwrap();
        assert!(wanted.iter().any(|level| *level > 0.9));
        for (got, wanted) in got.iter().zip(&wanted) {
            assert!((got - wanted).abs() < 1e-4, "{got} is not {wanted}");
        }
    }
    let program = "() => page.frame(new Float32Array(280 * 280), 280, 280)";
    assert!(node(program, &serde_json::json!(null)).unwrap().is_null());
}
