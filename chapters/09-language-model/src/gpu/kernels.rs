//! The kernels of a transformer's training step as text, and compiled for one device.

use cpu_gpu::{
    Result,
    gpu::{Arg, Gpu, Kernel, Launch},
};
use performance::{
    gpu::{
        kernels::{SOFTMAX, launch_each},
        product::Products,
    },
    kernel,
};

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
    /// Chapter 5's three products.
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
        launch_each(self.gpu, self.named(entry)?, count, args)
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
