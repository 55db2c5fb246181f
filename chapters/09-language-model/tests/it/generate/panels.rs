use lab::random::numbers;
use language_model::generate::panels::Matrix;
use std::array;

fn product(matrix: &Matrix, x: &[f32], rows: usize) -> Vec<f32> {
    let mut y = vec![f32::NAN; rows * matrix.outputs()];
    matrix.product(&mut y, x);
    y
}

#[test]
fn it_is_the_product_for_any_size_and_number_of_rows() {
    for (inputs, outputs) in [(1, 1), (3, 31), (5, 32), (64, 33), (7, 100), (130, 300)] {
        let w = numbers(inputs * outputs, 1);
        let matrix = Matrix::new(inputs, outputs, |i, j| w[i * outputs + j]);
        for rows in [0, 1, 2, 3, 4, 5, 9] {
            let x = numbers(rows * inputs, 2);
            let y = product(&matrix, &x, rows);
            for row in 0..rows {
                for j in 0..outputs {
                    let terms = (0..inputs)
                        .map(|i| f64::from(x[row * inputs + i]) * f64::from(w[i * outputs + j]));
                    let (found, wanted) = (f64::from(y[row * outputs + j]), terms.sum::<f64>());
                    assert!((found - wanted).abs() < 1e-5, "{rows}×{inputs}×{outputs}");
                }
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_company() {
    let (inputs, outputs) = (96, 520);
    let w = numbers(inputs * outputs, 3);
    let quantised = |i: usize, j: usize| (100.0 * w[i * outputs + j]) as i8;
    for matrix in [
        Matrix::new(inputs, outputs, |i, j| w[i * outputs + j]),
        Matrix::in_8_bits(inputs, vec![0.01; outputs], quantised),
    ] {
        let x = numbers(13 * inputs, 4);
        let all = product(&matrix, &x, 13);
        for (row, x) in x.chunks(inputs).enumerate() {
            let alone = product(&matrix, x, 1);
            assert_eq!(alone, all[row * outputs..][..outputs], "row {row}");
        }
    }
}

#[test]
fn a_column_comes_back() {
    let w = numbers(5 * 70, 5);
    let matrix = Matrix::new(5, 70, |i, j| w[i * 70 + j]);
    let narrow = Matrix::in_8_bits(5, vec![0.5; 70], |i, j| (i * 10 + j) as i8);
    assert!(narrow.bytes() * 2 < matrix.bytes()); // the scales count much in so small a one
    let mut column = [0.0; 5];
    for j in [0, 31, 32, 69] {
        matrix.column(j, &mut column);
        assert_eq!(column, array::from_fn(|i| w[i * 70 + j]));
        narrow.column(j, &mut column);
        assert_eq!(column, array::from_fn(|i| 0.5 * (i * 10 + j) as f32));
    }
}
