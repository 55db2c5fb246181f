//! Which check finds which bug, as a table.

use crate::{
    measured::experiments::wrong::WRONG,
    wrong::{Check, Mistake},
};
use lab::{Error, Records, Result, Table, TableData};

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "cpu_gpu.wrong", make: table_wrong }]
}

fn table_wrong(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut caught = [0; Check::ALL.len()];
    for mistake in Mistake::ALL {
        let mut row = vec![mistake.title().to_owned()];
        for (check, caught) in Check::ALL.into_iter().zip(&mut caught) {
            let what = WRONG.at(&[("mistake", &mistake.name()), ("check", &check.name())]);
            row.push(match records.get(what) {
                Ok(value) => {
                    *caught += usize::from(value.median > 0.5);
                    value.param("found").unwrap_or_default().to_owned()
                }
                Err(Error::Skipped { .. }) => "–".to_owned(),
                Err(error) => return Err(error),
            });
        }
        rows.push(row);
    }
    let [careless, _, odd, simulator] = caught;
    let mut head = vec!["bug".to_owned()];
    head.extend(Check::ALL.map(|check| check.title().to_owned()));
    Ok(TableData {
        caption: format!(
            "What each check reports about {} wrong kernels: the careless one finds {careless}, ours with odd sizes {odd}, the \
             simulator {simulator}.",
            rows.len()
        ),
        head,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::testing::{MadeUp, are_drawn};

    #[test]
    fn the_table_says_what_was_found_and_by_how_many() {
        let mut all = MadeUp::default();
        for check in Check::ALL {
            for mistake in Mistake::ALL {
                let what = WRONG.at(&[("mistake", &mistake.name()), ("check", &check.name())]);
                if check == Check::Careless {
                    all.add(what.with("found", "passes"), 0.0);
                } else {
                    all.add(what.with("found", "wrong sums"), 1.0);
                }
            }
        }
        let records = all.records(&crate::chapter());
        are_drawn(&[], &tables(), &records);
        let table = table_wrong(&records).unwrap();
        assert_eq!(table.rows[0][1..], ["passes", "wrong sums", "wrong sums", "wrong sums"]);
        assert!(table.caption.contains("finds 0, ours with odd sizes 7"), "{}", table.caption);
    }
}
