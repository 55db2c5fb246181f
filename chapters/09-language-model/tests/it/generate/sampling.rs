use lab::random::numbers;
use language_model::generate::sampling::{Sampler, Sampling, likelier};

fn drawn(how: Sampling, scores: &[f32], times: usize) -> Vec<u32> {
    let mut sampler = Sampler::new(how).unwrap();
    (0..times).map(|_| sampler.next(scores).unwrap()).collect()
}

fn all() -> Sampling {
    Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, seed: 1 }
}

#[test]
fn tokens_come_as_often_as_their_probability_says() {
    let shares = [0.5_f64, 0.3, 0.15, 0.05];
    let scores: Vec<f32> = shares.iter().map(|p| p.ln() as f32 + 7.0).collect();
    let tokens = drawn(all(), &scores, 20_000);
    for (token, share) in shares.iter().enumerate() {
        let found = tokens.iter().filter(|t| **t == token as u32).count() as f64 / 20_000.0;
        assert!((found - share).abs() < 0.015, "{token}: {found}");
    }
    // At a temperature of 2 the odds of two tokens are the roots of what they were.
    let tokens = drawn(Sampling { temperature: 2.0, ..all() }, &scores, 20_000);
    let count = |token| tokens.iter().filter(|t| **t == token).count() as f64;
    assert!((count(0) / count(3) - 10_f64.sqrt()).abs() < 0.4);
}

#[test]
fn the_same_seed_gives_the_same_tokens() {
    let scores = numbers(500, 9);
    let how = Sampling { temperature: 1.5, top_k: 40, top_p: 0.9, seed: 3 };
    assert_eq!(drawn(how, &scores, 100), drawn(how, &scores, 100));
    assert_ne!(drawn(how, &scores, 100), drawn(Sampling { seed: 4, ..how }, &scores, 100));
}

#[test]
fn a_temperature_of_0_and_a_single_candidate_take_the_likeliest() {
    let mut scores = numbers(300, 2);
    scores[17] = 5.0;
    scores[90] = 5.0; // the first of equals
    for how in [
        Sampling::greedy(),
        Sampling { top_k: 1, ..all() },
        Sampling { top_p: 1e-9, ..all() },
        Sampling { temperature: 1e-3, top_k: 1, ..all() },
    ] {
        assert_eq!(drawn(how, &scores, 5), [17; 5], "{how:?}");
    }
}

#[test]
fn top_k_and_top_p_keep_what_they_say() {
    let shares = [0.1_f64, 0.4, 0.05, 0.25, 0.2];
    let scores: Vec<f32> = shares.iter().map(|p| p.ln() as f32).collect();
    let kept = |how| {
        let mut tokens = drawn(how, &scores, 2000);
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    };
    assert_eq!(kept(all()), [0, 1, 2, 3, 4]);
    assert_eq!(kept(Sampling { top_k: 2, ..all() }), [1, 3]);
    assert_eq!(kept(Sampling { top_k: 9, ..all() }), [0, 1, 2, 3, 4]);
    assert_eq!(kept(Sampling { top_p: 0.39, ..all() }), [1]);
    assert_eq!(kept(Sampling { top_p: 0.64, ..all() }), [1, 3]);
    assert_eq!(kept(Sampling { top_p: 0.7, ..all() }), [1, 3, 4]);
    // Top-p counts what top-k has left: 0.4 and 0.25 of 0.65.
    assert_eq!(kept(Sampling { top_k: 2, top_p: 0.6, ..all() }), [1]);
}

#[test]
fn top_p_is_the_smallest_set_that_suffices() {
    let scores: Vec<f32> = numbers(400, 5).iter().map(|x| 4.0 * x).collect();
    let sum: f64 = scores.iter().map(|s| f64::from(*s).exp()).sum();
    let mut order: Vec<(f64, u32)> =
        scores.iter().zip(0..).map(|(s, t)| (f64::from(*s).exp() / sum, t)).collect();
    order.sort_by(likelier);
    for p in [0.01, 0.3, 0.9, 0.999] {
        let mut sampler = Sampler::new(Sampling { top_p: p, ..all() }).unwrap();
        sampler.next(&scores).unwrap();
        let kept = sampler.candidates.len();
        let reached = |n: usize| order[..n].iter().map(|(p, _)| p).sum::<f64>();
        assert!(reached(kept) > p - 1e-9 && reached(kept - 1) < p + 1e-9, "{p}: {kept}");
    }
}

#[test]
fn what_cannot_be_drawn_from_is_refused() {
    for how in [
        Sampling { temperature: -1.0, ..all() },
        Sampling { temperature: f64::NAN, ..all() },
        Sampling { top_p: 0.0, ..all() },
        Sampling { top_p: 1.5, ..all() },
        Sampling { top_p: f64::NAN, ..all() },
    ] {
        assert!(Sampler::new(how).is_err(), "{how:?}");
    }
    let mut sampler = Sampler::new(all()).unwrap();
    for scores in [&[][..], &[f32::NAN, 1.0], &[f32::NEG_INFINITY; 2], &[f32::INFINITY, 0.0]] {
        lab::testing::refused(sampler.next(scores), ["not numbers"]);
    }
    assert_eq!(sampler.next(&[f32::NEG_INFINITY, 0.0]).unwrap(), 1);
}
