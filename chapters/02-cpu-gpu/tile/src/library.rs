//! All use of the library's host half: it breaks its interface with each release, so that a new one changes this file.
//! (The kernels use its other half, `cutile::core`, and the programs in `wrong` what a page shows of it.)

use crate::{
    attention::attention as attention_kernels, catalog::Kernel, products::products, rows::rows,
};
use cutile::{
    compile_api::KernelCompiler,
    cuda_async::{
        cuda_graph::{CudaGraph, Scope},
        device_operation::GraphNode,
        error::DeviceError,
        predicate::LaunchCheck,
    },
    cuda_core::{DriverError, Stream},
    cutile_compiler::{
        cuda_tile_runtime_utils::{TileirasOptions, run_tileiras},
        hints::CompileOptions,
        specialization::compute_spec,
    },
    prelude::*,
    tensor::PartitionMut,
    tile_kernel::validate_launch_checks,
};
use std::{thread, time::Instant};

pub use cutile::half::bf16;

// ---- Without a card ------------------------------------------------------------------------------------

// ANCHOR: hints
/// What the compiler is told beside the program.
#[derive(Clone, Copy)]
pub struct Hints {
    /// Warps that compute.
    pub warps: i32,
    /// Blocks that share their parts of a tile.
    pub cluster: i32,
}

/// With the compiler's own choice, four warps, the sums of a tile of 128×256 do not fit into their registers.
pub const HINTS: Hints = Hints { warps: 8, cluster: 1 };

fn options(hints: Hints) -> CompileOptions {
    CompileOptions::default().num_worker_warps_per_cta(hints.warps).num_cta_in_cga(hints.cluster)
}
// ANCHOR_END: hints

/// A kernel as a GPU gets it.
pub struct Compiled {
    /// The machine code.
    pub cubin: Vec<u8>,
    /// Indices that the compiler proved.
    pub proved: u32,
    /// Indices that are checked while the kernel runs.
    pub left: u32,
    /// Seconds to the library's own language, and from there to machine code.
    pub seconds: [f64; 2],
    checks: Vec<LaunchCheck>,
}

impl Compiled {
    /// How many conditions are checked at each launch, before the kernel runs.
    pub fn at_launch(&self) -> usize {
        self.checks.len()
    }

    /// Makes the checks of a launch for tensors as `kernel` has them.
    ///
    /// # Errors
    /// With the check that fails.
    pub fn may_launch(&self, kernel: &Kernel) -> Result<()> {
        let short = |sizes: &[usize]| sizes.iter().map(|size| *size as i32).collect::<Vec<i32>>();
        let whole: Vec<_> = kernel.arguments.iter().map(|a| short(&a.shape)).collect();
        let seen = kernel.arguments.iter().map(|a| short(a.tile.as_ref().unwrap_or(&a.shape)));
        validate_launch_checks(&self.checks, &whole, &seen.collect::<Vec<_>>(), kernel.grid())
            .map_err(|why| format!("{kernel}: {why}"))
    }
}

/// Compiles a kernel for a GPU that need not be there, such as `sm_90`, as a launch would for tensors of these sizes.
///
/// # Errors
/// What the compiler says, or that it is not there.
pub fn compile(kernel: &Kernel, target: &str, hints: Hints) -> Result<Compiled> {
    // The compiler calls itself deeply.
    thread::scope(|scope| {
        let work = move || compile_here(kernel, target, hints);
        let compiler = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let compiled = compiler.map_err(|why| format!("no thread for the compiler: {why}"))?;
        compiled.join().unwrap_or_else(|_| Err(format!("{kernel}: the compiler panicked")))
    })
}

/// What a thread needs in which kernels are compiled.
pub const STACK: usize = 32 << 20;

