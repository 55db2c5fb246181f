//! From the textbook to the fast network, one change a rung. All rungs give the same weights: the tests check
//! it.

use crate::{
    Result,
    fast::{Fast, Ways},
    flat::{Flat, Habits},
    train::{Learner, Settings, Textbook},
};
use matmul::Threads;

/// One way to compute the same step.
#[derive(Clone, Copy)]
pub struct Rung {
    /// Its name in the records.
    pub key: &'static str,
    /// Its name on a page.
    pub name: &'static str,
    /// Makes a network with its first weights.
    pub learner: fn(Settings) -> Result<Box<dyn Learner>>,
}

/// A network in one buffer with these habits.
fn flat(
    settings: Settings,
    fused_adam: bool,
    keep_buffers: bool,
    threads: Threads,
) -> Result<Box<dyn Learner>> {
    let habits = Habits { fused_adam, keep_buffers, threads };
    Ok(Box::new(Flat::new(settings, habits)?))
}

/// The rungs, from the slowest way to the fastest.
pub fn ladder() -> Vec<Rung> {
    vec![
        Rung {
            key: "textbook",
            name: "textbook",
            learner: |settings| Ok(Box::new(Textbook::new(settings, true)?)),
        },
        Rung {
            key: "no_input_gradient",
            name: "no gradient for the input",
            learner: |settings| Ok(Box::new(Textbook::new(settings, false)?)),
        },
        Rung {
            key: "fused_layers",
            name: "one buffer, bias and ReLU in the product",
            learner: |settings| flat(settings, false, false, Threads::One),
        },
        Rung {
            key: "fused_adam",
            name: "Adam in one pass",
            learner: |settings| flat(settings, true, false, Threads::One),
        },
        Rung {
            key: "kept_buffers",
            name: "no allocation",
            learner: |settings| flat(settings, true, true, Threads::One),
        },
        Rung {
            key: "threads",
            name: "threads in each product",
            learner: |settings| flat(settings, true, true, Threads::All),
        },
        Rung {
            key: "own_columns",
            name: "columns for each core",
            learner: |settings| {
                let ways = Ways { update_in_cache: false, ..Ways::default() };
                Ok(Box::new(Fast::new(settings, ways)?))
            },
        },
        Rung {
            key: "update_in_cache",
            name: "update in the cache",
            learner: |settings| Ok(Box::new(Fast::new(settings, Ways::default())?)),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, adam::Adam, check, order::order, train::tests::digits};

    #[test]
    fn every_rung_refuses_what_cannot_be_learned_from() {
        let (data, _) = digits(40, 1);
        let rule = Adam { lr: 1e30, ..Adam::default() };
        let wild = Settings { rule, batch: 8, ..Settings::default() };
        let other = Settings { sizes: vec![100, 12, 10], ..Settings::default() };
        for rung in ladder() {
            let mut learner = (rung.learner)(wild.clone()).unwrap();
            let error = learner.epoch(&data, &order(0, 1, 40), 2).unwrap_err();
            assert!(
                matches!(error, Error::Diverged { epoch: 2, step: 2.., .. }),
                "{}: {error}",
                rung.key
            );
            let narrow = (rung.learner)(other.clone());
            assert!(narrow.and_then(|mut it| it.epoch(&data, &[0], 1)).is_err(), "{}", rung.key);
            let mut learner = (rung.learner)(Settings::default()).unwrap();
            let empty = learner.epoch(&data, &[], 1).unwrap_err();
            assert!(matches!(empty, Error::EmptyBatch), "{}: {empty}", rung.key);
            let outside = learner.epoch(&data, &[3, 40], 1).unwrap_err().to_string();
            assert!(outside.contains("no image 40"), "{}: {outside}", rung.key);
        }
    }

    #[test]
    fn all_rungs_learn_the_same() {
        let (data, _) = digits(320, 1);
        let mut first: Option<Vec<f32>> = None;
        for rung in ladder() {
            let mut learner = (rung.learner)(Settings::default()).unwrap();
            let start = learner.model().unwrap().parameters();
            learner.epoch(&data, &order(1, 1, 320), 1).unwrap();
            let found = learner.model().unwrap().parameters();
            assert!(check::error_f32(&start, &found) > 1e-2, "{} learns nothing", rung.key);
            let wanted = first.get_or_insert_with(|| found.clone());
            let error = check::error_f32(&found, wanted);
            assert!(error < 1e-5, "{}: {error}", rung.key);
        }
    }
}
