use dfdx::prelude::*;
use lab::{Experiment, Recorder, data, key::Quantity, testing};
use mixed_precision::amp::{deep::Deep, range::Shares};
use mixed_precision::measured::experiments::amp::{
    GRADIENTS, LAYERS, Named, SHARES, counted, looks, record_histogram, record_shares,
};

#[test]
fn mixed_precision_keeps_more_bytes_for_each_parameter() {
    let counted = counted().unwrap();
    let (f32, amp) = counted.iter().fold((0.0, 0.0), |(a, b), (_, f, h)| (a + f, b + h));
    assert!((f32 - 16.0).abs() < 1e-9 && (amp - 24.0).abs() < 1e-9, "{f32} and {amp}");
}

#[test]
fn what_vanishes_is_predicted_from_f32() {
    let data = data::drawn(128, 10, 1);
    let look = &looks::<Deep<f32, Cpu>>(&data, 128, 0).unwrap()[0];
    let find =
        |named: &Named| named.iter().find(|(name, _)| name == LAYERS[1].1[0]).unwrap().1.clone();
    let (full, plain, scaled) = (find(&look.full), find(&look.half[0]), find(&look.half[1]));
    let zeros = |numbers: &[f32]| numbers.iter().filter(|g| g.abs() < 1e-30).count();
    let predicted = Shares::of(&full, 1.0);
    assert!(predicted.vanished > 0.005, "{predicted:?}");
    assert!(zeros(&plain) > zeros(&full) && zeros(&scaled) < zeros(&plain));
}

#[test]
fn shares_and_histograms_become_values() {
    let small = |rec: &mut Recorder| {
        let (full, half) = ([0.0, 1e-9, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0]);
        record_histogram(rec, &GRADIENTS.at(&[]), &[&full]);
        record_shares(rec, &SHARES.at(&[]), 1.0, (&[&full], &[&half]));
        Ok(())
    };
    let experiment = testing::experiment(mixed_precision::chapter(), GRADIENTS.name);
    let run = testing::run(&Experiment { run: small, ..experiment });
    let records = testing::records(&mixed_precision::chapter(), &run.values, &run.skipped);
    let of = |quantity: Quantity| records.get(quantity).unwrap().median;
    assert!((of(GRADIENTS.at(&[("exponent", &1)])) - 1.0 / 3.0).abs() < 1e-12);
    for from in ["predicted", "measured"] {
        for (kind, wanted) in [("zero", 0.25), ("vanished", 0.25), ("normal", 0.5)] {
            let share = of(SHARES.at(&[("from", &from), ("kind", &kind)]));
            assert!((share - wanted).abs() < 1e-12, "{from} {kind}: {share}");
        }
    }
}
