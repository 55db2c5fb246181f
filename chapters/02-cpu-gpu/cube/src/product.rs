//! Devices, and a product on one of them.

use crate::{
    check::Shape,
    kernels::{TILE, naive, no_barrier_before, tiled},
};
use cubecl::{
    Device,
    device::{WgpuBackend, WgpuDevice, WgpuDeviceKind},
    future::block_on,
    prelude::*,
    server::ServerError,
};
use std::time::Instant;

/// The kernels by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// [`naive`].
    Naive,
    /// [`tiled`].
    Tiled,
    /// [`no_barrier_before`], which is wrong.
    NoBarrierBefore,
}

impl Kernel {
    /// Those that are right.
    pub const RIGHT: [Self; 2] = [Self::Naive, Self::Tiled];

    /// As the function is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Tiled => "tiled",
            Self::NoBarrierBefore => "no_barrier_before",
        }
    }

    /// Blocks along x and y.
    fn blocks(self, [m, n, _]: Shape) -> CubeCount {
        let [rows, columns] = [m, n].map(|length| length.div_ceil(TILE) as u32);
        match self {
            Self::Naive => CubeCount::Static(rows, columns, 1),
            _ => CubeCount::Static(columns, rows, 1),
        }
    }
}

/// Why there is no device, and the way out.
pub const NO_DEVICE: &str = "no Vulkan device was found (on a Mac: Metal); install your graphics card's driver, or, to run on \
    the CPU, a software device: `sudo apt install mesa-vulkan-drivers libvulkan1` on Debian and Ubuntu";

/// The devices that wgpu finds, real ones first. OpenGL is left out: the same card twice.
pub fn devices() -> Vec<Device> {
    use WgpuDeviceKind::{Cpu, DiscreteGpu, IntegratedGpu, Other, VirtualGpu};
    let api = if cfg!(target_os = "macos") { WgpuBackend::Metal } else { WgpuBackend::Vulkan };
    let kinds = [DiscreteGpu(0), IntegratedGpu(0), VirtualGpu(0), Other(0), Cpu];
    let ids = kinds.map(|kind| Device::Wgpu(WgpuDevice::new(kind).on(api)).to_id());
    ids.into_iter().flat_map(Device::enumerate).map(Device::from_id).collect()
}

/// Whether the device is a CPU that computes as if it were one: right for checks, and its rate says nothing.
pub fn is_software(device: &Device) -> bool {
    matches!(device, Device::Wgpu(WgpuDevice { kind: WgpuDeviceKind::Cpu, .. }))
}

/// A, B and C in a device's memory.
pub struct Product<'a> {
    client: &'a Client,
    shape: Shape,
    abc: [cubecl::server::Handle; 3],
}

/// Numbers of NaN behind each matrix: a kernel that reads beyond its end gets them into its sums.
const STRIP: usize = 256;

impl<'a> Product<'a> {
    /// Copies A and B to the device, and NaN for C: an element that no thread writes must not look right.
    pub fn new(client: &'a Client, [a, b]: [&[f32]; 2], shape: Shape) -> Self {
        let [m, n, k] = shape;
        assert_eq!([a.len(), b.len()], [m * k, k * n]);
        let copy = |numbers: &[f32]| {
            let numbers = [numbers, &[f32::NAN; STRIP]].concat();
            client.create_from_slice(f32::as_bytes(&numbers))
        };
        Self { client, shape, abc: [copy(a), copy(b), copy(&vec![f32::NAN; m * n])] }
    }

    /// Starts the kernel; the device may still compute when this returns.
    pub fn launch(&self, kernel: Kernel) {
        let ([m, n, k], client) = (self.shape, self.client);
        let sizes = (m, n, k);
        let blocks = kernel.blocks(self.shape);
        let threads = CubeDim::new_2d(TILE as u32, TILE as u32);
        let [a, b, c] = self.abc.clone();
        // SAFETY: `new` has made each buffer longer than its matrix.
        let slice = |buffer, len| unsafe { BufferArg::from_raw_parts(buffer, len) };
        let (a, b, c) = (slice(a, m * k), slice(b, k * n), slice(c, m * n));
        match kernel {
            Kernel::Naive => naive::launch(client, blocks, threads, a, b, c, sizes),
            Kernel::Tiled => tiled::launch(client, blocks, threads, a, b, c, sizes),
            Kernel::NoBarrierBefore => {
                no_barrier_before::launch(client, blocks, threads, a, b, c, sizes);
            }
        }
    }

    /// C.
    ///
    /// # Errors
    /// What the device says of a kernel that it does not take.
    pub fn read(&self) -> Result<Vec<f32>, ServerError> {
        let [m, n, _] = self.shape;
        let bytes = self.client.read_one(self.abc[2].clone())?;
        let (c, strip) = f32::from_bytes(&bytes).split_at(m * n);
        assert!(strip.iter().all(|number| number.is_nan()), "the kernel writes beyond C");
        Ok(c.to_vec())
    }

    /// Seconds of one product when there are so many in a row, without copies.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn seconds(&self, kernel: Kernel, times: u32) -> Result<f64, ServerError> {
        let start = Instant::now();
        (0..times).for_each(|_| self.launch(kernel));
        block_on(self.client.sync_buffers([&self.abc[2]]))?;
        Ok(start.elapsed().as_secs_f64() / f64::from(times))
    }

    /// Multiplications and additions per second, without copies and compilation.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn rate(&self, kernel: Kernel) -> Result<f64, ServerError> {
        self.seconds(kernel, 1)?; // compiles
        let times = (0.5 / self.seconds(kernel, 1)?).ceil().clamp(1.0, 100.0);
        let [m, n, k] = self.shape.map(|length| length as f64);
        Ok(2.0 * m * n * k / self.seconds(kernel, times as u32)?)
    }
}

/// C = A·B.
///
/// # Errors
/// As [`Product::read`].
pub fn product(
    client: &Client,
    kernel: Kernel,
    [a, b]: [&[f32]; 2],
    shape: Shape,
) -> Result<Vec<f32>, ServerError> {
    let product = Product::new(client, [a, b], shape);
    product.launch(kernel);
    product.read()
}
