//! LU decomposition: every way of it gives PA = LU up to rounding, on any shape, with the same pivots; and what has no
//! decomposition is refused with the column's number.

#![allow(clippy::float_cmp)] // What is compared exactly is 0, 1 or a power of two: nothing rounds.

use cpu_gpu::lu::{
    Lu, LuError, Plan, blocked,
    check::{backward_error, growth, random, residual, wilkinson},
    product_share, unblocked,
};
use matmul::Threads;

/// Every pair of these numbers of rows and columns.
pub fn shapes<const N: usize>(sides: [usize; N]) -> impl Iterator<Item = (usize, usize)> {
    sides.into_iter().flat_map(move |rows| sides.map(|cols| (rows, cols)))
}

fn plan(block: usize, threads: Threads) -> Plan {
    Plan { block, threads }
}

/// PA = LU up to rounding, L below one, and the packed form contains both.
pub fn assert_decomposes(a: &[f32], lu: &Lu, what: &str) {
    let (rows, cols) = lu.shape();
    let error = backward_error(a, lu).unwrap();
    assert!(error < 1.0, "{what}: {error} times what rounding explains");
    assert!(lu.l().iter().all(|l| l.abs() <= 1.0), "{what}: a factor above one");
    let mut seen = lu.permutation();
    seen.sort_unstable();
    assert_eq!(seen, (0..rows).collect::<Vec<_>>(), "{what}: not a permutation");
    let steps = rows.min(cols);
    let (l, u) = (lu.l(), lu.u());
    for (at, &x) in lu.packed().iter().enumerate() {
        let (i, j) = (at / cols, at % cols);
        let part = if j < i { l[i * steps + j] } else { u[i * cols + j] };
        assert_eq!(part.to_bits(), x.to_bits(), "{what}: row {i}, column {j}");
    }
    for i in 0..steps {
        assert_eq!(l[i * steps + i], 1.0);
        assert!(l[i * steps..][i + 1..steps].iter().all(|&x| x == 0.0), "{what}: L above");
        assert!(u[i * cols..][..i].iter().all(|&x| x == 0.0), "{what}: U below");
    }
}

#[test]
fn every_shape_is_decomposed_with_the_same_pivots() {
    // None, one element, a row, a column, squares around blocks and half blocks, tall, wide.
    for (rows, cols) in shapes([0, 1, 2, 7, 8, 33, 64, 65, 145]) {
        let a = random(rows, cols, 2);
        let reference = Lu::unblocked(a.clone(), rows, cols).unwrap();
        assert_decomposes(&a, &reference, &format!("{rows}×{cols}"));
        for block in [0, 1, 3, 8, 16, 20, 64, 128, 1000] {
            for threads in [Threads::One, Threads::All] {
                let lu = Lu::blocked(a.clone(), rows, cols, &plan(block, threads)).unwrap();
                let what = format!("{rows}×{cols} in blocks of {block} on {threads:?}");
                assert_decomposes(&a, &lu, &what);
                assert_eq!(lu.swaps(), reference.swaps(), "{what}");
            }
        }
    }
}

#[test]
fn large_blocks_use_every_level_of_the_recursion() {
    let n = 500;
    let a = random(n, n, 3);
    let lu = Lu::blocked(a.clone(), n, n, &Plan::default()).unwrap();
    assert_decomposes(&a, &lu, "500×500");
    let (x, b) = (random(n, 1, 4), random(n, 1, 5));
    let solved = lu.solve(&b, 1).unwrap();
    assert!(residual(&a, &solved, &b).unwrap() < 1.0);
    assert!(residual(&a, &x, &b).unwrap() > 100.0, "anything passes as a solution");
}

#[test]
fn threads_do_not_change_a_bit() {
    let n = 300;
    let a = random(n, n, 6);
    let one = Lu::blocked(a.clone(), n, n, &plan(64, Threads::One)).unwrap();
    let three = Lu::blocked(a, n, n, &plan(64, Threads::Count(3))).unwrap();
    assert_eq!(one, three);
}

#[test]
fn identity_and_permutations_come_back_exactly() {
    let n = 77;
    let identity: Vec<f32> = (0..n * n).map(|at| f32::from(u8::from(at / n == at % n))).collect();
    let lu = Lu::blocked(identity.clone(), n, n, &plan(16, Threads::All)).unwrap();
    assert_eq!(lu.packed(), identity);
    // Row i of the permuted matrix is row 5i mod 77 of the identity.
    let mut permuted = vec![0.0; n * n];
    (0..n).for_each(|i| permuted[i * n + 5 * i % n] = 1.0);
    for lu in [
        Lu::unblocked(permuted.clone(), n, n).unwrap(),
        Lu::blocked(permuted.clone(), n, n, &plan(16, Threads::All)).unwrap(),
    ] {
        assert_eq!(lu.packed(), identity);
        assert_eq!(backward_error(&permuted, &lu).unwrap(), 0.0);
        let rows = lu.permutation();
        assert!((0..n).all(|i| 5 * rows[i] % n == i), "row i of PA has its one in column i");
    }
}

