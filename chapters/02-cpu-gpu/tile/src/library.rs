//! All use of the library's host half: it breaks its interface with each release, so that a new one changes this file.
//! (The kernels use its other half, `cutile::core`, and the programs in `wrong` what a page shows of it.)

use crate::{
    attention_dq::attention_dq,
    catalog::{Element, Kernel},
    epilogue::epilogue,
    product_tn::product_tn,
    products::products,
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
        ast::{Module, SpanBase, syn},
        cuda_tile_runtime_utils::{
            TileirasOptions, compile_bytecode_cached, selected_bytecode_version,
        },
        hints::CompileOptions,
        jit_cache::{self, FileSystemJitStore},
        specialization::compute_spec,
    },
    prelude::*,
    tensor::PartitionMut,
    tile_kernel::validate_launch_checks,
};
use std::{path::Path, thread};

pub use cutile::{half::bf16, prelude::DType};

// ---- Without a card ------------------------------------------------------------------------------------

/// What the compiler is told beside the program.
#[derive(Clone, Copy)]
pub struct Hints {
    /// Warps that compute.
    pub warps: i32,
    /// Blocks that share their parts of a tile.
    pub cluster: i32,
}

/// With the compiler's own choice, four warps, the sums of a tile of 128×256 do
/// not fit into their registers.
pub const HINTS: Hints = Hints { warps: 8, cluster: 1 };

fn options(hints: Hints) -> CompileOptions {
    CompileOptions::default().num_worker_warps_per_cta(hints.warps).num_cta_in_cga(hints.cluster)
}

/// A kernel as a GPU gets it.
pub struct Compiled {
    /// The machine code.
    pub cubin: Vec<u8>,
    /// Indices that the compiler proved.
    pub proved: u32,
    /// Indices that are checked while the kernel runs.
    pub left: u32,
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
    on_a_deep_stack(move || {
        let options = options(hints);
        let flags = TileirasOptions::from_compile_options(&options);
        let version = selected_bytecode_version().map_err(said)?;
        let compiler = front(kernel, target, options)?.bytecode_version(version);
        let artifacts = compiler.compile().map_err(said)?;
        let bytecode = artifacts.bytecode().map_err(said)?;
        let (cubin, _) =
            compile_bytecode_cached(&bytecode, version, target, &flags).map_err(said)?;
        let counts = artifacts.check_counts();
        Ok(Compiled {
            cubin,
            proved: counts.discharged,
            left: counts.hoisted + counts.in_place,
            checks: artifacts.launch_checks().to_vec(),
        })
    })
    .map_err(|why| format!("{kernel} for {target}: {why}"))
}

/// A kernel in the library's own language, Tile IR, as text.
///
/// # Errors
/// What the compiler says.
pub fn tile_ir(kernel: &Kernel, target: &str) -> Result<String> {
    on_a_deep_stack(move || {
        let compiler = front(kernel, target, options(HINTS))?;
        Ok(compiler.compile().map_err(said)?.ir_text())
    })
    .map_err(|why| format!("{kernel} for {target}: {why}"))
}

fn said(why: impl std::fmt::Display) -> String {
    why.to_string()
}

/// What a thread needs in which kernels are compiled: the compiler calls itself deeply.
pub const STACK: usize = 32 << 20;

fn on_a_deep_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        worker.map_err(said)?.join().unwrap_or_else(|_| Err("the compiler panicked".to_owned()))
    })
}

/// A module in the text of a file, as the macro would keep it.
fn parsed(name: &'static str, text: &str) -> Result<Module> {
    let items = syn::parse_file(text).map_err(said)?.items;
    let module = items.into_iter().find_map(|item| match item {
        syn::Item::Mod(module) if module.ident == name => Some(module),
        _ => None,
    });
    let module = module.ok_or_else(|| format!("there is no module `{name}`"))?;
    let mut module =
        Module::with_span_base(name, module, SpanBase::new("exercise.rs".to_owned(), 1, 0));
    module.set_absolute_path(format!("exercise::{name}"));
    Ok(module)
}

/// The first half of the way to machine code.
fn front(
    kernel: &Kernel,
    target: &str,
    options: CompileOptions,
) -> Result<KernelCompiler<impl Fn() -> Module>> {
    let known = kernel.arguments.iter().map(|tensor| {
        let shape: Vec<i32> = tensor.shape.iter().map(|size| *size as i32).collect();
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let bytes = if tensor.element == Element::Bf16 { 2 } else { 4 };
        // Memory of a GPU begins at multiples of 256 bytes.
        let bits = compute_spec(256, &shape, &strides, bytes);
        // A stride is 1, or a number that the kernel learns when it runs.
        strides.iter_mut().filter(|stride| **stride != 1).for_each(|stride| *stride = -1);
        (tensor.name, strides, bits)
    });
    let known: Vec<_> = known.collect();
    let strides: Vec<(&str, &[i32])> = known.iter().map(|(n, s, _)| (*n, &s[..])).collect();
    let bits: Vec<_> = known.iter().map(|(n, _, b)| (*n, b.clone())).collect();
    let read = kernel.text.as_deref().map(|text| parsed(kernel.module, text)).transpose()?;
    let module = match kernel.module {
        "products" => products::__module_ast_self,
        "product_tn" => product_tn::__module_ast_self,
        "epilogue" => epilogue::__module_ast_self,
        _ => attention_dq::__module_ast_self,
    };
    let module = move || read.clone().unwrap_or_else(module);
    Ok(KernelCompiler::new(module, kernel.module, kernel.name)
        .generics(kernel.generics.clone())
        .strides(&strides)
        .spec_args(&bits)
        .target(target)
        .options(options))
}

