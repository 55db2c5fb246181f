//! Graphs without a GPU, by chapter 2's stand-ins for NVIDIA's driver and NVRTC: nothing that is put into a stream happens
//! before a wait, and the first error ends the program.
//!
//! The test is a program of its own that finds the stand-ins by `LD_LIBRARY_PATH`. Where there is no C++ compiler, it is
//! skipped.
#![cfg(target_os = "linux")]

use cpu_gpu::gpu::{self, Arg, Gpu, Kernel, Launch, read_all, upload, write_all};
use engine::{
    backend::Backend as _,
    program::What,
    ranks::{self, Failed, Ranks},
    record::Recorder,
    rule::ALONE,
    tensor::{Place, Tensor},
};
use performance::gpu::{Gpu as Device, cast::FORM, graph::Graph};
use stand_ins::{count, inside};

#[path = "../../02-cpu-gpu/tests/fake_cuda/stand_ins.rs"] // for tests alone, so in no library
mod stand_ins;

/// A kernel that the stand-in can do: y is x halved, plus one.
const MAP: &str = concat!(
    include_str!("../../02-cpu-gpu/kernels/portable.h"),
    include_str!("../../02-cpu-gpu/kernels/map.cl")
);

/// Runs the ignored test `name` with the stand-ins.
fn run(name: &str) {
    let Some(cxx) = stand_ins::compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    stand_ins::build_driver(&cxx, folder.path(), &[]);
    stand_ins::build(&cxx, folder.path(), "nvrtc.cpp", "libnvrtc.so.13", &[]);
    stand_ins::run(name, folder.path(), &[]);
}

fn map(gpu: &dyn Gpu) -> Kernel {
    gpu.compile(MAP, &[], "map").unwrap()
}

fn launch(gpu: &dyn Gpu, kernel: &Kernel, from: Arg, to: Arg, count: usize) -> cpu_gpu::Result<()> {
    gpu.launch(kernel, Launch::new([1, 1], [64, 1]), &[from, to, Arg::U32(count as u32)])
}

#[test]
fn a_graph_replays_what_was_captured_on_what_the_buffers_hold_now() {
    run("inner_graph");
}

#[test]
#[ignore = "runs in a program of its own"]
fn inner_graph() {
    if !inside() {
        return;
    }
    let gpu = gpu::open("cuda").unwrap();
    let cuda = gpu.as_cuda().unwrap();
    let kernel = map(&*gpu);
    let x = upload(&*gpu, &[4.0_f32, 8.0]).unwrap();
    let y = upload(&*gpu, &[-1.0_f32; 2]).unwrap();
    let twice = || {
        launch(&*gpu, &kernel, Arg::Buffer(&x), Arg::Buffer(&y), 2)?;
        launch(&*gpu, &kernel, Arg::Buffer(&y), Arg::Buffer(&x), 2)
    };
    // SAFETY: kernel and buffers are dropped after the graph.
    let graph = unsafe { Graph::capture(cuda, twice) }.unwrap();
    assert_eq!(read_all::<f32>(&*gpu, &y, 2).unwrap(), [-1.0; 2], "capturing has run it");
    graph.replay().unwrap();
    assert_eq!(read_all::<f32>(&*gpu, &y, 2).unwrap(), [3.0, 5.0]);
    write_all(&*gpu, &x, &[2.0_f32, 0.0]).unwrap();
    graph.replay().unwrap();
    graph.replay().unwrap();
    assert_eq!(read_all::<f32>(&*gpu, &x, 2).unwrap(), [2.0, 1.875]);

    // What fails while it is recorded leaves a stream that works.
    let wrong = || gpu.launch(&kernel, Launch::new([1, 1], [64, 1]), &[]);
    // SAFETY: as above.
    let Err(error) = (unsafe { Graph::capture(cuda, wrong) }) else { panic!("it is captured") };
    assert!(error.to_string().contains("takes 3 arguments"), "{error}");
    twice().unwrap();
    gpu.finish().unwrap();
    graph.replay().unwrap(); // dropped while it runs
    drop(graph);
    drop((kernel, x, y));
    drop(gpu);
    assert_eq!(left(), 0, "not everything was given back");
}

/// Two ranks with the same numbers.
struct Alike;

impl Ranks for Alike {
    fn meet(&mut self, _: What, _: usize, _: &[f32], numbers: &mut [f32]) -> Result<(), Failed> {
        for number in numbers {
            *number *= 2.0;
        }
        Ok(())
    }
}

#[test]
fn what_is_between_two_meetings_of_ranks_is_one_graph() {
    run("inner_program");
}

#[test]
#[ignore = "runs in a program of its own"]
fn inner_program() {
    if !inside() {
        return;
    }
    let gpu = gpu::open("cuda").unwrap();
    let [with, without] = [true, false].map(|graphs| {
        let mut device = Device::new(&*gpu).with_ranks(Alike);
        device.graphs = graphs;
        let places = [(Place::Input, 0), (Place::Gradient, 64), (Place::Params, 0)];
        let [x, y, z] = places.map(|(place, start)| Tensor::new(place, start, 1, 3));
        let mut cx = Recorder::new(ALONE, FORM);
        let copy = |cx: &mut Recorder, from: Tensor, to: Tensor| {
            let (reads, writes) = ([from.whole()], [to.by_rows()]);
            cx.rows("copy", 1, reads, writes, |_, [from], [to]| to.copy_from_slice(from))
                .launches(ranks::copy(3));
        };
        copy(&mut cx, x, y);
        cx.collective(What::Sum, 0, None, Some(y));
        copy(&mut cx, y, z);
        for tensor in [x, y, z] {
            device.allocate(tensor.place, tensor.start + 3);
        }
        let loaded = device.load(cx.finish());
        let before = left();
        for (number, words) in [(1.0, 3), (2.0, 3), (3.0, 300), (4.0, 300)] {
            device.allocate(Place::Input, words); // a larger one lies elsewhere
            device.write(x, &[number; 3]);
            device.run(&loaded);
            assert_eq!(*device.read(z), [2.0 * number; 3]);
            device.check().unwrap();
        }
        left() - before
    });
    assert_eq!(with - without, 4, "two graphs, with what is made of each");
    drop(gpu);
    assert_eq!(left(), 0, "not everything was given back");
}

/// What was not returned to the stand-in.
fn left() -> i64 {
    count("libcuda.so", "fake_left\0")
}
