//! Whole commands as a table.

use crate::measured::experiments::command::{AROUND, GOALS, RATIO, RIGHT, SECONDS, contenders};
use backprop::measured::race::OURS;
use lab::{
    Records, Result, Table, TableData,
    table::{Entry, Grid},
};
use training::Settings;

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: SECONDS.name, make: commands }]
}

fn commands(records: &Records) -> Result<TableData> {
    let rows = GOALS.into_iter().flat_map(|(model, goal)| {
        contenders(model).map(move |(who, name)| (model, goal, who, name))
    });
    let caption = format!(
        "Whole commands, from start to end, on {}: medians of three seeds, taking turns. The accuracy is that after the \
         last epoch of the recipe; beside training there are start, data, a test after each epoch, and saving.",
        records.machine.in_words()
    );
    Grid::new(rows)
        .column("model, goal", |(model, goal, ..)| {
            format!("{model} for {} epochs, {:.1}%", Settings::of(*model).epochs, 100.0 * goal)
        })
        .column("program", |(.., name)| (*name).to_owned())
        .column("time", |(model, _, who, _)| SECONDS.at(&[("model", model), ("who", who)]))
        .column("beside training", |(model, _, who, _)| {
            AROUND.at(&[("model", model), ("who", who)])
        })
        .column("accuracy", |(model, _, who, _)| RIGHT.at(&[("model", model), ("who", who)]))
        .column("over train", |(model, _, who, _)| {
            let ratio = RATIO.at(&[("model", model), ("who", who)]);
            if *who == OURS { Entry::from("1×") } else { Entry::from(ratio) }
        })
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::testing::{MadeUp, are_drawn};

    #[test]
    fn each_program_that_trains_a_model_has_a_row() {
        let mut made = MadeUp::default();
        for (model, goal) in GOALS {
            for (who, _) in contenders(model) {
                let list: lab::record::ParamList = &[("model", &model), ("who", &who)];
                made.add(SECONDS.at(list), 20.0).add(RIGHT.at(list), goal);
                made.add(AROUND.at(list), 2.0).add(RATIO.at(list), 3.5);
            }
        }
        let records = made.records(&crate::measured::chapter());
        are_drawn(&[], &tables(), &records);
        let table = commands(&records).unwrap();
        assert_eq!(table.rows.len(), 2 + 3 + 3, "a perceptron has no channels");
        assert_eq!(table.rows[0].last().map(String::as_str), Some("1×"));
    }
}
