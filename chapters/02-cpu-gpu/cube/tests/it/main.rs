//! Laws of the products on every device that is found, and what is in the texts that CubeCL writes.

mod command;
mod products;
mod text;

use cube::product::{NO_DEVICE, devices};
use cubecl::{Device, prelude::*};

/// What a test needs, if it was found. Else the test is skipped, unless `THROUGHPUT_REQUIRE_…=1` forbids that.
fn need<T>(tool: &str, found: Result<T, String>) -> Option<T> {
    let required = format!("THROUGHPUT_REQUIRE_{tool}");
    match found {
        Ok(found) => Some(found),
        Err(why) if std::env::var_os(&required).is_some_and(|value| value == "1") => {
            panic!("{required}=1 forbids to skip this test: {why}")
        }
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

/// The devices of this kind; none where the test is skipped.
fn clients(kind: impl Fn(&Device) -> bool) -> Vec<Client> {
    let mut devices = devices();
    devices.retain(kind);
    let found = if devices.is_empty() { Err(NO_DEVICE.to_owned()) } else { Ok(devices) };
    need("VULKAN", found).iter().flatten().map(Device::client).collect()
}