#[test]
fn wilkinsons_matrix_grows_as_much_as_it_can() {
    let n = 60;
    let a = wilkinson(n);
    for block in [1, 8, 128] {
        let lu = Lu::blocked(a.clone(), n, n, &plan(block, Threads::All)).unwrap();
        assert_eq!(growth(&a, &lu).unwrap(), 2.0_f64.powi(n as i32 - 1));
        assert_eq!(lu.permutation(), (0..n).collect::<Vec<_>>());
    }
    // What grows by 2ⁿ⁻¹ costs n − 1 of the 24 bits: twelve equations survive that, sixty do not.
    let error = |n: usize| {
        let (a, b) = (wilkinson(n), random(n, 1, 7));
        let lu = Lu::blocked(a.clone(), n, n, &plan(8, Threads::All)).unwrap();
        residual(&a, &lu.solve(&b, 1).unwrap(), &b).unwrap()
    };
    assert!(error(12) < 16.0, "{}", error(12));
    assert!(error(60) > 1e3, "{}", error(60));
    // Random matrices hardly grow.
    let a = random(100, 100, 8);
    let grown = growth(&a, &Lu::unblocked(a.clone(), 100, 100).unwrap()).unwrap();
    assert!((1.0..20.0).contains(&grown), "{grown}");
}

#[test]
fn nearly_singular_matrices_solve_with_a_small_residual() {
    // The last row is the sum of the others, but for one part in a million.
    let n = 90;
    let mut a = random(n, n, 9);
    for j in 0..n {
        let sum: f32 = (0..n - 1).map(|i| a[i * n + j]).sum();
        a[(n - 1) * n + j] = sum * (1.0 + 1e-6 * (j % 3) as f32);
    }
    let b = random(n, 1, 10);
    let lu = Lu::blocked(a.clone(), n, n, &plan(32, Threads::All)).unwrap();
    assert_decomposes(&a, &lu, "nearly singular");
    let smallest = (0..n).map(|i| lu.u()[i * n + i].abs()).fold(f32::INFINITY, f32::min);
    assert!(smallest < 1e-3, "{smallest}");
    assert!(residual(&a, &lu.solve(&b, 1).unwrap(), &b).unwrap() < 1.0);
}

#[test]
fn systems_are_solved_for_many_right_hand_sides() {
    for (n, sides) in [(0, 3), (1, 1), (5, 0), (40, 1), (67, 4)] {
        let (a, b) = (random(n, n, 11), random(n, sides, 12));
        let lu = Lu::blocked(a.clone(), n, n, &plan(16, Threads::One)).unwrap();
        let x = lu.solve(&b, sides).unwrap();
        for side in 0..sides {
            let column = |m: &[f32]| -> Vec<f32> { m.chunks(sides).map(|row| row[side]).collect() };
            let error = residual(&a, &column(&x), &column(&b)).unwrap();
            assert!(error < 1.0, "{n} equations, side {side}: {error}");
        }
    }
    let wide = Lu::unblocked(random(3, 4, 1), 3, 4).unwrap();
    assert_eq!(wide.solve(&[1.0; 3], 1), Err(LuError::NotSquare { rows: 3, cols: 4 }));
    let square = Lu::unblocked(random(3, 3, 1), 3, 3).unwrap();
    assert_eq!(square.solve(&[1.0; 4], 1), Err(LuError::Length { rows: 3, cols: 1, len: 4 }));
}

/// What all ways say of a matrix.
fn faults(a: &[f32], rows: usize, cols: usize) -> Vec<Option<LuError>> {
    let mut all = vec![unblocked::factor(&mut a.to_vec(), rows, cols).err()];
    for block in [1, 4, 16, 128] {
        let done = blocked::factor(&mut a.to_vec(), rows, cols, &plan(block, Threads::All));
        all.push(done.err());
    }
    all
}

#[test]
fn singular_matrices_are_refused_with_their_column() {
    // Column 13 is empty.
    let n = 40;
    let mut a = random(n, n, 13);
    (0..n).for_each(|i| a[i * n + 13] = 0.0);
    for fault in faults(&a, n, n) {
        assert_eq!(fault, Some(LuError::Singular { column: 13 }));
    }
    // Column 1 repeats column 0, in numbers that nothing rounds.
    for fault in faults(&[1.0; 9], 3, 3) {
        assert_eq!(fault, Some(LuError::Singular { column: 1 }));
    }
    for fault in faults(&[0.0; 12], 3, 4) {
        assert_eq!(fault, Some(LuError::Singular { column: 0 }));
    }
    let text = LuError::Singular { column: 13 }.to_string();
    assert!(text.contains("singular") && text.contains("13"), "{text}");
}

