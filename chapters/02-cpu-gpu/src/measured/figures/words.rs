//! Cells and names that several tables of this chapter have in common.

use lab::{Key, Records};

/// A device's name as a reader knows it.
pub fn device_name(id: &str) -> String {
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
