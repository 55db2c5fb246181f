//! The test of the exercise `uneven-pieces`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::whole;
use lab::check::close;

/// The mean of (w·x − y)² over some points, and its gradient.
fn loss(w: &[f64; 2], points: &[[f64; 3]]) -> (f64, Vec<f64>) {
    let n = points.len() as f64;
    let mut sum = (0.0, vec![0.0; 2]);
    for [x0, x1, y] in points {
        let off = w[0] * x0 + w[1] * x1 - y;
        sum.0 += off * off / n;
        sum.1[0] += 2.0 * off * x0 / n;
        sum.1[1] += 2.0 * off * x1 / n;
    }
    sum
}

fn points(count: usize) -> Vec<[f64; 3]> {
    (0..count).map(|i| [i as f64 / 7.0, 1.0 - i as f64, (i * i % 11) as f64]).collect()
}

#[track_caller]
fn holds(count: usize, sizes: &[usize]) {
    let (w, points) = ([0.3, -0.2], points(count));
    let mut rest = &points[..];
    let piece = |size: &usize| {
        let (piece, others) = rest.split_at(*size);
        rest = others;
        let (loss, gradient) = loss(&w, piece);
        (*size, loss, gradient)
    };
    let pieces: Vec<(usize, f64, Vec<f64>)> = sizes.iter().map(piece).collect();
    assert_eq!(sizes.iter().sum::<usize>(), count);
    let (loss, gradient) = loss(&w, &points);
    let found = whole(&pieces).expect("there are images");
    close(found.0, loss, 1e-9, format!("the loss of {sizes:?}"));
    close(found.1, gradient, 1e-9, format!("the gradient of {sizes:?}"));
}

#[test]
fn equal_pieces_are_the_whole() {
    holds(12, &[4, 4, 4]);
    holds(5, &[5]);
}

#[test]
fn uneven_pieces_are_also_the_whole() {
    holds(10, &[4, 4, 2]);
    holds(9, &[1, 7, 1]);
}

#[test]
fn a_piece_of_no_images_adds_nothing() {
    // Its mean is 0 / 0.
    let none = (0, f64::NAN, vec![f64::NAN]);
    assert_eq!(whole(&[none.clone(), (3, 2.0, vec![5.0])]), Some((2.0, vec![5.0])));
    assert_eq!(whole(&[(3, 2.0, vec![5.0]), none.clone()]), Some((2.0, vec![5.0])));
    assert_eq!(whole(&[none]), None);
    assert_eq!(whole(&[]), None);
}
