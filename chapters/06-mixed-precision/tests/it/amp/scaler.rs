use mixed_precision::amp::scaler::{Dynamic, PYTORCH, Scaler, Scaling};
use training::checkpoint::LossScale;

fn after(scaling: Scaling, steps: &[bool]) -> LossScale {
    let mut scaler = Scaler::new(scaling);
    for finite in steps {
        scaler.update(*finite).unwrap();
    }
    scaler.state()
}

#[test]
fn grows_after_good_steps_and_halves_on_overflow() {
    let rule = Scaling::Dynamic(Dynamic { start: 8.0, every: 3 });
    let at = |scale, good, skipped| LossScale { scale, good, skipped };
    assert_eq!(after(rule, &[]), at(8.0, 0, 0));
    assert_eq!(after(rule, &[true; 2]), at(8.0, 2, 0));
    assert_eq!(after(rule, &[true; 3]), at(16.0, 0, 0));
    assert_eq!(after(rule, &[true, true, false]), at(4.0, 0, 1));
    // An overflow resets the count: two good steps more are not enough.
    assert_eq!(after(rule, &[true, true, false, true, true]), at(4.0, 2, 1));
    assert_eq!(after(rule, &[true, true, false, true, true, true]), at(8.0, 0, 1));
}

#[test]
fn without_a_rule_it_stays() {
    for scaling in [Scaling::Off, Scaling::Static(128.0)] {
        let start = Scaler::new(scaling).scale();
        let end = after(scaling, &[true, false, true, false]);
        assert_eq!((end.scale.to_bits(), end.skipped), (start.to_bits(), 2));
    }
}

#[test]
fn it_neither_grows_to_infinity_nor_shrinks_to_zero() {
    let grows = Scaling::Dynamic(Dynamic { start: 1.0, every: 1 });
    let top = after(grows, &[true; 500]).scale;
    assert!(top.is_finite() && (1.0 / top).is_normal(), "{top}");
    let mut scaler = Scaler::new(Scaling::Dynamic(PYTORCH));
    let error = (0..100).find_map(|_| scaler.update(false).err()).unwrap().to_string();
    assert!(error.contains("--precision f32"), "{error}");
}

#[test]
fn goes_on_from_its_state() {
    let rule = Scaling::Dynamic(Dynamic { start: 8.0, every: 2 });
    let mut one = Scaler::new(rule);
    one.update(true).unwrap();
    let mut two = Scaler::new(rule);
    two.set_state(one.state());
    two.update(true).unwrap();
    assert!((two.scale() - 16.0).abs() < 1e-9);
}
