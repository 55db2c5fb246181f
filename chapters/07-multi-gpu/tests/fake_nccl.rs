//! The engine NCCL without a GPU, between processes: chapter 2's stand-ins for NVIDIA's driver and compiler, and one for
//! NCCL (`fake_nccl/`). Each rank is a program of its own that finds them by `LD_LIBRARY_PATH`. Where there is no C++
//! compiler, the tests are skipped.
#![cfg(target_os = "linux")]

use cpu_gpu::gpu;
use cudarc::driver::sys;
use engine::{
    backend::Backend as _,
    program::What,
    record::Recorder,
    rule::ALONE,
    tensor::{Place, Tensor},
};
use lab::Device;
use lab::testing::refused;
use multi_gpu::{
    Communicator, Error, PointToPoint, Rank,
    comm::{
        gpus::{Joined, over_nccl},
        nccl::{Nccl, unique_id},
    },
    replicas::{
        link::{Link, broken_gradients},
        run::{engine, train_learner},
        show::twenty_steps,
    },
    split::{
        equality::largest,
        group::{ALL, DATA},
        hybrid::{Grid, Settings as Split},
        ranks::Peers,
    },
    threads,
};
use performance::gpu::{Gpu, cast::FORM};
use performance::learner::of;
use stand_ins::count;
use std::{
    path::PathBuf,
    ptr,
    sync::{Arc, Mutex},
};
use training::{Config, Model, Settings, Silent, dfdx::prelude::Cpu};

mod laws;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../../02-cpu-gpu/tests/fake_cuda/stand_ins.rs"] // for tests alone, so in no library
mod stand_ins;

/// A folder with the stand-ins, or `None` with a note.
fn fakes() -> Option<tempfile::TempDir> {
    let cxx = stand_ins::compiler()?;
    let folder = tempfile::tempdir().unwrap();
    stand_ins::build_driver(&cxx, folder.path(), &[]);
    stand_ins::build(&cxx, folder.path(), "nvrtc.cpp", "libnvrtc.so.13", &[]);
    let driver = folder.path().join("libcuda.so.1").display().to_string();
    let nccl = "../../../07-multi-gpu/tests/fake_nccl/nccl.cpp";
    stand_ins::build(&cxx, folder.path(), nccl, "libnccl.so.2", &[&driver]);
    Some(folder)
}

