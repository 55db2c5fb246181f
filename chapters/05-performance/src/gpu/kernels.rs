//! The chapter's kernels as text, and every way in which they are compiled.

use cpu_gpu::{
    Result,
    gpu::{Arg, Gpu, Kernel, Launch},
};

/// A file of the `kernels/` of the crate that calls it, a chapter, behind the names that CUDA and OpenCL share, and behind what
/// else it needs: files of that crate.
#[macro_export]
macro_rules! kernel {
    ($file:literal $(, $header:literal)*) => {
        concat!(
            "#line 1 \"portable.h\"\n",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../02-cpu-gpu/kernels/portable.h")),
            "#line 1 \"maths.h\"\n",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../05-performance/kernels/maths.h")),
            $("#line 1 \"", $header, "\"\n", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $header)),)*
            "#line 1 \"",
            $file,
            "\"\n",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $file)),
        )
    };
}

/// `bias_relu.cl`.
pub const BIAS_RELU: &str = kernel!("bias_relu.cl");
/// `softmax.cl`.
pub const SOFTMAX: &str = kernel!("softmax.cl", "engine/kernels/rows.h");
/// `adam.cl`.
pub const ADAM: &str = kernel!("adam.cl");
/// `product.cl`.
pub const PRODUCT: &str = kernel!("product.cl");
/// `gather.cl`.
pub const GATHER: &str = kernel!("gather.cl");
/// `unfused.cl`.
pub const UNFUSED: &str = kernel!("unfused.cl");

/// Threads of a block where a kernel has a thread for each number.
pub const BLOCK: usize = 256;

/// A kernel as it is compiled for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The kernel's name.
    pub entry: &'static str,
    /// Its text.
    pub source: &'static str,
    /// Macros and their values.
    pub defines: &'static [(&'static str, &'static str)],
}

const fn variant(
    source: &'static str,
    entry: &'static str,
    defines: &'static [(&'static str, &'static str)],
) -> Variant {
    Variant { entry, source, defines }
}

macro_rules! variants {
    ($($name:ident = $source:ident, $entry:literal, $defines:expr;)*) => {
        $(pub(super) const $name: Variant = variant($source, $entry, $defines);)*
        /// Every kernel in every way in which the course compiles it.
        pub const ALL: &[Variant] = &[$($name),*];
    };
}

variants! {
    FORWARD = BIAS_RELU, "bias_relu", &[];
    FORWARD_LAST = BIAS_RELU, "bias_relu", &[("RELU", "0")];
    BACKWARD = BIAS_RELU, "bias_relu_backward", &[];
    BACKWARD_LAST = BIAS_RELU, "bias_relu_backward", &[("RELU", "0")];
    LOSS = SOFTMAX, "softmax_cross_entropy", &[];
    TICK = ADAM, "tick", &[];
    UPDATE = ADAM, "adam", &[];
    UPDATE_KEEP = ADAM, "adam", &[("CLEAR", "0")];
    A_B = PRODUCT, "product", &[];
    AT_B = PRODUCT, "product", &[("TRANSPOSE_A", "1")];
    A_BT = PRODUCT, "product", &[("TRANSPOSE_B", "1")];
    BATCH = GATHER, "gather", &[];
    ADD = UNFUSED, "each", &[];
    ADD_BIAS = UNFUSED, "each", &[("SECOND", "i%cols")];
    RELU = UNFUSED, "each", &[("OPERATION", "a<0.0f?0.0f:a")];
    RELU_BACKWARD = UNFUSED, "each", &[("OPERATION", "b>0.0f?a:0.0f")];
    SUBTRACT_ROW = UNFUSED, "each", &[("OPERATION", "a-b"), ("SECOND", "i/cols")];
    DIVIDE_ROW = UNFUSED, "each", &[("OPERATION", "a/b"), ("SECOND", "i/cols")];
    POWER = UNFUSED, "each", &[("OPERATION", "EXP(a)")];
    LOGARITHM = UNFUSED, "each", &[("OPERATION", "LOG(a)")];
    SCALE = UNFUSED, "each", &[("OPERATION", "a*number")];
    SHIFT = UNFUSED, "each", &[("OPERATION", "a+number")];
    SQUARE = UNFUSED, "each", &[("OPERATION", "a*a")];
    ROOT = UNFUSED, "each", &[("OPERATION", "SQRT(a)")];
    DIVIDE = UNFUSED, "each", &[("OPERATION", "a/b")];
    SUBTRACT = UNFUSED, "each", &[("OPERATION", "a-b")];
    FILL = UNFUSED, "each", &[("OPERATION", "number")];
    COPY = UNFUSED, "each", &[("OPERATION", "a")];
    ROW_MAX = UNFUSED, "rows", &[("START", "-INFINITY"), ("COMBINE", "a>sum?a:sum")];
    ROW_SUM = UNFUSED, "rows", &[];
    PICK = UNFUSED, "pick", &[];
    TRUTH = UNFUSED, "truth", &[];
}

impl Variant {
    /// The macros as a compiler takes them.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        self.defines.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    }

    /// Machine code for a device.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn compile(&self, gpu: &dyn Gpu) -> Result<Kernel> {
        gpu.compile(self.source, &self.options(), self.entry)
    }
}

/// Starts a kernel that has a thread for each of `count` numbers.
///
/// # Errors
/// The device's error.
pub fn launch_each(gpu: &dyn Gpu, kernel: &Kernel, count: usize, args: &[Arg]) -> Result<()> {
    gpu.launch(kernel, Launch::new([count.div_ceil(BLOCK), 1], [BLOCK, 1]), args)
}

/// A length as a kernel takes it. The kernels count in 32 bits.
///
/// # Errors
/// A sentence for more than 2³² − 1024 of them.
pub fn length(count: usize) -> Result<Arg<'static>> {
    match u32::try_from(count) {
        Ok(count) if count <= u32::MAX - 1024 => Ok(Arg::U32(count)),
        _ => Err(cpu_gpu::Error::message(format!(
            "{count} numbers are too many: the kernels count in 32 bits; take a smaller batch"
        ))),
    }
}
