//! Cells and names that several tables of this chapter have in common.

use lab::{Key, Records, TableData};

/// A device's name as a reader knows it.
pub(super) fn device_name(id: &str) -> String {
    match id {
        "core" => "one core".to_owned(),
        "cpu" => "CPU, all cores".to_owned(),
        "opencl-cpu" => "OpenCL on the CPU".to_owned(),
        "opencl-gpu" => "OpenCL on the GPU".to_owned(),
        "cuda" => "CUDA".to_owned(),
        "cublas" => "cuBLAS".to_owned(),
        other => other.to_owned(),
    }
}

/// The devices that left values with this key, in their order.
pub(super) fn devices_of(records: &Records, key: Key) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for device in records.all(key.name, &[]).iter().filter_map(|value| value.param("device")) {
        if !found.iter().any(|known| known == device) {
            found.push(device.to_owned());
        }
    }
    found
}

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
