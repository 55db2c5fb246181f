use backprop::check::error_f32;
use dfdx::{data::OneHotEncode as _, losses::cross_entropy_with_logits_loss, prelude::*};
use mixed_precision::amp::replica::{halved, unscaled};
use mixed_precision::amp::scaler::{Dynamic, Scaling};
use mixed_precision::amp::step::Amp;
use training::model::{Images, Network, PIXELS, Targets};
use training::{Settings, mlp::Mlp, step::Stepper};

type Model = Mlp<Cpu>;

fn batch(dev: &Cpu, size: f32) -> (Images<Cpu>, Targets<Cpu>) {
    let pixels: Vec<f32> =
        (0..8 * PIXELS).map(|i| size * ((i * 37 % 101) as f32) / 101.0).collect();
    let targets = dev.one_hot_encode(Const, (0..8).collect::<Vec<_>>());
    (dev.tensor_from_vec(pixels, (8, Const)), targets)
}

fn amp(scaling: Scaling) -> (Cpu, Amp<Model, Cpu>) {
    let dev = Cpu::seed_from_u64(4);
    let settings = Settings { dropout: 0.0, ..Settings::default() };
    let amp = Amp::new(&dev, &settings).unwrap().scaling(scaling);
    (dev, amp)
}

/// The f32 gradient of the first layer, and that of a step in mixed precision.
fn both(scaling: Scaling, size: f32) -> (Vec<f32>, Vec<f32>) {
    let (dev, mut amp) = amp(scaling);
    let (images, targets) = batch(&dev, size);
    let model = &mut amp.master.model;
    let scores = model.learn(images.clone().traced(model.alloc_grads())).unwrap();
    let grads = cross_entropy_with_logits_loss(scores, targets.clone()).backward();
    let full = grads.get(&amp.master.model.0.0.weight).as_vec();
    let mut half = halved(&amp.master.model).unwrap();
    let (_, grads) = amp.passes(&mut half, images, targets).unwrap();
    let back = unscaled::<Model, Cpu>(&half, &grads, amp.scaler.scale()).unwrap().unwrap();
    (full, back.0.0.weight.as_vec())
}

#[test]
fn a_power_of_two_saves_small_gradients_and_changes_no_others() {
    let (full, small) = both(Scaling::Static(1.0 / 65536.0), 1.0);
    let (_, scaled) = both(Scaling::Static(1024.0), 1.0);
    assert!(error_f32(&small, &full) > 0.03, "nothing vanished");
    assert!(error_f32(&scaled, &full) < 3e-3);
    // Where nothing leaves the normal range, powers of two give the same bits.
    let (_, one) = both(Scaling::Static(2048.0), 1.0);
    let (_, two) = both(Scaling::Static(4096.0), 1.0);
    let same = one.iter().zip(&two).filter(|(a, b)| a.to_bits() == b.to_bits()).count();
    assert!(same * 100 > 99 * one.len(), "{same} of {}", one.len());
}

#[test]
fn an_overflow_skips_the_step_and_halves_the_factor() {
    let start = 2f32.powi(40);
    let (dev, mut amp) = amp(Scaling::Dynamic(Dynamic { start, every: 2 }));
    let before = amp.parameters().unwrap();
    let (images, targets) = batch(&dev, 1.0);
    amp.step(1e-3, images.clone(), targets.clone()).unwrap();
    assert_eq!(amp.parameters().unwrap(), before);
    let state = amp.loss_scale().unwrap();
    assert_eq!((state.scale.to_bits(), state.skipped), ((start / 2.0).to_bits(), 1));
    assert_eq!(amp.state().unwrap().t, 0);
    for _ in 0..40 {
        amp.step(1e-3, images.clone(), targets.clone()).unwrap();
    }
    assert_ne!(amp.parameters().unwrap(), before);
    let state = amp.loss_scale().unwrap();
    assert_eq!(amp.state().unwrap().t, 41 - state.skipped);
}

#[test]
fn weights_in_f16_lose_updates_below_half_an_ulp() {
    let moved = |keep_f32: bool, lr: f64| {
        let (dev, mut amp) = amp(Scaling::Static(1024.0));
        amp.keep_f32 = keep_f32;
        amp.round().unwrap();
        let before = amp.parameters().unwrap();
        let (images, targets) = batch(&dev, 1.0);
        amp.step(lr, images, targets).unwrap();
        let after = amp.parameters().unwrap();
        // Adam's first step is as long as the rate. For 2⁻⁶ and above, half an ulp of f16 is 2⁻¹⁷ or more.
        let large = before.iter().zip(&after).filter(|(b, _)| b.abs() > 2f32.powi(-6));
        let (mut all, mut moved) = (0, 0);
        for (b, a) in large {
            (all, moved) = (all + 1, moved + usize::from(a.to_bits() != b.to_bits()));
        }
        moved as f64 / f64::from(all)
    };
    let below = 0.9 * 2f64.powi(-17);
    assert!(moved(true, below) > 0.3);
    assert!(moved(false, below) < 1e-9);
    assert!(moved(false, 1e-3) > 0.3);
}
