use crate::models::dense::{Plain, equals_plain};
use dfdx::prelude::*;
use training::models::model::CLASSES;
use training::models::transformer::{HEAD, HEADS, PATCH, PATCHES, Transformer, WIDE, WIDTH};

fn normalised(parameters: &mut Plain, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (scale, shift) = (parameters.take(WIDTH), parameters.take(WIDTH));
    let one = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / WIDTH as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / WIDTH as f64;
        let plain = row.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt());
        plain.zip(scale.iter().zip(shift)).map(|(x, (scale, shift))| x * scale + shift).collect()
    };
    rows.iter().map(one).collect()
}

fn attention(parameters: &mut Plain, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let [q, k, v] = [(); 3].map(|()| parameters.affine(rows, WIDTH));
    let mut mixed = vec![vec![0.0; WIDTH]; PATCHES];
    for (head, asking) in (0..HEADS).flat_map(|h| (0..PATCHES).map(move |p| (h, p))) {
        let own = head * HEAD..(head + 1) * HEAD;
        let power = |asked: usize| -> f64 {
            let score: f64 = own.clone().map(|i| q[asking][i] * k[asked][i]).sum();
            (score / (HEAD as f64).sqrt()).exp()
        };
        let sum: f64 = (0..PATCHES).map(power).sum();
        for (asked, value) in v.iter().enumerate() {
            let weight = power(asked) / sum;
            own.clone().for_each(|i| mixed[asking][i] += weight * value[i]);
        }
    }
    parameters.affine(&mixed, WIDTH)
}

fn add(rows: &mut [Vec<f64>], more: &[Vec<f64>]) {
    let sums = rows.iter_mut().flatten();
    sums.zip(more.iter().flatten()).for_each(|(sum, more)| *sum += more);
}

/// The definition, in f64: scores of one image.
fn plain(parameters: &mut Plain, image: &[f64]) -> Vec<f64> {
    let patch = |at: usize| -> Vec<f64> {
        let (top, left) = (at / 4 * 7, at % 4 * 7);
        (0..PATCH).map(|i| image[(top + i / 7) * 28 + left + i % 7]).collect()
    };
    let patches: Vec<Vec<f64>> = (0..PATCHES).map(patch).collect();
    let mut x = parameters.affine(&patches, WIDTH);
    let places: Vec<Vec<f64>> =
        parameters.take(PATCHES * WIDTH).chunks_exact(WIDTH).map(<[f64]>::to_vec).collect();
    add(&mut x, &places);
    for _ in 0..2 {
        let seen = normalised(parameters, &x);
        add(&mut x, &attention(parameters, &seen));
        let seen = normalised(parameters, &x);
        let mut hidden = parameters.affine(&seen, WIDE);
        hidden.iter_mut().flatten().for_each(|x| *x = x.max(0.0));
        add(&mut x, &parameters.affine(&hidden, WIDTH));
    }
    let mean = |i: usize| x.iter().map(|row| row[i]).sum::<f64>() / PATCHES as f64;
    let seen = normalised(parameters, &[(0..WIDTH).map(mean).collect()]);
    parameters.affine(&seen, CLASSES).remove(0)
}

#[test]
fn equals_the_definition_and_its_slopes() {
    equals_plain::<Transformer<f32, Cpu>>(plain);
}
