use backprop::adam::{self, Adam, Factors, Moments};
use backprop::random::SplitMix64;
use half::bf16;
use mixed_precision::bf16::update::update;

#[test]
fn is_adam_and_then_a_rounding_on_any_number_of_threads() {
    let mut random = SplitMix64::new(1);
    for len in [0, 1, 1023, 1024, 1025, 200_000] {
        let start: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
        let g: Vec<f32> = (0..len).map(|_| random.normal() as f32).collect();
        let f = Factors::new(&Adam::default(), 1);
        let (mut wanted, mut known) = (start.clone(), Moments::zeros(len));
        adam::fused(f, &mut wanted, &mut known.m, &mut known.v, &g);
        let rounded: Vec<bf16> = wanted.iter().map(|p| bf16::from_f32(*p)).collect();
        for threads in [1, 2, 5] {
            let (mut p, mut moments) = (start.clone(), Moments::zeros(len));
            let mut copy = vec![bf16::NAN; len];
            update(f, &mut p, &mut moments, &g, &mut copy, threads);
            assert_eq!((&p, &moments, &copy), (&wanted, &known, &rounded));
            let (mut p, mut moments) = (start.clone(), Moments::zeros(len));
            update::<f32>(f, &mut p, &mut moments, &g, &mut [], threads);
            assert_eq!((p, moments), (wanted.clone(), known.clone()));
        }
    }
}

#[test]
fn the_master_weight_keeps_what_the_copy_is_too_coarse_for() {
    // Next to 1, bf16 has a step of 2⁻⁷; each update is 0.0001.
    let (mut p, mut moments) = ([1.0_f32], Moments::zeros(1));
    let mut copy = [bf16::ONE];
    let rule = Adam { lr: 1e-4, ..Adam::default() };
    for t in 1..=100 {
        update(Factors::new(&rule, t), &mut p, &mut moments, &[1.0], &mut copy, 1);
        let still = p[0] > 1.0 - 2.0_f32.powi(-9);
        assert_eq!(copy[0] == bf16::ONE, still, "{t}: {} {}", p[0], copy[0]);
    }
    assert!((p[0] - 0.99).abs() < 1e-4 && copy[0] < bf16::ONE);
}
