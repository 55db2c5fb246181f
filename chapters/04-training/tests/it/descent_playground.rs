//! The page's rules take the steps of the crate's, on losses whose gradients are right. The page's script runs on
//! Node.js.

use dfdx::prelude::*;
use serde::Deserialize;
use training::optimizer::{Rule, adam, adamw, momentum, rmsprop, sgd};

/// What an expression on the page's script (`page`) comes to; `None` where there is no Node.js.
fn run_script<T: for<'t> Deserialize<'t>>(expression: &str) -> Option<T> {
    let function = format!("() => {expression}");
    let found = lab::testing::node("descent-playground.js", &function, &serde_json::Value::Null)?;
    Some(serde_json::from_value(found).unwrap())
}

/// One descent of the page.
#[derive(Deserialize)]
struct Descent {
    landscape: String,
    rule: Rule,
    rate: f32,
    batch: usize,
    path: Vec<Place>,
}

/// Where the weights are after a step, and the gradient that led there. What is no number is null in JSON.
#[derive(Deserialize)]
struct Place {
    w: [Option<f32>; 2],
    g: Option<[Option<f32>; 2]>,
}

/// The numbers, infinite where the page's were.
fn numbers(all: [Option<f32>; 2]) -> [f32; 2] {
    all.map(|one| one.unwrap_or(f32::INFINITY))
}

#[test]
fn the_page_steps_as_the_crate_does() {
    let program = "page.LANDSCAPES.flatMap((landscape) => page.RULES.flatMap((rule) => \
        [1e-4, 0.003, 0.1, 1, 10].flatMap((rate) => [8, 2, 1].map((batch) => ({ \
            landscape: landscape.id, rule: rule.id, rate, batch, \
            path: page.descend({ landscape, k: 20, rule, rate, start: landscape.start, batch }) })))))";
    let Some(all) = run_script::<Vec<Descent>>(program) else { return };
    assert_eq!(all.len(), 3 * Rule::ALL.len() * 5 * 3);
    let decay: f32 = run_script("page.DECAY").unwrap();
    for Descent { landscape, rule, rate, batch, path } in all {
        let what = format!("{landscape}, {rule} at {rate}, batches of {batch}");
        let (mut m, mut v) = (vec![0.0; 2], vec![0.0; 2]);
        let mut p = numbers(path[0].w);
        for (t, place) in path.iter().enumerate().skip(1) {
            let g = &numbers(place.g.unwrap());
            let means = [&mut m[..], &mut v[..]];
            match rule {
                Rule::Sgd => sgd(rate, &mut p, g),
                Rule::Momentum => momentum(rate, &mut p, &mut v, g),
                Rule::RmsProp => rmsprop(rate, &mut p, &mut v, g),
                Rule::Adam => adam(rate, t as i32, &mut p, means, g),
                Rule::AdamW => adamw([rate, decay], t as i32, &mut p, means, g),
            }
            for (p, page) in p.iter().zip(numbers(place.w)) {
                let same = (p - page).abs() <= 1e-5 * p.abs().max(1e-3);
                assert!(same || !page.is_finite(), "{what}, step {t}: {p}, the page has {page}");
            }
        }
        // It goes to the end, or until it is far away.
        let far = p.iter().any(|p| p.is_nan() || p.abs() >= 1e6);
        assert!(path.len() == 201 || far, "{what} ends after {} steps", path.len());
    }
}

#[test]
fn the_page_lists_the_rules_of_the_crate() {
    let Some(rules) = run_script::<Vec<Rule>>("page.RULES.map(({ id }) => id)") else { return };
    assert_eq!(rules, Rule::ALL);
}

#[test]
fn the_pages_gradients_are_the_derivatives_of_its_losses() {
    // Central differences at some points, and the mean over the batches of one.
    let program = "page.LANDSCAPES.flatMap((landscape) => [[-1.3, 0.4], [0.7, -0.9], [1.9, 2]].map((w) => { \
        const [k, h] = [7, 1e-5]; \
        const moved = (i, by) => landscape.loss(w.map((one, at) => one + (at === i ? by : 0)), k); \
        const slope = [0, 1].map((i) => (moved(i, h) - moved(i, -h)) / (2 * h)); \
        const parts = page.ALL.map((one) => landscape.gradient(w, k, [one])); \
        return [slope, landscape.gradient(w, k, page.ALL), \
            [0, 1].map((i) => parts.reduce((sum, part) => sum + part[i] / 8, 0))]; }))";
    let Some(found) = run_script::<Vec<[[f64; 2]; 3]>>(program) else { return };
    assert_eq!(found.len(), 9);
    for [slope, gradient, mean] in found {
        for i in 0..2 {
            let close =
                |other: f64| (gradient[i] - other).abs() < 1e-6 * gradient[i].abs().max(1.0);
            assert!(close(slope[i]) && close(mean[i]), "{slope:?} {gradient:?} {mean:?}");
        }
    }
}

/// Weights of the page's network, their gradient, and its examples: inputs and truths.
type Examined = ([f32; 2], [f32; 2], [[f32; 8]; 2]);

#[test]
fn the_pages_network_has_the_gradient_that_dfdx_finds() {
    let program = "[[-0.4, 2.3], [1.1, 1.4], [-2, 0.3]].map((w) => \
        [w, page.LANDSCAPES[2].gradient(w, 1, page.ALL), [page.INPUTS, page.TRUTHS]])";
    let Some(all) = run_script::<Vec<Examined>>(program) else { return };
    let dev = Cpu::default();
    for ([x, y], gradient, [inputs, truths]) in all {
        let (first, second) = (dev.tensor(x), dev.tensor(y));
        let hidden = (first.leaky_trace().broadcast::<Rank1<8>, _>() * dev.tensor(inputs)).tanh();
        let out = hidden * second.leaky_trace().broadcast::<Rank1<8>, _>();
        let grads = (out - dev.tensor(truths)).square().mean().backward();
        let found = [grads.get(&first).array(), grads.get(&second).array()];
        for (found, page) in found.into_iter().zip(gradient) {
            assert!((found - page).abs() < 1e-5, "at ({x}, {y}): {found}, the page has {page}");
        }
    }
}

#[test]
fn the_limit_that_the_page_names_divides_what_arrives_from_what_runs_away() {
    let program = "[1, 5, 20, 100].flatMap((k) => page.RULES.slice(0, 2).flatMap((rule) => [0.97, 1.03].map((part) => { \
        const [landscape] = page.LANDSCAPES; \
        const lambda = page.curvature(landscape, landscape.start, k); \
        const rate = part * page.limit(rule, lambda); \
        const path = page.descend({ landscape, k, rule, rate, start: [0, 1], batch: 8 }); \
        return [lambda / k, path[0].loss, path[path.length - 1].loss]; })))";
    let Some(found) = run_script::<Vec<[f64; 3]>>(program) else { return };
    assert_eq!(found.len(), 16);
    for pair in found.chunks(2) {
        let [[lambda, first, below], [_, _, above]] = [pair[0], pair[1]];
        assert!((lambda - 1.0).abs() < 1e-6, "the largest curvature is {lambda} of the steepness");
        assert!(below < first / 10.0 && above > first * 10.0, "{first} {below} {above}");
    }
    // The others have no such limit: the largest step keeps them near.
    assert_eq!(
        run_script("page.RULES.slice(2).map((rule) => page.limit(rule, 1))"),
        Some([None::<f64>; 3])
    );
}
