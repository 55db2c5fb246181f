//! The library that the LU decomposition is measured against computes the same.

use cpu_gpu::lu::{
    Lu,
    check::{backward_error, random},
    peer,
};

#[test]
fn faer_computes_the_same_decomposition() {
    for n in [1, 7, 64, 200] {
        let a = random(n, n, 19);
        for all_threads in [false, true] {
            // Column after column, so that it decomposes what we do.
            let mut columns: Vec<f32> = (0..n * n).map(|at| a[at % n * n + at / n]).collect();
            let rows = peer::factor(&mut columns, n, all_threads).unwrap();
            let values: Vec<f32> = (0..n * n).map(|at| columns[at % n * n + at / n]).collect();
            let ours = Lu::unblocked(a.clone(), n, n).unwrap();
            assert_eq!(rows, ours.permutation(), "n = {n}");
            let theirs = Lu::from_parts(values, n, n, ours.swaps().to_vec()).unwrap();
            assert!(backward_error(&a, &theirs).unwrap() < 1.0, "n = {n}");
        }
    }
    assert!(peer::factor(&mut [1.0; 3], 2, false).is_err());
}