#[test]
fn numbers_that_are_not_finite_are_refused_wherever_they_are() {
    for (rows, cols) in [(20, 20), (12, 30), (30, 12)] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in [0, 1, cols - 1, 5 * cols + 7, (rows - 1) * cols, rows * cols - 1] {
                let mut a = random(rows, cols, 14);
                a[at] = bad;
                for fault in faults(&a, rows, cols) {
                    let Some(LuError::NotFinite { column }) = fault else {
                        panic!("{bad} at {at} of {rows}×{cols}: {fault:?}");
                    };
                    assert_eq!(column, at % cols, "{bad} at {at} of {rows}×{cols}");
                }
            }
        }
    }
    // Sums that overflow are no better.
    let huge = [f32::MAX, f32::MAX, -f32::MAX, f32::MAX];
    for fault in faults(&huge, 2, 2) {
        assert_eq!(fault, Some(LuError::NotFinite { column: 1 }));
    }
}

#[test]
fn tiny_and_huge_numbers_are_no_trouble() {
    for scale in [1e-40, 1e-30, 1e30] {
        let a: Vec<f32> = random(30, 30, 15).iter().map(|x| x * scale).collect();
        let lu = Lu::blocked(a.clone(), 30, 30, &plan(8, Threads::One)).unwrap();
        assert!(lu.l().iter().all(|l| l.abs() <= 1.0));
        // Numbers below the normal range have fewer digits.
        let allowed = if scale < 1e-38 { 1e7 } else { 1.0 };
        assert!(backward_error(&a, &lu).unwrap() < allowed, "{scale}");
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let wrong = Some(LuError::Length { rows: 3, cols: 4, len: 11 });
    for fault in faults(&[1.0; 11], 3, 4) {
        assert_eq!(fault, wrong);
    }
    assert_eq!(
        backward_error(&[1.0; 11], &Lu::unblocked(random(3, 4, 1), 3, 4).unwrap()).err(),
        wrong
    );
    let swaps = |swaps: &[usize]| Lu::from_parts(random(3, 4, 1), 3, 4, swaps.to_vec());
    assert!(swaps(&[0, 2, 2]).is_ok());
    assert!(swaps(&[0, 0, 2]).is_err(), "a row above its step");
    assert!(swaps(&[0, 3, 2]).is_err(), "a row that there is not");
    assert!(swaps(&[0, 1]).is_err(), "too few");
}

#[test]
fn the_checks_notice_what_is_wrong() {
    let n = 20;
    let a = random(n, n, 16);
    let lu = Lu::unblocked(a.clone(), n, n).unwrap();
    for (at, value) in [(0, 1.0), (n + 3, f32::NAN), (n * n - 1, 0.5)] {
        let mut values = lu.packed().to_vec();
        values[at] += value;
        let wrong = Lu::from_parts(values, n, n, lu.swaps().to_vec()).unwrap();
        let error = backward_error(&a, &wrong).unwrap();
        assert!(error.is_nan() || error > 1e3, "element {at}: {error}");
    }
    let identity: Vec<usize> = (0..n).collect();
    let unpermuted = Lu::from_parts(lu.packed().to_vec(), n, n, identity).unwrap();
    assert!(backward_error(&a, &unpermuted).unwrap() > 1e3, "the permutation does not count");
    let b = random(n, 1, 17);
    let mut x = lu.solve(&b, 1).unwrap();
    x[7] = f32::NAN;
    assert!(residual(&a, &x, &b).unwrap().is_nan());
    x[7] = 1e4;
    assert!(residual(&a, &x, &b).unwrap() > 16.0);
}

#[test]
fn times_add_up_and_the_share_is_that_of_the_sum() {
    let n = 200;
    let done = blocked::factor(&mut random(n, n, 18), n, n, &plan(32, Threads::One)).unwrap();
    assert!(done.times.parts().iter().all(|part| !part.1.is_zero()), "{:?}", done.times);
    assert_eq!(done.times.total(), done.times.parts().iter().map(|part| part.1).sum());
    // Σ 2b(n−sb)² over the steps, against 2/3·n³.
    let (n, b) = (640_usize, 64_usize);
    let steps = (1..=n / b).map(|s| 2.0 * b as f64 * ((n - s * b) as f64).powi(2));
    let share = steps.sum::<f64>() / (2.0 / 3.0 * (n as f64).powi(3));
    assert!((product_share(n, b) - share).abs() < 1e-12, "{share}");
    assert_eq!(product_share(64, 64), 0.0);
    assert_eq!(product_share(10, 64), 0.0);
}
