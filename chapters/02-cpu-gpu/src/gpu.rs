//! The devices of a machine behind one trait: OpenCL and CUDA, both found when the program runs.
//!
//! Nothing here is needed to build the course, and nothing is missed where a library is absent: what was
//! found is in [`Devices::found`], and what was not in [`Devices::missing`], with the reason in a message.
//!
//! - [`device`]: the trait, and what a kernel is launched with.
//! - [`opencl`] and [`cuda`]: the two interfaces.
//! - [`toolkit`], [`nvrtc`], [`cublas`]: NVIDIA's libraries, wherever they lie.
//! - [`trace`]: a device that notes what it is given, and when it does it.
//! - [`copying`]: how fast a device copies.
//! - [`find`]: which devices there are.

pub mod copying;
pub mod cublas;
pub mod cuda;
pub mod device;
pub mod find;
pub mod nvrtc;
pub mod opencl;
#[doc(hidden)]
pub mod testing;
pub mod toolkit;
pub mod trace;

pub use device::{
    About, Api, Arg, Buffer, Devices, Element, Fetching, Gpu, Kernel, Kind, Launch, Mark, Missing,
    read_all, upload, write_all,
};
pub use find::{devices, open, open_all};

/// The text of portable kernels, for `compile`: files of `kernels/` behind the names that CUDA and OpenCL share. A
/// compiler's words about it name the file and the line.
macro_rules! kernel {
    ($($file:literal),+) => {
        concat!(
            "#line 1 \"portable.h\"\n",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/portable.h")),
            $(
                "#line 1 \"", $file, "\"\n",
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $file)),
            )+
        )
    };
}
pub(crate) use kernel;