fn compile_here(kernel: &Kernel, target: &str, hints: Hints) -> Result<Compiled> {
    let known: Vec<(&str, Vec<i32>, SpecializationBits)> = kernel
        .arguments
        .iter()
        .map(|tensor| {
            let shape: Vec<i32> = tensor.shape.iter().map(|size| *size as i32).collect();
            let mut strides = vec![1; shape.len()];
            for axis in (1..shape.len()).rev() {
                strides[axis - 1] = strides[axis] * shape[axis];
            }
            // Memory of a GPU begins at multiples of 256 bytes.
            let bits = compute_spec(256, &shape, &strides, tensor.bytes as i32);
            // A stride is 1, or a number that the kernel learns when it runs.
            strides.iter_mut().filter(|stride| **stride != 1).for_each(|stride| *stride = -1);
            (tensor.name, strides, bits)
        })
        .collect();
    let strides: Vec<(&str, &[i32])> = known.iter().map(|(n, s, _)| (*n, &s[..])).collect();
    let bits: Vec<_> = known.iter().map(|(n, _, b)| (*n, b.clone())).collect();
    let options = options(hints);
    let flags = TileirasOptions::from_compile_options(&options);
    let module = match kernel.module {
        "products" => products::__module_ast_self,
        "rows" => rows::__module_ast_self,
        _ => attention_kernels::__module_ast_self,
    };
    let said = |why: &dyn std::fmt::Display| format!("{kernel} for {target}: {why}");
    let start = Instant::now();
    let artifacts = KernelCompiler::new(module, kernel.module, kernel.name)
        .generics(kernel.generics.clone())
        .strides(&strides)
        .spec_args(&bits)
        .target(target)
        .options(options)
        .compile()
        .map_err(|why| said(&why))?;
    let bytecode = artifacts.bytecode().map_err(|why| said(&why))?;
    let front = start.elapsed().as_secs_f64();
    let cubin = run_tileiras(&bytecode, target, &flags).map_err(|why| said(&why))?;
    let counts = artifacts.check_counts();
    Ok(Compiled {
        cubin,
        proved: counts.discharged,
        left: counts.hoisted + counts.in_place,
        seconds: [front, start.elapsed().as_secs_f64() - front],
        checks: artifacts.launch_checks().to_vec(),
    })
}

// ---- With a card ---------------------------------------------------------------------------------------

/// What went wrong, in words.
pub type Result<T> = std::result::Result<T, String>;
/// Numbers in a card's memory.
pub type OnCard<E> = Tensor<E>;

/// A card, and the order in which it is given work.
pub struct Card {
    /// As the driver calls it.
    pub name: String,
    /// Its generation, as `compile` names it.
    pub target: String,
    stream: Arc<Stream>,
}

/// Where a launch goes: it runs and is waited for, or it becomes a part of a graph.
#[derive(Clone, Copy)]
pub enum To<'a> {
    /// At once.
    Run(&'a Card),
    /// When the graph is launched.
    Graph(&'a Scope),
}

impl To<'_> {
    fn go<O: GraphNode>(self, launch: O) -> Result<()> {
        match self {
            Self::Run(card) => launch.sync_on(&card.stream).map(drop),
            Self::Graph(scope) => scope.record(launch).map(drop),
        }
        .map_err(|why| why.to_string())
    }
}

/// What an output's tensor is split into.
fn tile<const N: usize>(kernel: &Kernel, output: usize) -> [usize; N] {
    let tile = kernel.arguments[output].tile.as_deref().unwrap_or_default();
    std::array::from_fn(|axis| tile[axis])
}

impl Card {
    /// The first card.
    ///
    /// # Errors
    /// If there is no driver, or no card.
    pub fn open() -> Result<Self> {
        let none = |why: DriverError| {
            format!("this needs an NVIDIA GPU and its driver, 580 or newer: CUDA's error {}", why.0)
        };
        let context = Context::new(0).map_err(none)?;
        let (major, minor) = context.compute_capability().map_err(none)?;
        Ok(Self {
            name: context.device_name().map_err(none)?,
            target: format!("sm_{major}{minor}"),
            stream: context.new_stream().map_err(none)?,
        })
    }

    /// Copies numbers to the card.
    ///
    /// # Errors
    /// If it has no room, or they are not as many as the shape says.
    pub fn put<E: DType>(&self, values: Vec<E>, shape: &[usize]) -> Result<OnCard<E>> {
        let copy = api::copy_host_vec_to_device(&Arc::new(values)).sync_on(&self.stream);
        copy.map_err(|why| why.to_string())?.reshape(shape).map_err(|why| why.to_string())
    }

