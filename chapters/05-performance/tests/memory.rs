//! Predictions of memory against the meter, and limits that are kept. They have a program of their own, and take turns
//! in it: the meter counts every thread.

use dfdx::prelude::Cpu;
use lab::data::drawn;
use performance::{
    input::{
        prefetch::Prefetch,
        store::{Layout, Store, write},
        stream::{Batches, Epoch, Shuffle},
    },
    learner::{by_engine, needs},
    memory::meter::{Scope, peak_of},
};
use std::sync::{Mutex, PoisonError};
use training::{
    EngineKind, Model, Settings, any::AllModels as _, engine::Resident, fit::TEST_BATCH,
    memory::bytes_of_a_picture, step::Batch,
};

/// One measuring test at a time, in a thread whose own memory is gone when the next one begins.
fn alone(work: impl FnOnce() + Send + 'static) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(panic) = std::thread::spawn(work).join() {
        std::panic::resume_unwind(panic);
    }
}

/// The peak of two steps of dfdx, from the empty machine on.
fn measured(model: Model, images: usize) -> u64 {
    let data = Resident::new(&Cpu::default(), &drawn(images, 1, 1).train).unwrap();
    let index: Vec<usize> = (0..images).collect();
    settled(|| {
        let mut learner = Cpu::seed_from_u64(1).learner(&Settings::of(model)).unwrap();
        for _ in 0..2 {
            let (x, y) = (data.images(&index).unwrap(), data.targets(&index).unwrap());
            learner.step(0.001, x, y).unwrap();
        }
    })
}

/// The least peak of `work` when it runs again. From a thread's first product on the libraries keep memory of its own, and the
/// system decides which thread has one in which run.
fn settled(mut work: impl FnMut()) -> u64 {
    work();
    (0..3).map(|_| peak_of(&mut work).1).min().unwrap_or_default()
}

#[track_caller]
fn within_a_tenth(what: &str, predicted: u64, measured: u64) {
    let off = measured as f64 / predicted as f64 - 1.0;
    println!("{what}: predicted {predicted}, measured {measured}, off by {:.2}%", 100.0 * off);
    assert!(off.abs() < 0.1, "{what}: predicted {predicted}, measured {measured}");
}

#[test]
fn the_meter_counts_what_is_there() {
    alone(|| {
        let scope = Scope::begin();
        // Megabytes: what the harness takes and frees on other threads meanwhile is not a hundredth of one.
        let near = |now: u64, wanted: u64| now.abs_diff(wanted * 1_000_000) < 10_000;
        // The compiler leaves out what nobody looks at.
        let one = std::hint::black_box(vec![1_u8; 1_000_000]);
        let mut two: Vec<u8> = std::hint::black_box(vec![0; 2_000_000]); // comes zeroed
        assert!(near(scope.now(), 3), "{}", scope.now());
        two.reserve_exact(3_000_000); // grows
        assert!(near(scope.now(), 6), "{}", scope.now());
        drop(one);
        drop(two);
        assert!(near(scope.now(), 0) && scope.peak() >= 5_990_000, "{}", scope.peak());
        scope.reset();
        assert!(scope.peak() < 10_000, "{}", scope.peak());
        let from_a_thread = std::thread::spawn(|| vec![7_u8; 1_000_000]).join().unwrap();
        assert!(near(scope.now(), 1), "{}", scope.now());
        drop(from_a_thread);
    });
}

/// Chapter 4 refuses a batch of dfdx by these numbers.
#[test]
fn every_image_of_a_step_takes_what_it_says() {
    alone(|| {
        for model in Model::ALL {
            let each = (measured(model, 256) - measured(model, 64)) / 192;
            within_a_tenth(model.name(), bytes_of_a_picture(model), each);
        }
    });
}

/// What the plan says is what is allocated, byte for byte: for every model, in any batch, in pieces and in segments. Beside the
/// buffers there are the lists of calls, and what products of large matrices lay out for themselves.
#[test]
fn the_plan_and_the_meter_agree() {
    alone(|| {
        for (model, images, accumulate, recompute) in Model::ALL.into_iter().flat_map(|model| {
            [
                (model, 1, None, 0),
                (model, 300, None, 0),
                (model, 300, Some(128), 0),
                (model, 300, None, 3),
                (model, 300, Some(77), 2),
            ]
        }) {
            let data = Resident::new(&Cpu::default(), &drawn(images, 1, 1).train).unwrap();
            let index: Vec<usize> = (0..images).collect();
            let engine = EngineKind::Fast;
            let settings = Settings { engine, accumulate, recompute, ..Settings::of(model) };
            let dev = Cpu::seed_from_u64(1);
            let scope = Scope::begin();
            let mut learner = by_engine(&dev, &settings).unwrap();
            scope.reset();
            for _ in 0..2 {
                let batch = Batch::of(&data, &index);
                learner.step_on(0.001, &batch).unwrap();
            }
            // Between two steps a run predicts.
            let index: Vec<usize> = (0..TEST_BATCH).map(|at| at % images).collect();
            learner.scores(data.images(&index).unwrap()).unwrap();
            let (buffers, wanted) = (scope.buffers(), needs(&settings, images).total());
            assert_eq!(buffers, wanted, "{settings:?}");
            let beside = scope.peak() - buffers;
            assert!(beside < 3 << 20, "{model}, {images}: {beside} bytes beside the buffers");
        }
    });
}

#[test]
fn a_data_set_larger_than_the_limit_streams_through_it() {
    alone(|| {
        const LIMIT: u64 = 1 << 20;
        const RECORD: usize = 785;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set");
        let count = 20_000_u32;
        let mut all = vec![0; count as usize * RECORD]; // 15 times the limit
        for (number, record) in (0..count).zip(all.chunks_exact_mut(RECORD)) {
            record[..4].copy_from_slice(&number.to_le_bytes());
        }
        for packed in [false, true] {
            write(&path, &all, Layout { record: RECORD, block: 128, packed }).unwrap();
            for shuffle in [Shuffle::Window(4), Shuffle::Buffer(512)] {
                let mut seen = vec![false; count as usize];
                let needs = Epoch::needs(&Store::open(&path).unwrap(), shuffle);
                let ((), peak) = peak_of(|| {
                    let epoch = Epoch::new(Store::open(&path).unwrap(), shuffle, 7, 1).unwrap();
                    // One batch in use, one in the queue, one in the thread's hands, one that it begins.
                    let batches = Batches::new(epoch, 64).unwrap();
                    for batch in Prefetch::new(batches, 1).unwrap() {
                        for record in batch.unwrap().chunks_exact(RECORD) {
                            let number = u32::from_le_bytes(record[..4].try_into().unwrap());
                            assert!(!std::mem::replace(&mut seen[number as usize], true));
                        }
                    }
                });
                assert!(seen.iter().all(|seen| *seen));
                let predicted = needs + 4 * 64 * RECORD;
                println!(
                    "packed {packed}, {shuffle:?}: at most {predicted} predicted, {peak} measured"
                );
                assert!(peak <= predicted as u64 + 60_000, "{peak} and {predicted}"); // unpacking needs its own
                assert!(peak < LIMIT, "{peak}");
            }
        }
    });
}
