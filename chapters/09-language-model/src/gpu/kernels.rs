//! The kernels of a transformer's training step as text, and compiled for one device.

use super::product::Products;
use cpu_gpu::{
    Result,
    gpu::{Arg, Gpu, Kernel, Launch},
};
use performance::gpu::kernels;

/// A kernel's text behind the names that CUDA and OpenCL share, and what else it needs.
macro_rules! kernel {
    ($file:literal $(, $header:literal)*) => {
        concat!(
            "#line 1 \"portable.h\"\n",
            include_str!("../../../02-cpu-gpu/kernels/portable.h"),
            "#line 1 \"maths.h\"\n",
            include_str!("../../../05-performance/engine/kernels/maths.h"),
            $("#line 1 \"", $header, "\"\n", include_str!($header),)*
            "#line 1 \"",
            $file,
            "\"\n",
            include_str!(concat!("../../kernels/", $file)),
        )
    };
}

/// `attention.cl`: attention in tiles, forward.
pub const ATTENTION: &str = kernel!("attention.cl");
/// `attention_backward.cl`.
pub const ATTENTION_BACKWARD: &str = kernel!("attention_backward.cl");
/// `rms_norm.cl`.
pub const RMS_NORM: &str = kernel!("rms_norm.cl");
/// `heads.cl`: the embedding, and what lies between rows and heads.
pub const HEADS: &str = kernel!("heads.cl");
/// `step.cl`: `SwiGLU`, sums, the norm of a gradient and `AdamW`.
pub const STEP: &str = kernel!("step.cl");

/// `softmax.cl`.
pub const SOFTMAX: &str = kernel!("softmax.cl", "../../../05-performance/engine/kernels/rows.h");

/// A length as a kernel takes it. The kernels count in 32 bits.
///
/// # Errors
/// A sentence for more than 2³² − 1024 of them.
pub fn length(count: usize) -> Result<Arg<'static>> {
    kernels::length(count).map(Arg::U32)
}

/// Every kernel of the chapter: its text, its name, and whether it depends on the size of a head.
pub const ALL: [(&str, &str, bool); 19] = [
    (ATTENTION, "attention", true),
    (ATTENTION_BACKWARD, "attention_dq", true),
    (ATTENTION_BACKWARD, "attention_dkv", true),
    (RMS_NORM, "rms_norm", false),
    (RMS_NORM, "rms_norm_backward", false),
    (RMS_NORM, "rms_norm_parts", false),
    (RMS_NORM, "sum_parts", false),
    (HEADS, "embed", false),
    (HEADS, "embed_backward", false),
    (HEADS, "to_heads", true),
    (HEADS, "from_heads", true),
    (HEADS, "merge", true),
    (HEADS, "split", true),
    (STEP, "swiglu", false),
    (STEP, "swiglu_backward", false),
    (STEP, "add", false),
    (STEP, "squares", false),
    (STEP, "adamw", false),
    (SOFTMAX, "softmax_cross_entropy", false),
];

/// The kernels as machine code of one device, for heads of one size.
pub struct Kernels<'g> {
    gpu: &'g dyn Gpu,
    all: Vec<Kernel>,
    /// The three products of a dense layer.
    pub products: Products,
}

impl<'g> Kernels<'g> {
    /// Compiles them.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn new(gpu: &'g dyn Gpu, head: usize) -> Result<Self> {
        let compiled = |(source, entry, sized): (&str, &str, bool)| {
            let options: &[(&str, String)] =
                if sized { &[("HEAD", head.to_string())] } else { &[] };
            gpu.compile(source, options, entry)
        };
        let all = ALL.into_iter().map(compiled).collect::<Result<_>>()?;
        Ok(Self { gpu, all, products: Products::new(gpu)? })
    }

    fn named(&self, entry: &str) -> Result<&Kernel> {
        let found = self.all.iter().find(|kernel| kernel.entry == entry);
        found.ok_or_else(|| cpu_gpu::Error::message(format!("there is no kernel `{entry}`")))
    }

    /// Starts a kernel that has a thread for each of `count` numbers.
    ///
    /// # Errors
    /// The device's error.
    pub fn each(&self, entry: &str, count: usize, args: &[Arg]) -> Result<()> {
        self.launch(entry, [count.div_ceil(256), 1], [256, 1], args)
    }

    /// Starts a kernel on a grid of blocks.
    ///
    /// # Errors
    /// The device's error.
    pub fn launch(
        &self,
        entry: &str,
        grid: [usize; 2],
        block: [usize; 2],
        args: &[Arg],
    ) -> Result<()> {
        self.gpu.launch(self.named(entry)?, Launch::new(grid, block), args)
    }
}
