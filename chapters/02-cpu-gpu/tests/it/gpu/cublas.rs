use cpu_gpu::gpu::cublas::{Lengths, available, check};
use matmul::Shape;

#[test]
fn loads_or_says_what_is_missing() {
    if let Err(error) = available() {
        let error = error.to_string();
        assert!(error.contains("libcublas") && error.contains("install"), "{error}");
    }
}

#[test]
fn every_status_becomes_a_sentence() {
    assert!(check(0, "start").is_ok());
    for (status, wanted) in [(1, "doctor"), (3, "smaller"), (13, "again"), (99, "manual")] {
        let error = check(status, "start").unwrap_err().to_string();
        assert!(error.starts_with("cuBLAS can't start") && error.contains(wanted), "{error}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn lengths_are_swapped_and_counted() {
    let lengths = Lengths::new(Shape::new(2, 3, 5), 2).unwrap();
    assert_eq!(lengths, Lengths { of_call: [5, 2, 3], bytes: [12, 30, 40] });
    for shape in [Shape::new(1 << 31, 1, 1), Shape::new(1, 1, 1 << 40)] {
        lab::testing::refused(Lengths::new(shape, 4), ["31 bits"]);
    }
}
