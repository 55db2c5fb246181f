//! The way through NVIDIA's libraries, without a GPU: `fake_cuda/` has stand-ins for the driver, NVRTC and cuBLAS, which
//! do on the CPU what the manuals say, later than a GPU would, and end the program at the first bug in their use.
//! Each test is a program of its own that finds them by `LD_LIBRARY_PATH`, as it would the real ones.
//!
//! Where there is no C++ compiler (the variable `CXX`, c++, g++ or clang++), the tests are skipped.

use crate::{
    device::{cublas_multiplies, does_what_every_device_does, map, problem, rungs_are_right},
    stand_ins::{self, compiler, count},
};
use cpu_gpu::{
    gpu::{
        self, Api, Arg, Buffer, Gpu, Kernel, Launch, copying, cublas::Cublas, devices, nvrtc,
        nvrtc::Nvrtc, read_all, write_all,
    },
    ladder::LADDER,
    measured::experiments::ladder::{self, rungs},
    tensor_cores::{CudaInputs, CudaRung, CudaTiles},
};
use lab::testing::refused;
use lab::{
    Budget, Device, Experiment, chapter,
    progress::Progress,
    record::{Run, Value},
    testing::{Tool, need},
};
use matmul::Shape;
use std::{path::Path, sync::OnceLock, time::Instant};

/// Folders with stand-ins, made once for all tests.
struct Fakes {
    folder: tempfile::TempDir,
}

impl Fakes {
    fn get() -> Option<&'static Self> {
        static FAKES: OnceLock<Fakes> = OnceLock::new();
        let cxx = compiler()?;
        Some(FAKES.get_or_init(|| Self::make(&cxx)))
    }

    /// `all` has every library, `old` a driver of CUDA 12.0, `driver` nothing else, `no-cublas` all but that.
    fn make(cxx: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [all, old] = ["all", "old"].map(|name| folder.path().join(name));
        stand_ins::build_driver(cxx, &all, &[]);
        stand_ins::build(cxx, &all, "nvrtc.cpp", "libnvrtc.so.13", &[]);
        let with = format!("{}/libcuda.so.1", all.display());
        stand_ins::build(cxx, &all, "cublas.cpp", "libcublas.so.13", &[&with]);
        stand_ins::build_driver(cxx, &old, &["-DBEFORE_12_4"]);
        for (to, libraries) in [
            (old, &["libnvrtc.so.13"][..]),
            (folder.path().join("driver"), &["libcuda.so.1", "libcuda.so"]),
            (folder.path().join("no-cublas"), &["libcuda.so.1", "libcuda.so", "libnvrtc.so.13"]),
        ] {
            std::fs::create_dir_all(&to).unwrap();
            for library in libraries {
                std::fs::copy(all.join(library), to.join(library)).unwrap();
            }
        }
        Self { folder }
    }
}

/// Runs the test that calls this once more, as a program of its own for each folder of stand-ins (`none`: none) and its
/// variables. That program does what is `inside`.
#[track_caller]
fn alone<F: Fn()>(programs: &[(&str, &[(&str, &str)])], inside: F) {
    if stand_ins::inside() {
        return inside();
    }
    let Some(fakes) = Fakes::get() else { return };
    // `it::fake_cuda::TEST::{{closure}}`
    let name = std::any::type_name::<F>().split("::").skip(1).take(2).collect::<Vec<_>>();
    for (folder, variables) in programs {
        stand_ins::run(&name.join("::"), &fakes.folder.path().join(folder), variables);
    }
}

/// The one reason why CUDA can't be used here.
fn why() -> String {
    let devices = devices();
    assert!(devices.found.iter().all(|about| about.api != Api::Cuda), "{:?}", devices.found);
    let mut why = devices.missing.into_iter().filter(|missing| missing.api == Api::Cuda);
    let one = why.next().unwrap().why;
    assert!(why.next().is_none() && !one.contains('\n'), "{one}");
    let Err(error) = gpu::open("cuda") else { panic!("it opens") };
    assert!(error.to_string().contains(&one), "{error}");
    one
}

/// The map, launched on one number.
fn launched_map(gpu: &dyn Gpu, x: &Buffer) -> Kernel {
    let kernel = map(gpu, 1);
    let args = [Arg::Buffer(x), Arg::Buffer(x), Arg::U32(1)];
    gpu.launch(&kernel, Launch::new([1, 1], [256, 1]), &args).unwrap();
    kernel
}

