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

/// What each check says of each mistake.
///
/// # Errors
/// If a record is missing.
pub fn table_wrong(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    // How many each check caught; `None` while it has not run.
    let mut caught: [Option<usize>; Check::ALL.len()] = [None; Check::ALL.len()];
    for mistake in Mistake::ALL {
        let mut row = vec![mistake.title().to_owned()];
        for (check, caught) in Check::ALL.into_iter().zip(&mut caught) {
            let what = WRONG.at(&[("mistake", &mistake.name()), ("check", &check.name())]);
            row.push(match records.get(what) {
                Ok(value) => {
                    *caught.get_or_insert(0) += usize::from(value.median > 0.5);
                    value.param("found").unwrap_or_default().to_owned()
                }
                Err(Error::Skipped { .. }) => "–".to_owned(),
                Err(error) => return Err(error),
            });
        }
        rows.push(row);
    }
    let mut head = vec!["bug".to_owned()];
    head.extend(Check::ALL.map(|check| check.title().to_owned()));
    Ok(TableData { caption: caption(caught, rows.len()), head, rows })
}

/// What the checks that ran have found.
pub fn caption(caught: [Option<usize>; Check::ALL.len()], kernels: usize) -> String {
    let [careless, _, odd, simulator] = caught;
    let names = [
        ("the careless one", careless),
        ("ours with odd sizes", odd),
        ("the simulator", simulator),
    ];
    let ran: Vec<String> = names
        .into_iter()
        .filter_map(|(name, caught)| Some((name, caught?)))
        .enumerate()
        .map(|(at, (name, caught))| {
            format!("{name} {}{caught}", if at == 0 { "finds " } else { "" })
        })
        .collect();
    let device = if careless.is_none() && odd.is_none() {
        " Without a device, the other checks did not run."
    } else {
        ""
    };
    let found = if ran.is_empty() { "none ran".to_owned() } else { ran.join(", ") };
    format!("What each check reports about {kernels} wrong kernels: {found}.{device}")
}
