//! The libraries compute the same product as this crate, so that a comparison of their speed is fair.

use crate::common::{Case, Way};
use matmul::{Error, MatMut, MatRef, Shape, peers};

#[test]
fn the_peers_compute_a_product() {
    let all: Vec<peers::Product> = vec![peers::gemm_one, peers::gemm_all, peers::matrixmultiply];
    for shape in [Shape::new(1, 1, 1), Shape::new(33, 65, 47), Shape::new(257, 129, 511)] {
        let (case, Shape { m, k, n }) = (Case::new(shape, 1), shape);
        let (a, b) = (MatRef::new(&case.a, m, k).unwrap(), MatRef::new(&case.b, k, n).unwrap());
        for (index, multiply) in all.iter().enumerate() {
            let mut c = vec![f32::NAN; m * n];
            multiply(MatMut::new(&mut c, m, n).unwrap(), a, b).unwrap();
            let off = case.off(MatRef::new(&c, m, n).unwrap(), false, Way::default());
            assert!(off <= 1.0, "peer {index}: {off} of the bound");
            let error = multiply(MatMut::new(&mut c, n, m).unwrap(), a, b);
            assert!(m == n || matches!(error, Err(Error::Output { .. })));
        }
    }
}

#[test]
fn matrixmultiply_is_listed_where_its_threads_fit() {
    let names = |all| peers::peers(all).iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let many = peers::matrixmultiply_threads() > 1;
    assert_eq!(names(many), ["gemm", "matrixmultiply"]);
    assert!(names(!many).contains(&"gemm"));
}
