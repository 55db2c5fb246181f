use lab::testing::{MadeUp, are_drawn};
use training::config::{Model, Rule};
use training::measured::experiments::job::{ACCURACY, LOSSES, SECONDS};
use training::measured::experiments::studies::{MAP, MAP_BATCHES, OPTIMIZERS, RATES, SPEED};
use training::measured::figures::{studies, tables};

/// Something of every key that a figure or a table reads.
fn made_up() -> MadeUp {
    let mut made = MadeUp::default();
    made.add(ACCURACY.at(&[("data", &"mnist"), ("epochs", &2)]), 0.97);
    made.add(SECONDS.at(&[("epochs", &2)]), 7.0);
    made.add(LOSSES.at(&[("epoch", &2), ("set", &"test")]), 0.3);
    for model in Model::ALL {
        for (batch, device) in [(8, "cpu"), (32, "cpu"), (8, "cuda:0"), (32, "cuda:0")] {
            let list: lab::record::ParamList =
                &[("model", &model), ("device", &device), ("batch", &batch)];
            made.add(SPEED.at(list), f64::from(batch));
        }
    }
    for rule in Rule::ALL {
        made.add(OPTIMIZERS.at(&[("optimizer", &rule), ("lr", &0.1)]), 0.95);
    }
    for (batch, lr) in MAP_BATCHES.into_iter().flat_map(|b| RATES.map(|lr| (b, lr))) {
        made.add(MAP.at(&[("batch", &batch), ("lr", &lr), ("epochs", &3)]), 0.9 + lr);
    }
    made
}

#[test]
fn all_are_drawn_and_report_missing_records() {
    let records = made_up().records(&training::chapter());
    are_drawn(&studies::figures(), &tables(), &records);
}

#[test]
fn tables_say_what_was_found() {
    let records = made_up().records(&training::chapter());
    let row = |key: &str| {
        let table = tables().into_iter().find(|table| table.key == key).unwrap();
        (table.make)(&records).unwrap().rows.remove(0)
    };
    assert_eq!(row("training.seeds"), ["0", "87.3%", "0.270", "6.30 s"]);
    let seeds = (tables()[0].make)(&records).unwrap();
    assert!(seeds.rows.len() == 3 && seeds.caption.contains("between 87.3% and 107%"));
    assert!(seeds.caption.ends_with("(MNIST)."), "{}", seeds.caption);
    assert_eq!(row("training.optimizers"), ["sgd", "0.1", "0", "95.00%"]);
    assert_eq!(row("training.batches"), ["32", "5,625", "90.10%", "100%", "0.1"]);
    assert_eq!(row("training.devices"), ["linear", "none of these", "1.00×"]);
}