#[test]
fn a_gpu_is_described_fed_and_given_back() {
    alone(&[("all", &[("FAKE_GPUS", "2")])], || {
        let found = devices().found;
        let ids: Vec<&str> = found.iter().map(|about| about.id.as_str()).collect();
        assert_eq!(ids, ["cuda", "cuda:1"]);
        let about = &found[1];
        assert_eq!((about.name.as_str(), about.driver.as_str()), ("Fake GPU 1", "CUDA 13.0"));
        assert_eq!((about.compute_units, about.compute_capability), (132, Some((9, 0))));
        assert_eq!((about.memory, about.shared_memory, about.max_block), (1 << 30, 232_448, 1024));
        assert_eq!(about.clock_hz, Some(1.98e9));
        assert_eq!(gpu::open_all().len(), 2);

        let gpu = gpu::open("cuda").unwrap();
        does_what_every_device_does(&*gpu);

        // An f32.
        let source = "KERNEL void scale(GLOBAL const float *x, GLOBAL float *y, float factor)";
        let scale = gpu.compile(source, &[], "scale").unwrap();
        let [x, y] = [(); 2].map(|()| gpu.alloc(512).unwrap());
        write_all(&*gpu, &x, &[64.0_f32, 65.0]).unwrap();
        let args = [Arg::Buffer(&x), Arg::Buffer(&y), Arg::F32(-1.5)];
        gpu.launch(&scale, Launch::new([1, 1], [2, 1]), &args).unwrap();
        assert_eq!(read_all::<f32>(&*gpu, &y, 2).unwrap(), [-96.0, -97.5]);

        // Two kernels of 2 ms and the second event, which takes a quarter.
        let args = [Arg::Buffer(&x), Arg::Buffer(&y), Arg::F32(1.0)];
        let mut twice = || {
            gpu.launch(&scale, Launch::new([1, 1], [2, 1]), &args)?;
            gpu.launch(&scale, Launch::new([1, 1], [2, 1]), &args)
        };
        let seconds = gpu.seconds(&mut twice).unwrap();
        assert!((seconds - 4.25e-3).abs() < 1e-9, "{seconds}");

        // Dropped while they run: module, buffers and device wait for what is in the stream.
        let (z, once) = (gpu.alloc(512).unwrap(), map(&*gpu, 1));
        let args = [Arg::Buffer(&x), Arg::Buffer(&z), Arg::F32(1.0)];
        gpu.launch(&scale, Launch::new([1, 1], [2, 1]), &args).unwrap();
        drop(scale);
        gpu.launch(&once, Launch::new([1, 1], [2, 1]), &args).unwrap();
        drop(z);
        drop(gpu); // before its buffers
        drop((x, y, once));
        assert_eq!(count("libcuda.so", "fake_left\0"), 0, "not everything was given back");
        assert_eq!(count("libnvrtc.so.13", "fake_programs_left\0"), 0);
        assert!(count("libcuda.so", "fake_calls\0") > 100);
    });
}

#[test]
fn mistakes_on_a_gpu_get_a_sentence() {
    alone(&[("all", &[("FAKE_MEMORY", "100000")])], || {
        let gpu = gpu::open("cuda").unwrap();
        let kept = gpu.alloc(60_000).unwrap();
        refused(gpu.alloc(60_000), ["Fake GPU 0 can't reserve 60000 bytes: it is out of memory"]);
        drop(kept);
        let x = gpu.alloc(60_000).unwrap(); // and it goes on

        for words in ["`wrong` does not compile for sm_90", "wrong.cu(3): error: oops is undefined"]
        {
            refused(gpu.compile("KERNEL oops", &[], "wrong"), [words]);
        }

        let kernel = map(&*gpu, 1);
        let good = Launch::new([1, 1], [256, 1]);
        let (a, n) = (Arg::Buffer(&x), Arg::U32(1));
        for (launch, args, wanted) in [
            (good, &[a, a, a][..], "argument 2 of `map` has 4 bytes, and it is given 8"),
            (good, &[a, n, n], "argument 1 of `map` has 8 bytes, and it is given 4"),
            (Launch::new([1, 1], [513, 1]), &[a, a, n], "it takes from 1 to 512"),
            (Launch::new([1, 70_000], [1, 1]), &[a, a, n], "70000 blocks along y"),
        ] {
            refused(gpu.launch(&kernel, launch, args), [wanted]);
        }
        let cuda = gpu.as_cuda().unwrap();
        assert!(cuda.allow_shared(&kernel, 232_448).is_ok());
        refused(cuda.allow_shared(&kernel, 232_449), ["wants 232449 bytes of shared memory"]);
        gpu.launch(&kernel, good, &[a, a, n]).unwrap();
        gpu.finish().unwrap();

        let (other, mark) = (gpu::open("cuda").unwrap(), gpu.mark().unwrap());
        refused(read_all::<f32>(&*other, &x, 1), ["the buffer belongs to another device"]);
        refused(other.launch(&kernel, good, &[]), ["the kernel belongs to another device"]);
        refused(other.between(&mark, &mark), ["the mark belongs to another device"]);
    });
}