/// Runs the ignored test `name` as one program for each of `ranks`, with these variables.
#[track_caller]
fn run(name: &str, ranks: usize, variables: &[(&str, &str)]) {
    let Some(fakes) = fakes() else { return };
    let programs: Vec<_> = (0..ranks)
        .map(|rank| {
            stand_ins::program(name, fakes.path())
                .env("FAKE_NCCL", fakes.path())
                .env("FAKE_RANK", format!("{rank} {ranks}"))
                .envs(variables.iter().copied())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for program in programs {
        stand_ins::passed(&program.wait_with_output().unwrap());
    }
}

/// This program's rank and how many there are, if it is one of [`run`]'s.
fn inside() -> Option<(Rank, usize)> {
    let said = std::env::var("FAKE_RANK").ok()?;
    let (rank, size) = said.split_once(' ').unwrap();
    Some((Rank(rank.parse().unwrap()), size.parse().unwrap()))
}

/// Joins the others; rank 0's unique id goes by a file.
fn join(rank: Rank, size: usize) -> Nccl {
    let file = PathBuf::from(std::env::var("FAKE_NCCL").unwrap()).join("id");
    if rank == Rank(0) {
        std::fs::write(file.with_extension("new"), unique_id().unwrap()).unwrap();
        std::fs::rename(file.with_extension("new"), &file).unwrap();
    }
    let id = (0..3000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        std::fs::read(&file).ok()
    });
    Nccl::with_id(rank, size, &id.unwrap().try_into().unwrap(), "cuda").unwrap()
}

#[test]
fn the_trait_means_the_same_between_gpus() {
    for ranks in [1, 2, 3] {
        run("inner_collectives", ranks, &[]);
    }
}

#[test]
#[ignore = "runs in programs of its own"]
fn inner_collectives() {
    let Some((me, size)) = inside() else { return };
    let mut comm = join(me, size);
    assert_eq!((comm.rank(), comm.size()), (me, size));
    laws::hold(&mut comm, 1000).unwrap();
    laws::split(comm).unwrap();
    assert_eq!(count("libnccl.so.2", "fake_comms_left\0"), 0);
    assert_eq!(count("libcuda.so", "fake_left\0"), 0, "not everything was given back");
}

#[test]
fn the_id_goes_round_by_another_engine() {
    run("inner_join", 1, &[("WANTED", &format!("{:?}", [1.0, f32::MAX]))]);
}

#[test]
fn replicas_train_by_it_as_by_threads() {
    run("inner_train", 2, &[]);
}

/// The engine that starts the ranks is NCCL itself here; it hands round the id of the one that sums.
#[test]
#[ignore = "runs in programs of its own"]
fn inner_train() {
    let Some((me, size)) = inside() else { return };
    let Joined { comm, told, here } = over_nccl(join(me, size), Device::Cuda(0)).unwrap();
    assert_eq!((told, here), (None, size));
    let link = Link::new(comm);
    for model in [Model::Mlp, Model::Resnet] {
        let (config, data) = twenty_steps(model);
        let config = Config { settings: Settings { epochs: 2, ..config.settings }, ..config };
        let settings = &config.settings;
        let of = |link: &Link| {
            let dev = Cpu::seed_from_u64(settings.seed);
            let engine = engine(link, &dev, settings, of(settings))?.seeded(settings)?;
            let watcher = &mut Silent;
            let reached = train_learner(Box::new(engine), &dev, link, &config, &data, watcher)?;
            Ok(reached.0.weights)
        };
        let by_threads = threads::run(size, |comm| of(&Link::new(Arc::new(Mutex::new(comm)))));
        let (by_nccl, by_threads) = (of(&link).unwrap(), by_threads.unwrap().swap_remove(0));
        let most = largest(&by_nccl, &by_threads);
        assert!(most < 1e-5, "{model}: {most}");
    }
}

#[test]
fn a_sum_begins_behind_its_event() {
    run("inner_event", 2, &[("FAKE_HOST_MEMORY", "1")]);
}

/// The numbers come by a stream of their own, and nobody waits for it but the sum.
#[test]
#[ignore = "runs in programs of its own"]
fn inner_event() {
    let Some((me, size)) = inside() else { return };
    let mut comm = join(me, size);
    let (mut row, come) = ([f32::NAN; 5], [me.0 as f32 + 1.0; 5]);
    let at = row.as_mut_ptr() as u64;
    let (mut stream, mut event) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the stand-in's own calls, with pointers that live until the end.
    unsafe {
        sys::cuStreamCreate(&raw mut stream, 1).result().unwrap();
        sys::cuEventCreate(&raw mut event, 2).result().unwrap();
        sys::cuMemcpyHtoDAsync_v2(at, come.as_ptr().cast(), 20, stream).result().unwrap();
        sys::cuEventRecord(event, stream).result().unwrap();
        let gpus = comm.in_place().unwrap();
        gpus.begin_sum((at, 5), Some(event as u64)).unwrap();
        sys::cuEventDestroy_v2(event).result().unwrap();
    }
    assert!(row[0].is_nan(), "it does not wait");
    comm.in_place().unwrap().wait().unwrap();
    assert_eq!(row.to_vec(), [3.0; 5]);
}

#[test]
fn a_program_sums_where_its_numbers_lie() {
    run("inner_program", 2, &[]);
}

/// A whole sum of a tensor that becomes another one, and two buckets that begin before the first ends.
#[test]
#[ignore = "runs in programs of its own"]
fn inner_program() {
    let Some((me, size)) = inside() else { return };
    let gpu = gpu::open("cuda").unwrap();
    let groups = [(); 3].map(|()| (0..size).map(Rank).collect());
    let peers = Peers { comm: Arc::new(Mutex::new(join(me, size))), groups, thread: None };
    let mut device = Gpu::new(&*gpu).with_ranks(peers);
    let of = |place, start, len| Tensor::new(place, start, 1, len);
    let [x, y, all] = [(Place::Input, 3), (Place::Kept, 3), (Place::Gradient, 7)]
        .map(|(place, len)| of(place, 0, len));
    let buckets = [of(Place::Gradient, 4, 3), of(Place::Gradient, 0, 4)];
    let mut cx = Recorder::new(ALONE, FORM);
    cx.collective(What::Sum, ALL, Some(x), Some(y));
    for bucket in &buckets {
        cx.collective(What::Begin, DATA, Some(*bucket), None);
    }
    for bucket in &buckets {
        cx.collective(What::End, DATA, None, Some(*bucket));
    }
    for tensor in [x, y, all] {
        device.allocate(tensor.place, tensor.words());
    }
    let loaded = device.load(cx.finish());
    for number in [1.0, 10.0] {
        let mine = number * (me.0 as f32 + 1.0);
        device.write(x, &[mine; 3]);
        device.write(all, &[0, 1, 2, 3, 4, 5, 6].map(|at| mine * at as f32));
        device.run(&loaded);
        device.check().unwrap();
        let sum = 3.0 * number;
        assert_eq!(*device.read(x), [mine; 3]);
        assert_eq!(*device.read(y), [sum; 3]);
        assert_eq!(*device.read(all), [0, 1, 2, 3, 4, 5, 6].map(|at| sum * at as f32));
    }
    assert_eq!(count("libnccl.so.2", "fake_sums\0"), 2 * 3);
    drop((loaded, device));
    drop(gpu);
    assert_eq!(count("libcuda.so", "fake_left\0"), 0, "not everything was given back");
}

#[test]
fn a_rank_whose_gradient_is_broken_is_named_though_its_numbers_stay_where_they_lie() {
    run("inner_broken", 2, &[]);
}

#[test]
#[ignore = "runs in programs of its own"]
fn inner_broken() {
    let Some((me, size)) = inside() else { return };
    let gpu = gpu::open("cuda").unwrap();
    let comm = over_nccl(join(me, size), Device::Cuda(0)).unwrap().comm;
    let (link, model) = (Link::new(comm), of(&Settings::of(Model::Linear)));
    let joint = link.join(&model, &Split::of(Grid::replicas_of(size))).unwrap().1;
    let value = if me == Rank(1) { f32::NAN } else { 1.0 };
    let why = laws::summed(&link, Gpu::new(&*gpu).with_ranks(joint), (299, value));
    let why = why.unwrap_err().to_string();
    assert_eq!(why, broken_gradients(&[1]).to_string());
}

#[test]
fn a_rank_that_is_lost_ends_the_wait() {
    run("inner_lost", 1, &[("FAKE_NCCL_HANG", "1")]);
    run("inner_lost", 1, &[("FAKE_NCCL_HANG", "1"), ("BEGUN", "1")]);
}

#[test]
#[ignore = "runs in a program of its own"]
fn inner_lost() {
    let Some((me, size)) = inside() else { return };
    let mut comm = join(me, size);
    let lost = || Err(Error::Lost { rank: Rank(1), why: "its process has ended".into() });
    comm.watch = Some(Box::new(lost));
    let begun = std::time::Instant::now();
    let lost = if std::env::var("BEGUN").is_ok() {
        let mut row = [1.0_f32];
        let gpus = comm.in_place().unwrap();
        // SAFETY: nobody sums them, for the stand-in never comes to it.
        unsafe { gpus.begin_sum((row.as_mut_ptr() as u64, 1), None).unwrap() };
        gpus.wait()
    } else {
        comm.all_reduce(&mut [1.0])
    };
    refused(lost, ["rank 1", "its process has ended"]);
    assert!(begun.elapsed().as_secs_f64() < 5.0, "before its patience of ten seconds is over");
    refused(comm.all_reduce(&mut [1.0]), ["given up before"]);
}

#[test]
fn what_fails_is_told_with_a_way_out() {
    for (fail, wanted) in [
        ("ncclGetUniqueId", "NCCL can't make a name for all ranks (result 2): the system refused"),
        ("ncclCommInitRank", "NCCL can't meet the other ranks (result 2)"),
        ("ncclAllReduce", "NCCL can't sum over all ranks (result 2)"),
    ] {
        run("inner_join", 1, &[("FAKE_NCCL_FAIL", fail), ("WANTED", wanted)]);
    }
}

/// The sum of a rank that is alone, or why there is none.
#[test]
#[ignore = "runs in a program of its own"]
fn inner_join() {
    if inside().is_none() {
        return;
    }
    let sum = threads::run(1, |mut thread| {
        let mut data = [1.0, f32::MAX];
        Nccl::join(&mut thread, "cuda")?.all_reduce(&mut data)?;
        Ok(format!("{data:?}"))
    });
    let words = sum.map_or_else(|error| error.to_string(), |sums| sums.concat());
    let wanted = std::env::var("WANTED").unwrap();
    assert!(words.contains(&wanted), "{words}");
    assert_eq!(count("libnccl.so.2", "fake_comms_left\0"), 0);
}

#[test]
fn without_nccl_all_ranks_hear_why() {
    // A machine that has NCCL finds it here.
    let failed = threads::run(2, |mut thread| Nccl::join(&mut thread, "cuda").map(|_| ()));
    let words = failed.unwrap_err().to_string();
    assert!(words.contains("NCCL") || words.contains("cuda"), "{words}");
}
