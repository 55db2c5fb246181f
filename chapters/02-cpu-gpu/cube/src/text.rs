//! What CubeCL writes of a kernel.

use crate::{
    kernels::{TILE, naive, no_barrier_before, tiled},
    product::Kernel,
};
use cubecl::{CompilationError, Compiler, WgpuCompilationOptions, prelude::*, wgpu::WgslCompiler};

/// The kernel's program, from which each language is written.
fn program(client: &Client, kernel: Kernel) -> KernelDefinition {
    let threads = CubeDim::new_2d(TILE as u32, TILE as u32);
    // As `launch` has it. Even so neither text checks an index of a slice.
    let settings = KernelSettings::new(threads.into(), ExecutionMode::Checked, AddressType::U32);
    let (device, target) = (client.properties_shared(), client.target_properties_shared());
    let [a, b, c] = [(); 3].map(|()| BufferCompilationArg { inplace: None });
    let sizes = ((), (), ()); // known at the launch alone
    match kernel {
        Kernel::Naive => naive::Naive::new(settings, device, target, a, b, c, sizes).define(),
        Kernel::Tiled => tiled::Tiled::new(settings, device, target, a, b, c, sizes).define(),
        Kernel::NoBarrierBefore => {
            no_barrier_before::NoBarrierBefore::new(settings, device, target, a, b, c, sizes)
                .define()
        }
    }
}

/// The language of WebGPU, which wgpu hands to Vulkan, Metal or DirectX.
///
/// # Errors
/// What CubeCL has against the kernel.
pub fn wgsl(client: &Client, kernel: Kernel) -> Result<String, CompilationError> {
    let program = program(client, kernel);
    let text = WgslCompiler.compile(program, &WgpuCompilationOptions::default())?;
    Ok(text.to_string())
}

/// CUDA C++. It needs no card of NVIDIA's, and no CUDA.
///
/// # Errors
/// As [`wgsl`].
#[cfg(feature = "cuda-text")]
pub fn cuda(client: &Client, kernel: Kernel) -> Result<String, CompilationError> {
    use cubecl_cpp::{
        shared::{CompilationOptions, CppCompiler},
        target::Cuda,
    };
    let text = CppCompiler::<Cuda>::default()
        .compile(program(client, kernel), &CompilationOptions::default())?;
    Ok(text.to_string())
}
