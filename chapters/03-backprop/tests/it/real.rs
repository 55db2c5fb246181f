use backprop::{check::wide, real::Real};
use matmul::MatRef;

#[test]
fn both_products_are_the_same_product() {
    for (m, k, n) in [(1, 1, 1), (3, 5, 7), (17, 4, 9), (2, 0, 3)] {
        let of = |i: usize| ((i * 7 + 3) % 11) as f32 - 5.0;
        let a: Vec<f32> = (0..m * k).map(of).collect();
        let b: Vec<f32> = (0..k * n).map(of).collect();
        let (a64, b64) = (wide(&a), wide(&b));
        let (mut c, mut c64) = (vec![f32::NAN; m * n], vec![f64::NAN; m * n]);
        let (a, b) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
        f32::product(&mut c, a, b).unwrap();
        let mut all = vec![f32::NAN; m * n];
        f32::product_on_all(&mut all, a, b).unwrap();
        assert_eq!(all, c);
        let (a, b) = (MatRef::new(&a64, m, k).unwrap(), MatRef::new(&b64, k, n).unwrap());
        f64::product_on_all(&mut c64, a, b).unwrap();
        assert_eq!(wide(&c), c64, "{m} {k} {n}"); // small whole numbers: nothing rounds
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let (a, b) = ([1.0f64; 6], [1.0; 6]);
    let a = MatRef::new(&a, 2, 3).unwrap();
    let b = MatRef::new(&b, 2, 3).unwrap();
    assert!(f64::product(&mut [0.0; 6], a, b).is_err());
    assert!(f64::product(&mut [0.0; 5], a, b.t()).is_err());
}
