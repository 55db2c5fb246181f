//! From stock dfdx to the fast network, one change a rung. All rungs train the same network: the tests check that they
//! are equal.

use crate::engine::{
    fast::InPlace,
    layer::Team,
    networks::{FastDeep, FastMlp, StockDeep, Ways},
    tensors::{Fused, Lie, Tensors},
};
use backprop::{
    Error, Result,
    ladder::Rung,
    train::{Learner, Settings},
};
use dfdx::prelude::Cpu;
use training::mlp::Mlp;

/// Sizes of the networks that are measured, and their names.
pub const MODELS: [(&str, &[usize]); 2] =
    [("784-128-10", &[784, 128, 10]), ("784-512-128-10", &[784, 512, 128, 10])];

/// Stock dfdx: its layers, its loss, its Adam.
///
/// # Errors
/// As [`Settings::check`]; [`Error::Config`] for sizes that are not in [`MODELS`].
pub fn stock(settings: Settings) -> Result<Box<dyn Learner>> {
    let (lie, fused) = (Lie::Turned, Fused::default());
    Ok(match settings.sizes[..] {
        [784, 128, 10] => Box::new(Tensors::<Mlp<Cpu>>::new(settings, lie, fused, |_| ())?),
        [784, 512, 128, 10] => {
            Box::new(Tensors::<StockDeep<f32, Cpu>>::new(settings, lie, fused, |_| ())?)
        }
        _ => return Err(unknown(&settings)),
    })
}

/// The last rung: the network in the store, with threads where they pay.
///
/// # Errors
/// As [`Settings::check`].
pub fn fastest(settings: Settings) -> Result<Box<dyn Learner>> {
    let team = Team::paying(&settings.sizes, settings.batch);
    Ok(Box::new(InPlace::new(settings, team)?))
}

/// A network of tensors and faster operations.
fn tensors(settings: Settings, ways: Ways, fused: Fused) -> Result<Box<dyn Learner>> {
    let lie = Lie::Straight;
    Ok(match settings.sizes[..] {
        [784, 128, 10] => {
            let change = |model: &mut FastMlp<f32, Cpu>| model.ways = ways;
            Box::new(Tensors::new(settings, lie, fused, change)?)
        }
        [784, 512, 128, 10] => {
            let change = |model: &mut FastDeep<f32, Cpu>| model.ways = ways;
            Box::new(Tensors::new(settings, lie, fused, change)?)
        }
        _ => return Err(unknown(&settings)),
    })
}

fn unknown(settings: &Settings) -> Error {
    let names = MODELS.map(|(name, _)| name).join(" and ");
    Error::Config(format!("{:?} is none of the networks of this ladder: {names}", settings.sizes))
}