#[test]
fn products_by_cublas_equal_the_reference() {
    alone(&[("all", &[])], || {
        let gpu = gpu::open("cuda").unwrap();
        cublas_multiplies(
            &*gpu,
            &[[1, 1, 1], [3, 5, 7], [17, 1, 2], [0, 3, 2], [2, 0, 3], [8, 16, 4]],
        );
        // As the truck: there, multiplied, and back.
        drop(gpu);
        assert_eq!(count("libcublas.so.13", "fake_handles_left\0"), 0);
        assert_eq!(count("libcuda.so", "fake_left\0"), 0);
    });
}

#[test]
fn a_driver_of_cuda_12_0_tells_less_and_does() {
    alone(&[("old", &[("FAKE_VERSION", "13000")])], || {
        let gpu = gpu::open("cuda").unwrap();
        let x = gpu.alloc(4).unwrap();
        write_all(&*gpu, &x, &[8.0_f32]).unwrap();
        launched_map(&*gpu, &x);
        assert_eq!(read_all::<f32>(&*gpu, &x, 1).unwrap(), [5.0]);
    });
}

#[test]
fn what_is_missing_is_told_and_nothing_panics() {
    let cases = [
        ("none", "FAKE_GPUS", "1", "this machine has no NVIDIA driver"),
        ("all", "FAKE_VERSION", "11080", "speaks CUDA 11.8, and the course needs 12.0"),
        ("all", "FAKE_GPUS", "0", "CUDA_VISIBLE_DEVICES"),
        ("all", "FAKE_INIT", "34", "a stub for linking"),
        ("all", "FAKE_INIT", "803", "restart the machine"),
        ("all", "THROUGHPUT_DEVICE", "cpu", "THROUGHPUT_DEVICE=cpu leaves GPUs out"),
        ("driver", "FAKE_GPUS", "1", "there is no NVRTC"),
        ("all", "FAKE_VERSION", "12040", "only for CUDA 13, and the NVIDIA driver speaks CUDA 12"),
    ];
    // A real driver or toolkit of this machine would be found where a stand-in is left out.
    let real = Path::new("/usr/local/cuda").exists() || Path::new("/dev/nvidiactl").exists();
    let told = |folder: &str, why: &str| !real || folder == "all" && !why.starts_with("only for");
    let cases = cases.into_iter().filter(|(folder, _, _, why)| told(folder, why));
    let cases = cases.map(|(folder, name, value, why)| (folder, [(name, value), ("WANTED", why)]));
    let cases: Vec<_> = cases.collect();
    let programs: Vec<_> = cases.iter().map(|(folder, set)| (*folder, &set[..])).collect();
    alone(&programs, || {
        let (why, wanted) = (why(), std::env::var("WANTED").unwrap());
        assert!(why.contains(&wanted), "{why}");
        // OpenCL's library, where there is one, is shown no drivers here.
        let devices = devices();
        let opencl = devices.missing.iter().find(|missing| missing.api == Api::OpenCl).unwrap();
        assert!(devices.found.is_empty() && opencl.why.contains("install"), "{devices:?}");
    });
}

#[test]
fn a_gpu_without_cublas_is_used_without_it() {
    if Path::new("/usr/local/cuda").exists() {
        need::<()>(Tool::System, Err("this machine has a CUDA toolkit"));
        return;
    }
    alone(&[("no-cublas", &[])], || {
        let gpu = gpu::open("cuda").unwrap();
        refused(Cublas::new(gpu.as_cuda().unwrap()), ["there is no cuBLAS"]);
        map(&*gpu, 1);
        assert!(Nvrtc::load().is_ok());
    });
}

