use backprop::adam::{self, Adam, Factors, Moments};
use backprop::{check, random::SplitMix64};
use performance::engine::update::{Rows, shared};

#[test]
fn equals_the_paper_and_leaves_zeros() {
    let mut random = SplitMix64::new(2);
    for (len, threads) in [(0, 2), (1, 2), (2047, 1), (2049, 1), (70_001, 3)] {
        let rule = Adam { lr: 0.01, ..Adam::default() };
        let mut p: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
        let mut wanted = check::wide(&p);
        let (mut mine, mut plain) = (Moments::zeros(len), Moments::zeros(len));
        for t in 1..=5 {
            let mut g: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
            adam::step(&rule, t, &mut wanted, plain.slices(), &check::wide(&g));
            let rows = Rows { p: &mut p, moments: mine.slices(), g: &mut g };
            shared(rows, Factors::new(&rule, t), true, threads);
            assert!(g.iter().all(|g| *g == 0.0), "a gradient is left");
        }
        assert!(len == 0 || check::error(&check::wide(&p), &wanted) < 1e-5, "{len}");
    }
}

#[test]
fn without_clearing_the_gradients_stay() {
    let (mut p, mut g, mut moments) = ([1.0; 3], [2.0; 3], Moments::zeros(3));
    let rows = Rows { p: &mut p, moments: moments.slices(), g: &mut g };
    shared(rows, Factors::new(&Adam::default(), 1), false, 1);
    assert_eq!(g.map(f32::to_bits), [2.0_f32; 3].map(f32::to_bits));
    assert!(p.iter().all(|p| (p - 0.999).abs() < 1e-6), "{p:?}");
}