/// The rungs, from the slowest way to the fastest.
pub fn ladder() -> Vec<Rung> {
    const LOSS: Fused = Fused { loss: true, update: false };
    const ALL: Fused = Fused { loss: true, update: true };
    vec![
        Rung { key: "stock", name: "stock dfdx", learner: stock },
        Rung {
            key: "product",
            name: "chapter 1's product, with bias",
            learner: |settings| tensors(settings, Ways::Product, Fused::default()),
        },
        Rung {
            key: "no_data_gradient",
            name: "no gradient of the data",
            learner: |settings| tensors(settings, Ways::NoDataGradient, Fused::default()),
        },
        Rung {
            key: "fused_layers",
            name: "layers fused",
            learner: |settings| tensors(settings, Ways::Fused, Fused::default()),
        },
        Rung {
            key: "fused_loss",
            name: "loss fused",
            learner: |settings| tensors(settings, Ways::Fused, LOSS),
        },
        Rung {
            key: "fused_update",
            name: "update fused",
            learner: |settings| tensors(settings, Ways::Fused, ALL),
        },
        Rung {
            key: "in_place",
            name: "numbers stay in place",
            learner: |settings| Ok(Box::new(InPlace::new(settings, Team::of_products())?)),
        },
        Rung { key: "threads", name: "threads where they pay", learner: fastest },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::{
        adam::Adam,
        check,
        order::order,
        train::{Examples, Textbook},
    };

    fn digits(images: usize) -> Examples {
        Examples::of(&lab::data::drawn(images, 10, 1).train)
    }

    fn settings(sizes: &[usize], batch: usize, dropout: f64) -> Settings {
        Settings { sizes: sizes.to_vec(), batch, dropout, ..Settings::default() }
    }

    #[test]
    fn a_hundred_losses_are_the_same_on_every_rung() {
        // Small steps: with large ones, the last bits of two orders of summation grow tenfold every few steps.
        let rule = Adam { lr: 2e-4, ..Adam::default() };
        let data = digits(500);
        for ((_, sizes), batch) in MODELS.into_iter().zip([33, 20]) {
            let mut first: Option<(Vec<f64>, Vec<f32>)> = None;
            for rung in ladder() {
                let settings = Settings { rule, ..settings(sizes, batch, 0.0) };
                let mut learner = (rung.learner)(settings).unwrap();
                let start = learner.model().unwrap().parameters();
                let steps = (1..).flat_map(|epoch| {
                    let order = order(1, epoch, data.len());
                    order.chunks(batch).map(<[usize]>::to_vec).collect::<Vec<_>>()
                });
                let losses: Vec<f64> = (1..)
                    .zip(steps.take(100))
                    .map(|(step, index)| learner.epoch(&data, &index, step).unwrap())
                    .collect();
                let end = learner.model().unwrap().parameters();
                assert!(check::error_f32(&start, &end) > 1e-3, "{} learns nothing", rung.key);
                let (wanted, _) = first.get_or_insert_with(|| (losses.clone(), end));
                for (step, (found, wanted)) in losses.iter().zip(wanted).enumerate() {
                    let error = (found - *wanted).abs();
                    assert!(error < 1e-4, "{} in step {step}: {found}, not {wanted}", rung.key);
                }
            }
        }
    }

    #[test]
    fn one_step_is_the_textbooks_to_five_digits() {
        let data = digits(40);
        for (_, sizes) in MODELS {
            let mut textbook = Textbook::new(settings(sizes, 37, 0.0), false).unwrap();
            let index = order(2, 1, 37);
            textbook.epoch(&data, &index, 1).unwrap();
            let wanted = textbook.model().unwrap().parameters();
            for rung in ladder() {
                let mut learner = (rung.learner)(settings(sizes, 37, 0.0)).unwrap();
                learner.epoch(&data, &index, 1).unwrap();
                let error = check::error_f32(&learner.model().unwrap().parameters(), &wanted);
                assert!(error < 1e-5, "{}: {error}", rung.key);
            }
        }
    }

    #[test]
    fn with_dropout_all_rungs_learn_about_as_well() {
        let data = digits(600);
        let losses: Vec<f64> = ladder()
            .into_iter()
            .map(|rung| {
                let mut learner = (rung.learner)(settings(MODELS[0].1, 50, 0.2)).unwrap();
                (1..=4).map(|e| learner.epoch(&data, &order(1, e, 600), e).unwrap()).last().unwrap()
            })
            .collect();
        let (low, high) =
            losses.iter().fold((f64::MAX, 0.0_f64), |(l, h), x| (l.min(*x), h.max(*x)));
        assert!(high < 1.2 * low && high < 1.5, "{losses:?}");
    }

    #[test]
    fn threads_change_no_bit() {
        let data = digits(300);
        let run = |threads| {
            let team = Team { products: threads, passes: threads };
            let mut learner = InPlace::new(settings(MODELS[1].1, 130, 0.2), team).unwrap();
            learner.epoch(&data, &order(1, 1, 300), 1).unwrap();
            learner.model().unwrap().parameters()
        };
        assert!(run(1) == run(2) && run(1) == run(3));
    }

    #[test]
    fn what_can_not_work_is_a_sentence() {
        let data = digits(20);
        for rung in ladder() {
            let mut learner = (rung.learner)(settings(MODELS[0].1, 8, 0.2)).unwrap();
            assert!(matches!(learner.epoch(&data, &[], 1), Err(Error::EmptyBatch)), "{}", rung.key);
            assert!(learner.epoch(&data, &[20], 1).is_err(), "{}", rung.key);
            assert!((rung.learner)(settings(MODELS[0].1, 0, 0.2)).is_err(), "{}", rung.key);
            assert!((rung.learner)(settings(MODELS[0].1, 8, 1.0)).is_err(), "{}", rung.key);
        }
        let error = stock(settings(&[784, 100, 10], 8, 0.0)).err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("784-512-128-10")));
        let rule = Adam { lr: 1e30, ..Adam::default() };
        let wide = Settings { rule, ..settings(MODELS[0].1, 5, 0.0) };
        let mut learner = InPlace::new(wide, Team::all()).unwrap();
        let error = learner.epoch(&data, &order(1, 1, 20), 1).unwrap_err();
        assert!(matches!(error, Error::Diverged { .. }), "{error}");
    }
}
