use backprop::{activation::relu, init::he, random::SplitMix64};

#[test]
fn the_signal_keeps_its_size_through_twenty_layers() {
    let mut random = SplitMix64::new(1);
    let mut x: Vec<f32> = (0..64 * 256).map(|_| random.normal() as f32).collect();
    for _ in 0..20 {
        x = he(256, 256, &mut random).unwrap().forward(&x).unwrap();
        let square = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
        assert!((0.3..6.0).contains(&square), "{square}"); // 2, before ReLU
        relu(&mut x);
    }
}

#[test]
fn a_seed_gives_the_same_numbers_in_both_precisions() {
    let narrow = he::<f32>(5, 3, &mut SplitMix64::new(7)).unwrap();
    let wide = he::<f64>(5, 3, &mut SplitMix64::new(7)).unwrap();
    assert_eq!(narrow.weights, wide.weights.iter().map(|w| *w as f32).collect::<Vec<_>>());
    assert_ne!(narrow, he(5, 3, &mut SplitMix64::new(8)).unwrap());
    assert!(narrow.bias.iter().all(|b| *b == 0.0));
}
