use backprop::check::{self, wide};
use backprop::{dense::Dense, random::SplitMix64};
use performance::engine::layer::{Behind, Derivatives, Sides, Team, backward, forward};
use performance::engine::mask::Mask;

/// Numbers around zero.
fn numbers(random: &mut SplitMix64, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.normal() as f32).collect()
}

fn close(found: &[f32], wanted: &[f64], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let error = check::error(&wide(found), wanted);
    assert!(found.is_empty() || error < 1e-5, "{what}: {error}");
}

/// Chapter 3's textbook in f64 with the same mask: output, dW, db, dX.
fn textbook(
    [x, w, b, dy]: [&[f32]; 4],
    sides: Sides,
    behind: Behind,
) -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
    let layer =
        Dense { inputs: sides.inputs, outputs: sides.outputs, weights: wide(w), bias: wide(b) };
    let (x, mut dy) = (wide(x), wide(dy));
    let mut y = layer.forward(&x).unwrap();
    if let Behind::Relu(mask) = behind {
        for (i, (y, dy)) in y.iter_mut().zip(&mut dy).enumerate() {
            let factor = if mask.keeps(i) { f64::from(mask.scale()) } else { 0.0 };
            *dy = if *y > 0.0 { *dy * factor } else { 0.0 };
            *y = y.max(0.0) * factor;
        }
    }
    let gradient = layer.backward_weights(&x, &dy).unwrap();
    let dx = layer.backward_input(&dy).unwrap();
    (y, gradient.weights, gradient.bias, dx)
}

#[test]
fn equals_the_textbook_for_odd_sizes() {
    let mut random = SplitMix64::new(3);
    for (rows, inputs, outputs) in [(1, 1, 1), (3, 7, 5), (33, 17, 130), (130, 65, 129)] {
        let sides = Sides { inputs, outputs };
        for behind in [
            Behind::Nothing,
            Behind::Relu(Mask::new(0.0, 1).unwrap()),
            Behind::Relu(Mask::new(0.4, 2).unwrap()),
        ] {
            for threads in [1, 2] {
                let team = Team { products: threads, passes: threads };
                let [x, w, b, dy] = [rows * inputs, inputs * outputs, outputs, rows * outputs]
                    .map(|len| numbers(&mut random, len));
                let wanted = textbook([&x, &w, &b, &dy], sides, behind);
                let mut y = vec![f32::NAN; rows * outputs];
                forward(&mut y, &x, (&w, &b), sides, behind, team).unwrap();
                close(&y, &wanted.0, "y");
                for (add, start) in [(false, f32::NAN), (true, 0.0)] {
                    let mut dw = vec![start; inputs * outputs];
                    let mut db = vec![start; outputs];
                    let mut dx = vec![start; rows * inputs];
                    let to =
                        Derivatives { parameters: (&mut dw, &mut db), inputs: Some(&mut dx), add };
                    let mut up = dy.clone();
                    backward(to, (&mut up, &y), (&x, &w), sides, behind, team).unwrap();
                    close(&dw, &wanted.1, "dw");
                    close(&db, &wanted.2, "db");
                    close(&dx, &wanted.3, "dx");
                }
            }
        }
    }
}

#[test]
fn any_number_of_threads_leaves_the_same_bits() {
    let mut random = SplitMix64::new(5);
    let sides = Sides { inputs: 60, outputs: 260 };
    let [x, w, b] = [300 * 60, 60 * 260, 260].map(|len| numbers(&mut random, len));
    let behind = Behind::Relu(Mask::new(0.2, 7).unwrap());
    let run = |threads| {
        let mut y = vec![0.0; 300 * 260];
        let team = Team { products: threads, passes: threads };
        forward(&mut y, &x, (&w, &b), sides, behind, team).unwrap();
        y
    };
    assert!(run(1) == run(2) && run(1) == run(5));
}

#[test]
fn threads_are_taken_where_they_pay() {
    let alone = Team { products: 1, passes: 1 };
    assert_eq!(Team::paying(&[784, 128, 10], 8), alone);
    assert_eq!(Team::paying(&[784, 128, 10], 1 << 20), Team::all());
    assert_eq!(Team::paying(&[], 512), alone);
}

#[test]
fn lengths_that_do_not_fit_are_an_error() {
    let sides = Sides { inputs: 3, outputs: 2 };
    let mut y = [0.0; 4];
    let team = Team { products: 1, passes: 1 };
    let run = forward(&mut y, &[0.0; 6], (&[0.0; 5], &[0.0; 2]), sides, Behind::Nothing, team);
    assert!(run.is_err());
}
