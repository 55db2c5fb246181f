//! Cells and names that several tables of this chapter have in common.

use lab::TableData;

/// Leaves out the columns of which a machine has nothing: dashes from top to bottom.
pub(super) fn without_empty_columns(mut data: TableData) -> TableData {
    let keep: Vec<bool> =
        (0..data.head.len()).map(|at| data.rows.iter().any(|row| row[at] != "–")).collect();
    for row in data.rows.iter_mut().chain([&mut data.head]) {
        let mut kept = keep.iter();
        row.retain(|_| kept.next() == Some(&true));
    }
    data
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