    /// Copies numbers back.
    ///
    /// # Errors
    /// If the card has failed.
    pub fn get<E: DType>(&self, from: &OnCard<E>) -> Result<Vec<E>> {
        from.dup().to_host_vec().sync_on(&self.stream).map_err(|why| why.to_string())
    }

    /// The seconds of each of `times` launches in a row. They are one graph, so that the host has no part in it but to
    /// wait for the end, which takes microseconds: let `times` fill some milliseconds.
    ///
    /// # Errors
    /// If a launch fails.
    pub fn seconds(
        &self,
        times: usize,
        launch: &mut dyn FnMut(To<'_>) -> Result<()>,
    ) -> Result<impl FnMut() -> Result<f64> + use<>> {
        let fault = |why: &dyn std::fmt::Display| why.to_string();
        let graph = CudaGraph::scope(&self.stream, |scope| {
            let all = (0..times).try_for_each(|_| launch(To::Graph(scope)));
            all.map_err(DeviceError::Anyhow)
        })
        .map_err(|why| fault(&why))?;
        let stream = self.stream.clone();
        Ok(move || {
            let mark = || stream.context().new_event().map_err(|why| fault(&why));
            let (start, end) = (mark()?, mark()?);
            start.record(&stream).map_err(|why| fault(&why))?;
            graph.launch().sync_on(&stream).map_err(|why| fault(&why))?;
            end.record(&stream).map_err(|why| fault(&why))?;
            end.synchronize().map_err(|why| fault(&why))?;
            let milliseconds = start.elapsed_time(&end).map_err(|why| fault(&why))?;
            Ok(f64::from(milliseconds) * 1e-3 / times as f64)
        })
    }
}

// ANCHOR: launch
/// A product, in the layout that the kernel's name says.
///
/// # Errors
/// If it does not compile or a check of the launch fails.
pub fn product<E: DType>(
    to: To<'_>,
    kernel: &Kernel,
    c: &mut OnCard<f32>,
    a: &OnCard<E>,
    b: &OnCard<E>,
) -> Result<()> {
    let (c, generics) = (c.partition(tile::<2>(kernel, 0)), kernel.generics.clone());
    match kernel.name {
        "product" => {
            to.go(products::product(c, a, b).generics(generics).compile_options(options(HINTS)))
        }
        "product_nt" => {
            to.go(products::product_nt(c, a, b).generics(generics).compile_options(options(HINTS)))
        }
        "product_tn" => {
            to.go(products::product_tn(c, a, b).generics(generics).compile_options(options(HINTS)))
        }
        _ => {
            to.go(products::product_tt(c, a, b).generics(generics).compile_options(options(HINTS)))
        }
    }
}
// ANCHOR_END: launch

/// A linear layer with its activation.
///
/// # Errors
/// As [`product`].
pub fn linear(
    to: To<'_>,
    kernel: &Kernel,
    [y, before]: [&mut OnCard<bf16>; 2],
    [x, w, bias]: [&OnCard<bf16>; 3],
) -> Result<()> {
    let (y, before) = (y.partition(tile::<2>(kernel, 0)), before.partition(tile::<2>(kernel, 1)));
    let launch = products::linear(y, before, x, w, bias).generics(kernel.generics.clone());
    to.go(launch.compile_options(options(HINTS)))
}

/// The losses of rows, and the gradient of the logits.
///
/// # Errors
/// As [`product`].
pub fn cross_entropy(
    to: To<'_>,
    kernel: &Kernel,
    loss: &mut OnCard<f32>,
    gradient: &mut OnCard<bf16>,
    (logits, labels): (&OnCard<bf16>, &OnCard<i32>),
    scale: f32,
) -> Result<()> {
    let loss = loss.partition(tile::<1>(kernel, 0));
    let gradient = gradient.partition(tile::<2>(kernel, 1));
    let launch = rows::cross_entropy(loss, gradient, logits, labels, scale);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}

/// RMS norm of rows.
///
/// # Errors
/// As [`product`].
pub fn rms_norm(
    to: To<'_>,
    kernel: &Kernel,
    y: &mut OnCard<bf16>,
    factor: &mut OnCard<f32>,
    (x, gain): (&OnCard<bf16>, &OnCard<f32>),
    epsilon: f32,
) -> Result<()> {
    let (y, factor) = (y.partition(tile::<2>(kernel, 0)), factor.partition(tile::<1>(kernel, 1)));
    let launch = rows::rms_norm(y, factor, x, gain, epsilon).generics(kernel.generics.clone());
    to.go(launch.compile_options(options(HINTS)))
}

/// The gradient of RMS norm's rows, and the parts of its gain's.
///
/// # Errors
/// As [`product`].
pub fn rms_norm_backward(
    to: To<'_>,
    kernel: &Kernel,
    dx: &mut OnCard<bf16>,
    parts: &mut OnCard<f32>,
    (x, dy): (&OnCard<bf16>, &OnCard<bf16>),
    (gain, factor): (&OnCard<f32>, &OnCard<f32>),
) -> Result<()> {
    let (dx, parts) = (dx.partition(tile::<2>(kernel, 0)), parts.partition(tile::<2>(kernel, 1)));
    let launch = rows::rms_norm_backward(dx, parts, x, gain, factor, dy);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}

/// The sum of each column.
///
/// # Errors
/// As [`product`].
pub fn column_sums(
    to: To<'_>,
    kernel: &Kernel,
    sums: &mut OnCard<f32>,
    x: &OnCard<f32>,
) -> Result<()> {
    let launch = rows::column_sums(sums.partition(tile::<1>(kernel, 0)), x);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}

/// Causal attention.
///
/// # Errors
/// As [`product`].
pub fn attention(
    to: To<'_>,
    kernel: &Kernel,
    out: &mut OnCard<bf16>,
    log_sums: &mut OnCard<f32>,
    [q, k, v]: [&OnCard<bf16>; 3],
    scale: f32,
) -> Result<()> {
    let out = out.partition(tile::<3>(kernel, 0));
    let log_sums = log_sums.partition(tile::<2>(kernel, 1));
    let launch = attention_kernels::attention(out, log_sums, q, k, v, scale);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}

/// Each row's output times its upstream gradient.
///
/// # Errors
/// As [`product`].
pub fn attention_dots(
    to: To<'_>,
    kernel: &Kernel,
    dots: &mut OnCard<f32>,
    [out, dout]: [&OnCard<bf16>; 2],
) -> Result<()> {
    let dots = dots.partition(tile::<2>(kernel, 0));
    let launch = attention_kernels::attention_dots(dots, out, dout);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}

/// What the two backward passes of attention read: q, k, v and the upstream gradient; logarithms of sums, and dots.
pub type Backward<'a> = ([&'a OnCard<bf16>; 4], [&'a OnCard<f32>; 2]);

/// The gradients of keys and values.
///
/// # Errors
/// As [`product`].
pub fn attention_dkdv(
    to: To<'_>,
    kernel: &Kernel,
    [dk, dv]: [&mut OnCard<bf16>; 2],
    ([q, k, v, dout], [log_sums, dots]): Backward<'_>,
    scale: f32,
) -> Result<()> {
    let (dk, dv) = (dk.partition(tile::<3>(kernel, 0)), dv.partition(tile::<3>(kernel, 1)));
    let launch = attention_kernels::attention_dkdv(dk, dv, q, k, v, dout, log_sums, dots, scale);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}

/// The gradient of queries.
///
/// # Errors
/// As [`product`].
pub fn attention_dq(
    to: To<'_>,
    kernel: &Kernel,
    dq: &mut OnCard<bf16>,
    ([q, k, v, dout], [log_sums, dots]): Backward<'_>,
    scale: f32,
) -> Result<()> {
    let dq = dq.partition(tile::<3>(kernel, 0));
    let launch = attention_kernels::attention_dq(dq, q, k, v, dout, log_sums, dots, scale);
    to.go(launch.generics(kernel.generics.clone()).compile_options(options(HINTS)))
}
