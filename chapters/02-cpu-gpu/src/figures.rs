//! The pictures and tables of this chapter, made from records.

pub mod counters;
pub mod counts;
pub mod devices;
pub mod ladder;
pub mod lu;
pub mod truck;

use lab::{Figure, Table, TableData};

/// Every picture, in the order of the page.
pub fn all() -> Vec<Figure> {
    [
        devices::figures(),
        truck::figures(),
        counts::figures(),
        ladder::figures(),
        counters::figures(),
        lu::figures(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Leaves out the columns of which a machine has nothing: dashes from top to bottom.
fn without_empty_columns(mut data: TableData) -> TableData {
    let keep: Vec<bool> =
        (0..data.head.len()).map(|at| data.rows.iter().any(|row| row[at] != "–")).collect();
    for row in data.rows.iter_mut().chain([&mut data.head]) {
        let mut kept = keep.iter();
        row.retain(|_| kept.next() == Some(&true));
    }
    data
}

/// Every table, in the order of the page.
pub fn tables() -> Vec<Table> {
    [
        devices::tables(),
        truck::tables(),
        counts::tables(),
        ladder::tables(),
        counters::tables(),
        lu::tables(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_dashes_are_left_out() {
        let words = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let data = TableData {
            caption: String::new(),
            head: words(["n", "ours", "theirs"]),
            rows: vec![words(["1", "–", "–"]), words(["2", "5", "–"])],
        };
        let left = without_empty_columns(data);
        assert_eq!(left.head, ["n", "ours"]);
        assert_eq!(left.rows, [["1", "–"], ["2", "5"]]);
    }
}
