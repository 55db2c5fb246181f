use backprop::adam::{Adam, Factors, Moments, fused, one_pass, step};
use backprop::{check, random::SplitMix64};

#[test]
fn the_first_step_is_as_long_as_the_learning_rate() {
    // m / (1 - β₁) = g and v / (1 - β₂) = g², so the step is lr · g / |g|.
    let rule = Adam { lr: 0.25, ..Adam::default() };
    let (mut p, mut moments) = ([1.0, 1.0, 1.0], Moments::zeros(3));
    step(&rule, 1, &mut p, moments.slices(), &[3.0, -0.01, 0.0_f64]);
    assert!(check::error(&p, &[0.75, 1.25, 1.0]) < 1e-6, "{p:?}");
}

#[test]
fn one_pass_is_the_paper_to_the_last_digits() {
    let mut random = SplitMix64::new(2);
    for len in [0, 1, 7, 8, 1000] {
        let rule = Adam { lr: 0.01, ..Adam::default() };
        let start: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
        let mut paper = check::wide(&start);
        let mut plain = start.clone();
        let mut fast = start.clone();
        let mut wide = Moments::zeros(len);
        let (mut mine, mut theirs) = (Moments::zeros(len), Moments::zeros(len));
        for t in 1..=50 {
            let g: Vec<f32> = (0..len).map(|_| (random.normal() * 0.1) as f32).collect();
            step(&rule, t, &mut paper, wide.slices(), &check::wide(&g));
            step(&rule, t, &mut plain, theirs.slices(), &g);
            let Moments { m, v } = &mut mine;
            fused(Factors::new(&rule, t), &mut fast, m, v, &g);
        }
        let wanted: Vec<f32> = paper.iter().map(|p| *p as f32).collect();
        assert!(check::error_f32(&plain, &wanted) < 1e-5 || len == 0);
        assert!(check::error_f32(&fast, &wanted) < 1e-5 || len == 0);
        assert!(len == 0 || check::error_f32(&start, &wanted) > 1e-2, "it did not move");
    }
}

#[test]
fn the_vectors_round_as_the_plain_loop_does() {
    let mut random = SplitMix64::new(6);
    let mut row = || (0..103).map(|_| random.normal().abs() as f32).collect::<Vec<f32>>();
    let (p, m, v, g) = (row(), row(), row(), row());
    let f = Factors::new(&Adam::default(), 3);
    let run = |vectors: bool| {
        let (mut p, mut m, mut v) = (p.clone(), m.clone(), v.clone());
        if vectors {
            fused(f, &mut p, &mut m, &mut v, &g);
        } else {
            one_pass(f, [&mut p, &mut m, &mut v], &g);
        }
        [p, m, v]
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_parameter_without_gradients_stays_where_it_is() {
    let (mut p, mut m, mut v) = ([1.5], [0.0], [0.0]);
    fused(Factors::new(&Adam::default(), 1), &mut p, &mut m, &mut v, &[0.0]);
    assert_eq!((p, m, v), ([1.5], [0.0], [0.0]));
}
