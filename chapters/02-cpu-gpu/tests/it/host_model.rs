//! The CUDA-only kernels, run on the CPU: `host_model/` compiles the very text of a .cu file with a C++ compiler and
//! runs its threads one after the other, as unkindly as a GPU may. Then the same with a bug in the text: a test
//! that does not notice it would be no test.
//!
//! Where there is no C++ compiler (the variable `CXX`, c++, g++ or clang++), the tests are skipped.

use crate::{device::problem, stand_ins};
use cpu_gpu::{
    gpu::Element as _,
    tensor_cores::{CudaRung, CudaTiles, Padded, TensorMap},
};
use matmul::Shape;
use std::{
    collections::HashMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// A kernel as a program for the CPU.
struct Model {
    rung: CudaRung,
    program: PathBuf,
    _folder: tempfile::TempDir,
}

/// What a run leaves: C, and how often shared memory was used, counted in 128-byte pieces.
struct Output {
    c: Vec<f32>,
    counts: HashMap<String, u64>,
}

/// The order in which things happen: copies late or early, the threads forwards or backwards.
const ORDERS: [[u32; 2]; 4] = [[1, 0], [0, 0], [1, 1], [0, 1]];

/// Compiles C++ as these arguments say.
fn compile(cxx: &str, what: &str, command: &mut Command) {
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} by {cxx}:\n{words}");
}

/// `model.cpp`, the machine that all kernels run on, compiled once for all tests.
fn machine(cxx: &str, model: &Path) -> &'static Path {
    static MACHINE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, object) = MACHINE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("model.o");
        let mut command = Command::new(cxx);
        command.args(["-std=c++17", "-O2", "-w", "-c", "-o"]).arg(&object);
        compile(cxx, "model.cpp", command.arg(model.join("model.cpp")));
        (folder, object)
    });
    object
}

