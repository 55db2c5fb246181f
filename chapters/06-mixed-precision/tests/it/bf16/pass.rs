use backprop::check;
use half::bf16;
use lab::random::numbers;
use mixed_precision::bf16::pass::{backward, gather, hidden};

fn rounded(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|x| bf16::from_f32(*x)).collect()
}

const SHAPES: [(usize, usize); 6] = [(0, 5), (1, 1), (3, 7), (17, 33), (100, 10), (512, 300)];

#[test]
fn hidden_units_are_bias_relu_and_one_rounding() {
    for (rows, width) in SHAPES {
        let (sums, bias) = (numbers(rows * width, 1), numbers(width, 2));
        let exact: Vec<f32> =
            sums.iter().enumerate().map(|(i, x)| (x + bias[i % width]).max(0.0)).collect();
        for threads in [1, 2, 5] {
            let mut kept = vec![bf16::NAN; rows * width];
            hidden(&sums, &bias, &mut kept, threads);
            assert_eq!(kept, rounded(&exact), "{rows}×{width}");
        }
    }
    let mut kept = [bf16::ZERO];
    hidden(&[f32::NAN], &[1.0], &mut kept, 1);
    assert!(kept[0].is_nan(), "what is not a number must not look like a zero");
}

#[test]
fn backward_stops_where_relu_did_and_adds_columns_alike_on_any_number_of_threads() {
    for (rows, width) in SHAPES {
        let dx = numbers(rows * width, 3);
        let output: Vec<f32> = numbers(rows * width, 4).into_iter().map(|x| x.max(0.0)).collect();
        let exact: Vec<f32> =
            dx.iter().zip(&output).map(|(d, o)| if *o > 0.0 { *d } else { 0.0 }).collect();
        let mut first: Option<Vec<f32>> = None;
        for threads in [1, 2, 7] {
            let (mut narrow, mut kept) = (dx.clone(), vec![bf16::NAN; rows * width]);
            let sums = backward(&mut narrow, &rounded(&output), &mut kept, width, threads);
            assert_eq!(kept, rounded(&exact));
            let mut in_place = dx.clone();
            let same = backward(&mut in_place, &output, &mut [], width, threads);
            assert_eq!((&in_place, &same), (&exact, &sums));
            assert_eq!(first.get_or_insert(sums.clone()), &sums);
        }
        let mut wanted = vec![0.0; width];
        for (i, x) in exact.iter().enumerate() {
            wanted[i % width] += f64::from(*x);
        }
        let found: Vec<f64> = first.unwrap_or_default().iter().map(|x| f64::from(*x)).collect();
        assert!(rows == 0 || check::error(&found, &wanted) < 1e-5, "{rows}×{width}");
    }
}

#[test]
fn rows_are_gathered_from_anywhere() {
    let data = numbers(40 * 1000, 5);
    let order: Vec<usize> = (0..100).map(|i| i * 7 % 40).collect();
    for threads in [1, 3] {
        let mut to = vec![bf16::NAN; 100 * 1000];
        gather(&mut to, 1000, |i| &data[order[i] * 1000..][..1000], threads);
        for (row, i) in to.chunks_exact(1000).zip(&order) {
            assert_eq!(row, rounded(&data[i * 1000..][..1000]));
        }
    }
}
