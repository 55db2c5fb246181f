use multi_gpu::{comm::cost::AlphaBeta, plan::predicted::Parts};

#[test]
fn a_prediction_by_hand() {
    let link = AlphaBeta { alpha: 0.5, beta: 0.25 };
    let parts = Parts { compute: 10.0, link, bytes: 8.0 };
    assert_eq!(parts.predict(1), 10.0);
    // Two messages of four bytes.
    assert!((parts.predict(2) - (10.0 + 2.0 * (0.5 + 1.0))).abs() < 1e-12);
    // Six messages of two bytes.
    assert!((parts.predict(4) - (10.0 + 6.0 * (0.5 + 0.5))).abs() < 1e-12);
}