#[test]
fn a_kernel_that_fails_is_told_when_it_is_waited_for() {
    alone(&[("all", &[])], || {
        let gpu = gpu::open("cuda").unwrap();
        let x = gpu.alloc(4).unwrap();
        let _kernel = launched_map(&*gpu, &x);
        // SAFETY: this test's program has one thread that reads variables, this one.
        unsafe { std::env::set_var("FAKE_FAULT", "700") };
        let error = gpu.finish().unwrap_err().to_string();
        assert!(error.contains("read or written outside of its memory"), "{error}");
        assert!(error.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    });
}

#[test]
fn the_rungs_of_cuda_alone_are_launched_as_their_kernels_want() {
    alone(&[("all", &[("FAKE_CLUSTERS", "2")])], || {
        let gpu = gpu::open("cuda").unwrap();
        let cuda = gpu.as_cuda().unwrap();
        // Lengths that fit no tile, that fit some, none, and nothing to add. Two clusters at once, and up to six pairs of
        // tiles: the stand-in refuses more.
        let shapes =
            [[1, 1, 1], [131, 77, 259], [256, 64, 512], [300, 20, 700], [5, 0, 7], [0, 3, 2]];
        let shape = Shape::new(130, 20, 260);
        rungs_are_right(cuda, &shapes, shape);
        let [rung, other, last] = CudaRung::ALL;
        let inputs = |rung: CudaRung| {
            let problem = problem(rung, shape);
            CudaInputs::new(cuda, rung, &problem.a, &problem.b, shape).unwrap()
        };

        // A descriptor is made for each input, not for each launch.
        let (before, inputs_of_last) = (count("libcuda.so", "fake_maps\0"), inputs(last));
        let compiled = last.compile(cuda, shape).unwrap();
        let c = gpu.alloc(4 * shape.m * shape.n).unwrap();
        for _ in 0..5 {
            compiled.launch(cuda, &inputs_of_last, Arg::Buffer(&c)).unwrap();
        }
        compiled.finish(cuda).unwrap();
        assert_eq!(count("libcuda.so", "fake_maps\0") - before, 2);
        let launched = compiled.launch(cuda, &inputs(other), Arg::Buffer(&c));
        refused(launched, ["not made for `wgmma`"]);

        // What is compiled once stays, until someone wants to see how long it takes.
        let compiled = || count("libnvrtc.so.13", "fake_programs_compiled\0");
        let before = compiled();
        rung.compile(cuda, shape).unwrap();
        assert_eq!(compiled(), before);
        nvrtc::forget();
        rung.compile(cuda, shape).unwrap();
        nvrtc::remember();
        rung.compile(cuda, Shape::new(4, 8, 12)).unwrap();
        assert_eq!(compiled(), before + 1);
        rung.compile(cuda, Shape::new(4, 7, 12)).unwrap(); // other macros
        assert_eq!(compiled(), before + 2);

        let rates = copying::bandwidth(&*gpu, 20_000, 3, 2).unwrap();
        // Three copies of 2 ms each and the second event.
        assert!(rates.0.iter().all(|rate| (rate - 3.0 * 8.0 * 20_000.0 / 6.25e-3).abs() < 1.0));
    });
}

/// An RTX card, whose blocks have less than half of an H100's shared memory, and one that is newer than its NVRTC.
#[test]
fn another_card_has_the_rungs_that_fit_it() {
    let card = |capability, target| {
        let small = [("FAKE_SHARED", "101376"), ("FAKE_MEMORY", "64000000")];
        [("FAKE_CAPABILITY", capability), ("WANTED", target), small[0], small[1]]
    };
    let cards = [card("89", "sm_89"), card("120", "compute_90")];
    alone(&[("all", &cards[0]), ("all", &cards[1])], || {
        let gpu = gpu::open("cuda").unwrap();
        let cuda = gpu.as_cuda().unwrap();
        let target = Nvrtc::load().unwrap().target(cuda.capability(), "");
        assert_eq!(target, std::env::var("WANTED").unwrap());
        drop(gpu);
        let (run, _) = climb(|r| rungs(r, Some(&[24])));
        for rung in ladder::rung_names() {
            assert_eq!(values(&run, rung).is_empty(), rung == "wgmma", "{rung}: {:?}", run.skipped);
        }
        let timed = values(&run, "async_copy");
        let timed = timed.iter().filter(|v| v.key == "cpu_gpu.ladder.tiles").count();
        assert_eq!(timed, 5, "the two largest of {} need more than 99 KiB", CudaTiles::ALL.len());
        let why = run.skipped.iter().find(|s| s.params.get("rung").is_some_and(|r| r == "wgmma"));
        assert!(why.unwrap().why.contains("Hopper"), "{why:?}");
    });
}

/// The chapter's ladder on small products, and a record of what was kept on the way.
fn climb(run: fn(&mut lab::Recorder) -> lab::Result<()>) -> (Run, usize) {
    let experiment = Experiment { run, ..ladder::all().remove(0) };
    let mut kept = 0;
    let run = chapter::run_keeping(
        &experiment,
        Budget::Quick,
        Device::Cpu,
        None,
        &Progress::hidden(),
        &mut |_| {
            kept += 1;
            Ok(())
        },
    );
    (run.unwrap(), kept)
}

/// The values of a rung on the GPU.
fn values<'r>(run: &'r Run, rung: &'r str) -> Vec<&'r Value> {
    let of = |v: &&Value| v.param("device") == Some("cuda") && v.param("rung") == Some(rung);
    run.values.iter().filter(of).collect()
}

#[test]
fn the_whole_ladder_is_measured_on_a_gpu() {
    alone(&[("all", &[("FAKE_MEMORY", "8000000")])], || {
        let (run, kept) = climb(|r| rungs(r, Some(&[24, 33])));
        for rung in ladder::rung_names() {
            let values = values(&run, rung);
            for n in ["24", "33"] {
                let rate = |v: &&&Value| v.key == ladder::RATE.name && v.param("n") == Some(n);
                assert_eq!(values.iter().filter(rate).count(), 1, "{rung} {n}: {:?}", run.skipped);
            }
            if !rung.starts_with("cublas") {
                for key in [ladder::COMPILE, ladder::OF_CUBLAS] {
                    assert!(values.iter().any(|v| v.key == key.name), "{rung}: {}", key.name);
                }
            }
        }
        for (rung, tiles) in [("async_copy", CudaTiles::ALL.len()), ("warp_tiles", 7)] {
            let timed =
                values(&run, rung).iter().filter(|v| v.key == "cpu_gpu.ladder.tiles").count();
            assert_eq!(timed, 2 * tiles, "{rung}");
        }
        assert!(run.values.iter().any(|v| v.key == ladder::BANDWIDTH.name));
        // What is written in Rust has programs of its own, which know this card to be none.
        let cuda = |s: &&lab::record::Skipped| {
            let is = |name: &str, it: &dyn Fn(&str) -> bool| {
                s.params.get(name).is_some_and(|value| it(value))
            };
            let own = |rung: &str| rung.starts_with("tile") || rung == "cube";
            is("device", &|device| device == "cuda") && !is("rung", &own)
        };
        assert_eq!(run.skipped.iter().find(cuda), None);
        assert_eq!(kept, 2, "after each size");
        assert_eq!(count("libcuda.so", "fake_left\0"), 0, "not everything was given back");
    });
}

/// Where a rung reads outside of its memory, the context is gone, and with it the sizes that follow: the record says why.
#[test]
fn a_lost_gpu_is_a_reason_in_the_record() {
    alone(&[("all", &[("FAKE_FAULT_KERNEL", "wmma"), ("FAKE_MEMORY", "8000000")])], || {
        let (run, kept) = climb(|r| rungs(r, Some(&[24, 40])));
        assert_eq!(kept, 2);
        for rung in LADDER.iter().map(|rung| rung.name).chain(["wmma", "cublas"]) {
            let lost = run.skipped.iter().filter(|s| s.key == ladder::RATE.name);
            let lost = lost.filter(|s| s.params.get("rung").is_some_and(|r| r == rung)).count();
            assert_eq!(lost, 2, "{rung}");
        }
        assert!(
            run.values.iter().any(|v| v.key == ladder::BANDWIDTH.name),
            "what was there is kept"
        );
    });
}

#[test]
fn a_kernel_that_does_not_end_is_given_up() {
    let waits = |how| [("FAKE_HANG", "map"), ("THROUGHPUT_GPU_PATIENCE", "0.2"), ("HOW", how)];
    let [finish, read, write] = ["finish", "read", "write"].map(waits);
    alone(&[("all", &finish), ("all", &read), ("all", &write)], || {
        let gpu = gpu::open("cuda").unwrap();
        let x = gpu.alloc(4).unwrap();
        let kernel = launched_map(&*gpu, &x);
        let began = Instant::now();
        let waited = match &*std::env::var("HOW").unwrap() {
            "read" => read_all::<f32>(&*gpu, &x, 1).map(drop),
            "write" => write_all(&*gpu, &x, &[1.0_f32]),
            _ => gpu.finish(),
        };
        refused(waited, ["does not end", "THROUGHPUT_GPU_PATIENCE"]);
        assert!((0.2..5.0).contains(&began.elapsed().as_secs_f64()));
        // From here on every call of the driver that waits would wait forever (the stand-in ends the program there).
        refused(gpu.alloc(4).map(drop), ["ran longer than it may"]);
        drop((x, kernel));
        drop(gpu);
    });
}
