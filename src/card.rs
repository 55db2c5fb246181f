//! The summary that `open` prints: this machine next to the reference machine, and the paths.

use anyhow::Result;
use lab::{
    Records, TableData,
    record::{ParamList, params},
    show::table_text,
};
use std::path::Path;

/// The five numbers: what each is, its key, and which value of it.
const NUMBERS: [(&str, &str, ParamList); 5] = [
    ("all cores' f32 peak", "lab.peaks", &[("threads", &"all"), ("unit", &"fma-f32")]),
    ("memory bandwidth", "lab.peaks.bandwidth", &[("threads", &"all"), ("kind", &"triad")]),
    ("matrix product", "matmul.ladder", &[("rung", &"threads")]),
    ("training", "training.mlp.rate", &[]),
    ("test accuracy", "training.mlp", &[]),
];

/// Ten lines: the machine in `folder` next to the reference machine, the run, the records, the address of the book.
pub fn card(folder: &Path, reference: Option<&Records>, run: &Path, book: &str) -> Result<String> {
    let yours = Records::load(folder)?;
    let name = reference.map_or("no other", |records| records.name.as_str());
    let rows = NUMBERS.map(|(what, key, list)| {
        let number = |records: &Records| Some(records.all(key, &params(list)).last()?.text());
        let numbers = [number(&yours), reference.and_then(number)];
        let numbers = numbers.map(|number| number.unwrap_or_else(|| "–".to_owned()));
        [vec![what.to_owned()], numbers.into()].concat()
    });
    let head = ["", "yours", name].map(str::to_owned).into();
    let table = table_text(&TableData { head, rows: rows.into(), ..TableData::default() });
    let mut lines = vec![format!("Your machine: {}", yours.machine.in_words())];
    lines.extend(table.lines().map(|line| format!("  {line}")));
    lines.push(format!("run:     {}", run.display()));
    lines.push(format!("records: {}", folder.display()));
    lines.push(format!("book:    {book}"));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course;

    #[test]
    fn the_card_has_ten_lines_and_its_numbers_are_the_records() {
        let folder = course::records().unwrap().join("genoa-2core");
        let records = Records::load(&folder).unwrap();
        let text = card(&folder, Some(&records), Path::new("runs/a"), "http://x/").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 10, "{text}");
        assert!(lines[..7].iter().all(|line| line.chars().count() <= 80), "{text}");
        let peak = params(&[("threads", &"all"), ("unit", &"fma-f32")]);
        let peak = records.find("lab.peaks", &peak).unwrap().text();
        assert_eq!(lines[2].matches(&peak).count(), 2, "{text}");
        assert!(
            !text.contains('–') && lines[7].ends_with("runs/a") && lines[9].ends_with("http://x/")
        );
        // Without a reference machine the card is the same but for its column.
        let alone = card(&folder, None, Path::new("runs/a"), "http://x/").unwrap();
        assert_eq!(alone.lines().count(), 10);
        assert!(alone.contains('–'), "{alone}");
    }
}
