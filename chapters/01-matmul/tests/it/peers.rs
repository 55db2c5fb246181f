//! The libraries compute the same product as this crate, so that a comparison of their speed is fair.

use crate::common::{assert_product, case};
use matmul::{Error, MatMut, MatRef, Shape, peers};

#[test]
fn the_peers_compute_a_product() {
    let all: Vec<peers::Product> = vec![peers::gemm_one, peers::gemm_all, peers::matrixmultiply];
    for shape in [Shape::new(1, 1, 1), Shape::new(33, 65, 47), Shape::new(257, 129, 511)] {
        let Shape { m, k, n } = shape;
        let (a, b, product) = case(shape);
        for (index, multiply) in all.iter().enumerate() {
            let mut c = vec![f32::NAN; m * n];
            let (a, b) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
            multiply(MatMut::new(&mut c, m, n).unwrap(), a, b).unwrap();
            let c = MatRef::new(&c, m, n).unwrap();
            assert_product(c, &product, k, None, None, false, &format!("peer {index}"));
            let mut c = vec![f32::NAN; m * n];
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