impl Model {
    /// `options` are those of a [`cpu_gpu::tensor_cores::CudaPlan`].
    fn new(cxx: &str, rung: CudaRung, text: &str, options: &[(&str, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("kernel.cu");
        std::fs::write(&source, text).unwrap();
        let program = folder.path().join("model");
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host_model");
        let machine = machine(cxx, &model);
        let mut command = Command::new(cxx);
        command
            .args(["-std=c++17", "-O1", "-w", "-DHOST_MODEL"])
            .arg(format!("-DKERNEL={}", rung.name().to_uppercase()))
            .arg(format!("-DSOURCE=\"{}\"", source.display()))
            .args(options.iter().map(|(name, value)| format!("-D{name}={value}")))
            .arg(format!("-I{}", model.display()))
            .arg(model.join("kernel.cpp"))
            .arg(machine)
            .arg("-o")
            .arg(&program);
        compile(cxx, rung.name(), &mut command);
        Self { rung, program, _folder: folder }
    }

    fn run(&self, a: &[f32], b: &[f32], shape: Shape, order: [u32; 2]) -> Result<Output, String> {
        let Shape { m, k, n } = shape;
        let plan = self.rung.plan(shape, 4).expect("C is not empty");
        let mut args: Vec<(&str, usize)> = vec![
            ("m", m),
            ("n", n),
            ("k", self.rung.depth(k)),
            ("grid_x", plan.grid[0] as usize),
            ("grid_y", plan.grid[1] as usize),
            ("block", plan.threads as usize),
            ("cluster", plan.cluster as usize),
            ("shared", plan.shared_bytes as usize),
            ("late", order[0] as usize),
            ("backwards", order[1] as usize),
        ];
        let (bytes_a, bytes_b) = if self.rung.bf16() {
            let (a, b) = (Padded::new(a, m, k), Padded::new(b, k, n));
            let (map_a, map_b) = (TensorMap::of_a(&a), TensorMap::of_b(&b));
            args.extend([
                ("lda", a.stride),
                ("ldb", b.stride),
                ("a_width", map_a.size[0] as usize),
                ("a_height", map_a.size[1] as usize),
                ("a_stride", map_a.stride as usize),
                ("a_box_width", map_a.boxes[0] as usize),
                ("a_box_height", map_a.boxes[1] as usize),
                ("b_width", map_b.size[0] as usize),
                ("b_height", map_b.size[1] as usize),
                ("b_stride", map_b.stride as usize),
                ("b_box_width", map_b.boxes[0] as usize),
                ("b_box_height", map_b.boxes[1] as usize),
            ]);
            (u16::bytes(&a.bits), u16::bytes(&b.bits))
        } else {
            (f32::bytes(a), f32::bytes(b))
        };
        args.extend([("a_bytes", bytes_a.len()), ("b_bytes", bytes_b.len())]);

        let mut child = Command::new(&self.program)
            .args(args.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A model that finds a fault ends early: then the pipe breaks, and its words say why.
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all(&bytes_a).and_then(|()| stdin.write_all(&bytes_b));
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(format!("{}: {words}", output.status));
        }
        let words: Vec<&str> = words.split_whitespace().collect();
        Ok(Output {
            c: f32::values(&output.stdout),
            counts: words
                .chunks_exact(2)
                .map(|w| (w[0].to_owned(), w[1].parse().unwrap()))
                .collect(),
        })
    }

    /// Runs a product of random matrices and compares it with f64.
    fn check(&self, shape: Shape, order: [u32; 2]) -> Result<Output, String> {
        let problem = problem(self.rung, shape);
        let output = self.run(&problem.a, &problem.b, shape, order)?;
        if output.c.len() != shape.m * shape.n {
            return Err(format!("{} numbers instead of {}", output.c.len(), shape.m * shape.n));
        }
        problem.check(&output.c).map_err(|fault| fault.to_string())?;
        Ok(output)
    }
}

fn right_on(rung: CudaRung, shapes: &[Shape]) {
    let Some(cxx) = stand_ins::compiler() else { return };
    let options = rung.plan(shapes[0], 4).unwrap().options;
    let model = Model::new(&cxx, rung, rung.source(), &options);
    for &shape in shapes {
        assert_eq!(rung.plan(shape, 4).unwrap().options, options, "one program for all shapes");
        for order in ORDERS {
            if let Err(why) = model.check(shape, order) {
                panic!("{} {shape:?} {order:?}: {why}", rung.name());
            }
        }
    }
}

#[test]
fn async_copy_is_right_where_rows_are_aligned() {
    let shapes =
        [(128, 64, 256), (132, 36, 260), (1, 4, 4), (257, 100, 8), (3, 0, 4), (20, 160, 516)];
    right_on(CudaRung::ALL[0], &shapes.map(|(m, k, n)| Shape::new(m, k, n)));
}

#[test]
fn async_copy_is_right_where_rows_are_not_aligned() {
    let shapes = [(131, 37, 259), (1, 1, 1), (130, 64, 255), (5, 17, 3)];
    right_on(CudaRung::ALL[0], &shapes.map(|(m, k, n)| Shape::new(m, k, n)));
}

#[test]
fn async_copy_is_right_with_any_tiles() {
    for tiles in &CudaTiles::ALL[1..] {
        right_on(CudaRung::AsyncCopy(*tiles), &[Shape::new(260, 68, 132)]);
    }
}

#[test]
fn wmma_is_right() {
    // The last one has more rows of tiles than run side by side.
    let shapes =
        [(128, 64, 128), (131, 77, 259), (1, 1, 1), (5, 0, 7), (129, 33, 8), (1030, 3, 130)];
    right_on(CudaRung::Wmma, &shapes.map(|(m, k, n)| Shape::new(m, k, n)));
}

#[test]
fn wgmma_is_right() {
    // The plan is for four multiprocessors, so that two clusters share up to six pairs of tiles.
    let shapes =
        [(256, 128, 256), (131, 77, 259), (1, 1, 1), (5, 0, 7), (129, 400, 8), (700, 130, 600)];
    right_on(CudaRung::Wgmma, &shapes.map(|(m, k, n)| Shape::new(m, k, n)));
}

/// Descriptors of A, for tiles at 0x8400, whose sixteenth is 0x840.
const DESCRIPTORS_OF_A: [u64; 4] =
    [0x4000_0040_0001_0840, 0x4000_0040_0001_0842, 0x4000_0040_0001_0844, 0x4000_0040_0001_0846];
/// And of B.
const DESCRIPTORS_OF_B: [u64; 4] =
    [0x4000_0040_0200_0840, 0x4000_0040_0200_08C0, 0x4000_0040_0200_0940, 0x4000_0040_0200_09C0];

/// Kernel and model are written from one reading of the manual. These values are not: CUTLASS makes them of the same
/// tiles (`make_gmma_desc` and `CLayout_64x256` in `include/cute/atom/mma_traits_sm90_gmma.hpp`, NVIDIA/cutlass 082a375),
/// with a swizzle of 128 bytes and bf16. In units of 16 bytes:
/// - A, `Major::K`, `((8,m),(T,2)):((8T,SBO),(1,T))`: SBO 64, LBO 1; the next 16 of k are 2 further;
/// - B, `Major::MN`, `((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))`: LBO 512 to the next 64 columns, SBO 64 to the next 8 of k;
/// - a sum of thread t and register r lies at `t%4·128 + t/4%8 + t/32·16 + r%2·64 + r/2%2·8 + r/4·512` of a tile of 64 rows,
///   column by column.
#[test]
fn descriptors_and_registers_are_those_of_cutlass() {
    let Some(cxx) = stand_ins::compiler() else { return };
    let layouts = |text: &str| {
        let options = CudaRung::Wgmma.plan(Shape::square(64), 4).unwrap().options;
        let model = Model::new(&cxx, CudaRung::Wgmma, text, &options);
        let output = Command::new(&model.program).arg("layouts").output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let of = |name: &str| -> Vec<String> {
            let all = text.lines().filter_map(|line| line.split_once(' '));
            all.filter(|(k, _)| k.starts_with(name)).map(|(_, value)| value.to_owned()).collect()
        };
        ["a", "b", "d"].map(of)
    };
    let hex = |values: [u64; 4]| values.map(|value| format!("{value:x}")).to_vec();
    let text = CudaRung::Wgmma.source();
    let [a, b, d] = layouts(text);
    assert_eq!((a, b), (hex(DESCRIPTORS_OF_A), hex(DESCRIPTORS_OF_B)));
    let mut wanted = vec![String::new(); 64 * 256];
    for t in 0..128 {
        for r in 0..128 {
            let at =
                t % 4 * 128 + t / 4 % 8 + t / 32 * 16 + r % 2 * 64 + r / 2 % 2 * 8 + r / 4 * 512;
            let (row, column) = (at % 64, at / 64);
            wanted[256 * row + column] = (128 * t + r).to_string();
        }
    }
    assert!(d == wanted);
    // The values are compared, and not only made.
    let [a, _, _] =
        layouts(&replaced(text, "(u64)(stride >> 4) << 32", "(u64)(stride >> 3) << 32"));
    assert_ne!(a, hex(DESCRIPTORS_OF_A));
    let [_, b, _] = layouts(&replaced(text, "BOX_BYTES, 1024);", "1024, BOX_BYTES);"));
    assert_ne!(b, hex(DESCRIPTORS_OF_B));
    let [_, _, d] = layouts(&replaced(text, "sums[4 * j + 2 * half]", "sums[4 * j + half]"));
    assert!(d != wanted);
}

/// With the threads where they are, eight lanes never want the same bank twice, neither to read nor to write, and half
/// a warp wants no more than 128 different bytes.
#[test]
fn async_copy_has_no_bank_conflicts() {
    let Some(cxx) = stand_ins::compiler() else { return };
    let shape = Shape::new(256, 96, 256);
    let pieces = |text: &str| {
        let rung = CudaRung::ALL[0];
        let model = Model::new(&cxx, rung, text, &rung.plan(shape, 4).unwrap().options);
        model.check(shape, [1, 0]).unwrap().counts
    };
    let text = CudaRung::ALL[0].source();
    let counts = pieces(text);
    assert!(counts["loads"] > 0 && counts["stores"] > 0);
    assert_eq!(counts["load_wavefronts"], 4 * counts["loads"]);
    assert_eq!(counts["store_wavefronts"], 4 * counts["stores"]);
    assert_eq!(counts["widest_half"], 128);
    // The counter does count: the plain order of rows writes some banks twice.
    let counts = pieces(&replaced(text, "(r & ~7u) | (r & 1) << 2 | (r >> 1 & 3)", "r"));
    assert!(counts["store_wavefronts"] > 4 * counts["stores"], "{counts:?}");
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(
        text.contains(from),
        "the kernel has no `{from}` any more: keep this test's bugs up to date"
    );
    text.replacen(from, to, 1)
}

/// Each bug is caught in at least one order of events.
fn caught(rung: CudaRung, shape: Shape, mistakes: &[(&str, &str)]) {
    let Some(cxx) = stand_ins::compiler() else { return };
    let options = rung.plan(shape, 4).unwrap().options;
    for (from, to) in mistakes {
        let model = Model::new(&cxx, rung, &replaced(rung.source(), from, to), &options);
        let found = ORDERS.iter().find_map(|&order| model.check(shape, order).err());
        let found = found.unwrap_or_else(|| panic!("{}: `{from}` → `{to}` went by", rung.name()));
        eprintln!("{}: `{from}` → `{to}`: {}", rung.name(), found.trim());
    }
}

#[test]
fn mistakes_in_async_copy_are_caught() {
    caught(
        CudaRung::ALL[0],
        Shape::new(132, 164, 260),
        &[
            ("wait_for_copies<STAGES - 2>();", ""),
            ("wait_for_copies<STAGES - 2>();", "wait_for_copies<STAGES - 1>();"),
            ("        __syncthreads();\n", ""),
            ("source.row + a_row + i * A_STEP < m", "true"),
            ("if (at < n) *(float4 *)to", "*(float4 *)to"),
            ("#define BK 16", "#define BK 32"),
        ],
    );
}

#[test]
fn mistakes_in_wmma_are_caught() {
    caught(
        CudaRung::Wmma,
        Shape::new(140, 140, 150),
        &[
            ("wait_for_copies<1>();", "wait_for_copies<2>();"),
            ("__syncthreads();\n        const", "const"),
            ("sums);\n        __syncthreads();", "sums);"),
            ("            __syncwarp();\n            for", "            for"),
            ("row + r < matrix_rows && column", "column"),
        ],
    );
}

#[test]
fn mistakes_in_wgmma_are_caught() {
    caught(
        CudaRung::Wgmma,
        Shape::new(300, 600, 300),
        &[
            ("barrier_wait(slots + BARRIERS + 8 * ring.slot, ring.round);", ""),
            ("multiply_tiles<true>", "multiply_tiles<false>"),
            ("multiply_tiles<false>", "multiply_tiles<true>"),
            ("unsigned i = BEGIN;", "unsigned i = 0;"),
            // A slot that is still being read.
            ("leave(slots, used);\n        used", "leave(slots, ring.slot);\n        used"),
            ("r < m ? (int)n - (int)column : 0", "(int)n - (int)column"),
            ("barrier_wait(empty, ring.round ^ 1);", ""),
            ("wait_for_products<1>();", ""),
            ("products_fence();", ""),
            ("commit_products();", ""),
            ("copy_box_to(0b11,", "copy_box_to(0b01,"),
            ("barrier_expect(full, STAGE_BYTES);", "barrier_expect(full, A_BYTES);"),
            ("swizzle_128_bytes = 1;", "swizzle_128_bytes = 2;"),
            ("BOX_BYTES, 1024);", "1024, 1024);"),
            ("descriptor(a + i * 32,", "descriptor(a + i * 64,"),
            ("(dynamic_shared() + 1023) & ~1023u", "dynamic_shared()"),
            ("CLUSTER * CONSUMER_WARPS)", "CONSUMER_WARPS)"),
            ("16 * warp + 8 * half + lane / 4", "16 * warp + 8 * half + lane % 8"),
            ("if (8 * j < inside) *(float2", "*(float2"),
        ],
    );
}
