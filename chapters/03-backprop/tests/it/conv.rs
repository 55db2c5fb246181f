use backprop::conv::{Conv, Sides, pool, unpool};
use backprop::{check, random::SplitMix64};

fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    (0..len).map(|_| random.normal()).collect()
}

/// Each output from its definition.
fn naive(conv: &Conv<f64>, image: &[f64]) -> Vec<f64> {
    let Sides { input: [channels, rows, cols], size, stride, padding, output } = conv.sides;
    let mut y = Vec::new();
    for (out, bias) in conv.bias.iter().enumerate() {
        for i in 0..output[0] {
            for j in 0..output[1] {
                let mut sum = *bias;
                for c in 0..channels {
                    for down in 0..size {
                        for right in 0..size {
                            let at = |i: usize, d: usize, side: usize| {
                                (i * stride + d).checked_sub(padding).filter(|at| *at < side)
                            };
                            if let (Some(r), Some(s)) = (at(i, down, rows), at(j, right, cols)) {
                                let w = ((out * channels + c) * size + down) * size + right;
                                sum += conv.weights[w] * image[(c * rows + r) * cols + s];
                            }
                        }
                    }
                }
                y.push(sum);
            }
        }
    }
    y
}

fn examples() -> Vec<(Conv<f64>, Vec<f64>)> {
    [
        ([1, 3, 3], 3, 1, 0, 1),
        ([3, 8, 7], 3, 1, 1, 4),
        ([2, 9, 6], 3, 2, 1, 5),
        ([4, 5, 5], 1, 1, 0, 3),
        ([2, 4, 6], 5, 3, 4, 2),
        ([5, 1, 1], 3, 1, 1, 2),
    ]
    .into_iter()
    .map(|(input, size, stride, padding, channels)| {
        let sides = Sides::new(input, size, stride, padding).unwrap();
        let weights = numbers(channels * sides.window(), 1);
        (Conv { sides, weights, bias: numbers(channels, 2) }, numbers(input.iter().product(), 3))
    })
    .collect()
}

#[test]
fn a_product_with_the_unrolled_image_is_the_convolution() {
    for (conv, mut image) in examples() {
        let mut columns = vec![f64::NAN; conv.sides.window() * conv.sides.places() + 3];
        let y = conv.forward(&mut image, &mut columns).unwrap();
        assert!(check::error(&y, &naive(&conv, &image)) < 1e-12, "{:?}", conv.sides);
        let single: Vec<f32> = image.iter().map(|x| *x as f32).collect();
        let narrow = Conv {
            sides: conv.sides,
            weights: conv.weights.iter().map(|w| *w as f32).collect(),
            bias: conv.bias.iter().map(|b| *b as f32).collect(),
        };
        let mut columns = vec![f32::NAN; columns.len()];
        let y32 = narrow.forward(&mut single.clone(), &mut columns).unwrap();
        assert!(check::error(&check::wide(&y32), &y) < 1e-5);
    }
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    for (conv, image) in examples() {
        let len = conv.sides.window() * conv.sides.places();
        let dy = numbers(conv.bias.len() * conv.sides.places(), 4);
        let loss = |conv: &Conv<f64>, image: &[f64]| {
            naive(conv, image).iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>()
        };
        let (mut dw, mut db) =
            (vec![f64::NAN; conv.weights.len()], vec![f64::NAN; conv.bias.len()]);
        let mut columns = vec![f64::NAN; len];
        let dx =
            conv.backward(&mut image.clone(), &dy, &mut columns, (&mut dw, &mut db), true).unwrap();
        let wanted = check::differences(&conv.weights, |w| {
            loss(&Conv { weights: w.to_vec(), ..conv.clone() }, &image)
        });
        assert!(check::error(&dw, &wanted) < 1e-8, "{:?}", conv.sides);
        let wanted = check::differences(&conv.bias, |b| {
            loss(&Conv { bias: b.to_vec(), ..conv.clone() }, &image)
        });
        assert!(check::error(&db, &wanted) < 1e-8);
        let wanted = check::differences(&image, |image| loss(&conv, image));
        assert!(check::error(&dx, &wanted) < 1e-8, "{:?}", conv.sides);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (conv, mut image) = examples().remove(1);
    assert!(conv.forward(&mut image[1..], &mut [0.0; 9]).is_err());
    assert!(conv.forward(&mut image, &mut [0.0; 10]).is_err());
    assert!(Sides::new([1, 2, 2], 3, 1, 0).is_none());
}

#[test]
fn a_pool_takes_the_largest_and_gives_the_derivative_back_to_it() {
    let image = [1.0, 5.0, 2.0, 3.0, 4.0, 9.0, -1.0, -2.0, 7.0, -3.0, -4.0, 8.0];
    let (largest, places) = pool(&image, [2, 2, 3], 2);
    assert_eq!((&largest[..], &places[..]), (&[5.0, -1.0][..], &[1, 6][..]));
    let dx = unpool(&[10.0, 20.0], &places, 12);
    assert_eq!(dx.iter().sum::<f64>(), 30.0);
    assert_eq!((dx[1], dx[6]), (10.0, 20.0));
    assert!(pool(&[1.0, f64::NAN, 3.0, 2.0], [1, 2, 2], 2).0[0].is_nan());
}
