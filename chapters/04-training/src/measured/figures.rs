//! The chapter's figures and tables, made from one machine's records: of the main [`job`], and of the [`studies`].

pub mod job;
pub mod studies;

use lab::{Figure, Table};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    job::figures().into_iter().chain(studies::figures()).collect()
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    job::tables().into_iter().chain(studies::tables()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{Model, Rule, Schedule, Settings},
        measured::experiments::{
            job::{ACCURACIES, ACCURACY, COST, LOSSES, SECONDS},
            studies::{
                CURES, MAP, MAP_BATCHES, MODELS, MODELS_CURVE, MODELS_PARAMETERS, OPTIMIZERS,
                OPTIMIZERS_LOSS, OVERFIT, OVERFIT_ACCURACY, RATES, SCHEDULE, SCHEDULE_ACCURACY,
                SPEED, SPEED_EPOCH,
            },
        },
    };
    use lab::testing::{MadeUp, are_drawn};

    /// Something of every key that a figure or a table reads.
    fn made_up() -> MadeUp {
        let mut made = MadeUp::default();
        made.add(ACCURACY.at(&[("data", &"mnist"), ("epochs", &2)]), 0.97);
        made.add(SECONDS.at(&[("epochs", &2)]), 7.0);
        for (epoch, set) in [(1, "train"), (1, "test"), (2, "train"), (2, "test")] {
            made.add(ACCURACIES.at(&[("epoch", &epoch), ("set", &set)]), 0.9);
            made.add(LOSSES.at(&[("epoch", &epoch), ("set", &set)]), 0.3);
            for (cure, _) in CURES {
                let list: lab::record::ParamList =
                    &[("cure", &cure), ("epoch", &epoch), ("set", &set)];
                made.add(OVERFIT_ACCURACY.at(list), 0.8);
            }
        }
        for stage in ["preprocess", "store", "load"] {
            made.add(COST.at(&[("stage", &stage)]), 0.1);
        }
        made.add(COST.at(&[("stage", &"train"), ("epochs", &10)]), 8.0);
        made.add(COST.at(&[("stage", &"serve"), ("images", &1)]), 2e-5);
        for model in Model::ALL {
            made.add(MODELS.at(&[("model", &model), ("epochs", &2)]), 0.9);
            made.add(MODELS_PARAMETERS.at(&[("model", &model)]), 1e5);
            made.add(SPEED_EPOCH.at(&[("model", &model), ("device", &"cpu")]), 3.0);
            for epoch in [1, 2] {
                made.add(MODELS_CURVE.at(&[("model", &model), ("epoch", &epoch)]), 0.9);
            }
            for (batch, device) in [(8, "cpu"), (32, "cpu"), (8, "cuda:0"), (32, "cuda:0")] {
                let list: lab::record::ParamList =
                    &[("model", &model), ("device", &device), ("batch", &batch)];
                made.add(SPEED.at(list), f64::from(batch));
            }
        }
        for rule in Rule::ALL {
            made.add(OPTIMIZERS.at(&[("optimizer", &rule), ("lr", &0.1)]), 0.95);
            made.add(OPTIMIZERS_LOSS.at(&[("optimizer", &rule), ("epoch", &1)]), 0.2);
        }
        for schedule in Schedule::ALL {
            for lr in [Settings::default().lr, Settings::of(Model::Mlp).lr] {
                made.add(SCHEDULE.at(&[("schedule", &schedule), ("lr", &lr)]), 0.98);
                let list: lab::record::ParamList =
                    &[("schedule", &schedule), ("lr", &lr), ("epoch", &1)];
                made.add(SCHEDULE_ACCURACY.at(list), 0.97);
            }
        }
        for (batch, lr) in MAP_BATCHES.into_iter().flat_map(|b| RATES.map(|lr| (b, lr))) {
            made.add(MAP.at(&[("batch", &batch), ("lr", &lr), ("epochs", &3)]), 0.9 + lr);
        }
        for (cure, _) in CURES {
            made.add(OVERFIT.at(&[("cure", &cure)]), 0.88);
        }
        made
    }

    #[test]
    fn all_are_drawn_and_report_missing_records() {
        let records = made_up().records(&crate::chapter());
        are_drawn(&figures(), &tables(), &records);
    }

    #[test]
    fn tables_say_what_was_found() {
        let records = made_up().records(&crate::chapter());
        let row = |key: &str| {
            let table = tables().into_iter().find(|table| table.key == key).unwrap();
            (table.make)(&records).unwrap().rows.remove(0)
        };
        let linear = ["linear", "100,000", "2", "90.00%", "81.0% to 99.00%", "3.00 s"];
        assert_eq!(row("training.models"), linear);
        assert_eq!(row("training.optimizers"), ["sgd", "0.1", "0", "95.00%"]);
        assert_eq!(row("training.batches"), ["32", "5,625", "90.10%", "100%", "0.1"]);
        assert_eq!(row("training.devices"), ["linear", "none of these", "1.00×"]);
    }
}
