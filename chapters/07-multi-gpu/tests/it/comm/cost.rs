use multi_gpu::comm::cost::{AlphaBeta, fit, rounds};
use proptest::prelude::*;

const LINK: AlphaBeta = AlphaBeta { alpha: 2e-6, beta: 1e-10 };

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn formulas_as_on_paper() {
    let (a, b, n) = (LINK.alpha, LINK.beta, 1000.0);
    assert!(near(LINK.naive(n, 4), 6.0 * (a + b * n)));
    assert!(near(LINK.ring(n, 4), 6.0 * (a + b * n / 4.0)));
    assert!(near(LINK.tree(n, 4), 4.0 * (a + b * n)));
    assert!(near(LINK.tree(n, 5), 6.0 * (a + b * n)));
    assert!(near(LINK.halving(n, 4), 4.0 * a + 1.5 * b * n));
    for alone in [0, 1] {
        let all = [LINK.naive(n, alone), LINK.ring(n, alone), LINK.tree(n, alone)];
        assert_eq!((all, LINK.halving(n, alone)), ([0.0; 3], 0.0));
    }
    assert_eq!([1, 2, 3, 4, 5, 8, 9].map(rounds), [0, 1, 2, 2, 3, 3, 4]);
}

proptest! {
    #[test]
    fn a_line_is_found_again(alpha in 1e-7_f64..1e-3, beta in 1e-12_f64..1e-8) {
        let link = AlphaBeta { alpha, beta };
        let sizes = (2..27).map(|log| f64::from(1 << log));
        let measured: Vec<_> = sizes.map(|n| (n, link.message(n))).collect();
        let found = fit(&measured).unwrap();
        prop_assert!((found.alpha / alpha - 1.0).abs() < 1e-6, "{found:?}");
        prop_assert!((found.beta / beta - 1.0).abs() < 1e-6, "{found:?}");
    }
}
