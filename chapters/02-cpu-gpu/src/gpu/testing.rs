//! A device for tests.

use super::{Gpu, devices, open};

/// The first OpenCL device, or `None` and a note where there is none. With `THROUGHPUT_REQUIRE_OPENCL=1` that
/// is a failure, so that a test can't be left out where it must run.
///
/// # Panics
/// If there is none and the variable asks for one, or if a device that was found does not start.
pub fn opencl() -> Option<Box<dyn Gpu>> {
    let devices = devices();
    let found = devices.found.iter().find(|about| about.api == super::Api::OpenCl);
    let required = std::env::var("THROUGHPUT_REQUIRE_OPENCL").is_ok_and(|value| value == "1");
    match found {
        Some(about) => Some(open(&about.id).unwrap_or_else(|error| panic!("{error}"))),
        None if required => panic!("a test needs OpenCL: {:?}", devices.missing),
        None => {
            eprintln!("skipped: this machine has no OpenCL device");
            None
        }
    }
}
