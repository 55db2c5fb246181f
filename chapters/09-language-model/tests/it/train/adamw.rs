use backprop::{
    adam,
    check::{error, wide},
};
use lab::random::numbers;
use language_model::train::adamw::{AdamW, Moments, inside, tensors, update};
use language_model::{Config, transformer::operations};

#[test]
fn equals_the_paper_in_f64() {
    let rule = AdamW { decay: 0.2, ..AdamW::default() };
    let len = 40_000;
    let tensors = [(0..20_000, true), (20_000..20_010, false), (20_010..len, true)];
    let mut p = numbers(len, 1);
    let mut wanted = wide(&p);
    let (mut mine, mut paper) = (Moments::zeros(len), adam::Moments::zeros(len));
    for t in 1..=5 {
        let (lr, clip, g) = (0.01 * f64::from(t), 0.5, numbers(len, 10 + t as u64));
        update(&rule, (t, lr, clip), &mut p, mine.slices(), &g, &tensors);
        for (at, w) in wanted.iter_mut().enumerate() {
            *w *= if (20_000..20_010).contains(&at) { 1.0 } else { 1.0 - lr * 0.2 };
        }
        let g: Vec<f64> = wide(&g).iter().map(|g| g * 0.5).collect();
        let AdamW { beta1, beta2, eps, .. } = rule;
        let plain = adam::Adam { lr, beta1, beta2, eps };
        adam::step(&plain, t, &mut wanted, paper.slices(), &g);
    }
    assert!(error(&wide(&p), &wanted) < 1e-6);
    assert!(error(&wide(&p[20_000..20_010]), &wanted[20_000..20_010]) < 1e-6);
}

#[test]
fn matrices_shrink_and_scales_do_not() {
    let config = Config { vocabulary: 5, context: 3, width: 4, heads: 2, layers: 1, hidden: 3 };
    let params = operations(&config, 1).params;
    let tensors = tensors(&params, &config);
    let len = params.words();
    let mut p = vec![1.0; len];
    let (mut moments, g) = (Moments::zeros(len), vec![0.0; len]);
    update(&AdamW::default(), (1, 0.5, 1.0), &mut p, moments.slices(), &g, &tensors);
    for (named, (range, _)) in params.tensors.iter().zip(tensors) {
        let wanted = if named.name.contains("norm") { 1.0 } else { 0.95 };
        assert!(p[range].iter().all(|p| *p == wanted), "{}", named.name);
    }
}

#[test]
fn a_part_has_its_pieces_of_the_tensors() {
    let tensors = || vec![(0..4, true), (4..6, false), (6..12, true)];
    assert_eq!(inside(&tensors(), &(0..12)), tensors());
    assert_eq!(inside(&tensors(), &(3..8)), [(0..1, true), (1..3, false), (3..5, true)]);
    assert_eq!(inside(&tensors(), &(7..9)), [(0..2, true)]);
    assert_eq!(inside(&tensors(), &(12..12)), []);
}