/// Where kernels are kept that have been compiled, and taken from: a folder.
///
/// # Errors
/// If it can't be made.
pub fn keep_in(folder: &Path) -> Result<()> {
    let store = FileSystemJitStore::new(folder).map_err(said)?;
    jit_cache::enable(Arc::new(store));
    Ok(())
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
    fn go<A, D, S, L>(self, kernel: &Kernel, launch: L) -> Result<()>
    where
        A: Send,
        S: Send,
        D: DeviceOp<Output = S>,
        L: TileKernel<A, D, S> + GraphNode,
    {
        let launch = launch.generics(kernel.generics.clone()).compile_options(options(HINTS));
        match self {
            Self::Run(card) => launch.sync_on(&card.stream).map(drop),
            Self::Graph(scope) => scope.record(launch).map(drop),
        }
        .map_err(|why| why.to_string())
    }
}

/// An output, split into the tiles that programs own.
fn split<'t, const N: usize, E: DType>(
    tensor: &'t mut OnCard<E>,
    kernel: &Kernel,
    output: usize,
) -> Partition<&'t mut OnCard<E>> {
    let tile = kernel.arguments[output].tile.as_deref().unwrap_or_default();
    tensor.partition::<N>(std::array::from_fn(|axis| tile[axis]))
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
    let c = split::<2, _>(c, kernel, 0);
    match kernel.name {
        "product" => to.go(kernel, products::product(c, a, b)),
        "product_nt" => to.go(kernel, products::product_nt(c, a, b)),
        "product_tn" => to.go(kernel, product_tn::product_tn(c, a, b)),
        _ => to.go(kernel, products::product_tt(c, a, b)),
    }
}

/// Launches any kernel: its inputs and its scalar, if it has one, and what it makes of outputs that were NaN.
///
/// # Errors
/// As [`product`].
pub fn launch(
    card: &Card,
    kernel: &Kernel,
    inputs: &[Vec<f32>],
    scalar: Option<f32>,
) -> Result<Vec<Vec<f32>>> {
    let (to, scalar) = (To::Run(card), scalar.unwrap_or_default());
    let outputs = kernel.arguments.iter().filter(|argument| argument.tile.is_some()).count();
    let shape = |at: usize| &kernel.arguments[outputs + at].shape;
    let long = |at: usize| card.put(inputs[at].clone(), shape(at));
    let short =
        |at: usize| card.put(inputs[at].iter().copied().map(bf16::from_f32).collect(), shape(at));
    let size = |at: usize| kernel.arguments[at].shape.iter().product();
    let long_out = |at: usize| card.put(vec![f32::NAN; size(at)], &kernel.arguments[at].shape);
    let short_out = |at: usize| card.put(vec![bf16::NAN; size(at)], &kernel.arguments[at].shape);
    let wide = |from: &OnCard<bf16>| -> Result<Vec<f32>> {
        Ok(card.get(from)?.into_iter().map(bf16::to_f32).collect())
    };
    match kernel.name {
        "linear" => {
            let (mut y, mut before) = (short_out(0)?, short_out(1)?);
            to.go(
                kernel,
                epilogue::linear(
                    split::<2, _>(&mut y, kernel, 0),
                    split::<2, _>(&mut before, kernel, 1),
                    &short(0)?,
                    &short(1)?,
                    &short(2)?,
                ),
            )?;
            Ok(vec![wide(&y)?, wide(&before)?])
        }
        "attention_dq" => {
            let mut dq = short_out(0)?;
            to.go(
                kernel,
                attention_dq::attention_dq(
                    split::<3, _>(&mut dq, kernel, 0),
                    &short(0)?,
                    &short(1)?,
                    &short(2)?,
                    &short(3)?,
                    &long(4)?,
                    &long(5)?,
                    scalar,
                ),
            )?;
            Ok(vec![wide(&dq)?])
        }
        _ => {
            let mut c = long_out(0)?;
            if kernel.arguments[1].element == Element::F32 {
                product(to, kernel, &mut c, &long(0)?, &long(1)?)?;
            } else {
                product(to, kernel, &mut c, &short(0)?, &short(1)?)?;
            }
            Ok(vec![card.get(&c)?])
        }
    }
}
