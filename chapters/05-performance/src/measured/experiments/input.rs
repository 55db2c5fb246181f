//! What the ways to feed a trainer cost.

use crate::{
    Error, Result,
    input::{
        decode::{Memory, scale},
        gpu,
        pieces::staged_copy,
        prefetch::Prefetch,
        store::{Layout, Store, write},
        stream::{Batches, Epoch, Shuffle, variety},
    },
    memory::meter::peak_of,
};
use backprop::order::order;
use dfdx::prelude::{Const, Cpu, TensorFromVec};
use lab::{Budget, Experiment, Recorder, Samples, data::Split, record::ParamList};
use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use training::{
    Model, Settings,
    any::AllModels as _,
    augment::Warp,
    model::{CLASSES, PIXELS},
    step::Learner,
};

/// Bytes of a record: the label, then the pixels.
const RECORD: usize = 1 + PIXELS;
/// Records of a block.
const BLOCK: usize = 256;
/// Images of a batch.
const BATCH: usize = 128;

lab::keys! {
    /// Training rate of a source and a queue.
    pub RATE: measured "performance.input", ImagesPerSecond, ["model", "source", "queue"];
    /// Seconds to train on a batch.
    pub COMPUTE: measured "performance.input.compute", Seconds, ["model", "threads"];
    /// Seconds to make a batch.
    pub SOURCE: measured "performance.input.source", Seconds, ["source"];
    /// Bytes of the images in memory.
    KEPT: counted "performance.input.kept", Bytes, ["form"];
    /// Seconds to make a batch of them.
    GATHER: measured "performance.input.gather", Seconds, ["form"];
    /// Copied bytes a second.
    pub PIECES: measured "performance.pieces", BytesPerSecond, ["device", "way", "piece"];
    /// Seconds of a copy, of a kernel and of both.
    OVERLAP: measured "performance.pieces.overlap", Seconds, ["device", "what"];
    /// Images a second from a shuffled file.
    STREAM: measured "performance.stream", ImagesPerSecond, ["shuffle", "room"];
    /// Different digits in consecutive records.
    VARIETY: measured "performance.stream.variety", Number, ["shuffle", "room"];
    /// Memory of a stream.
    STREAM_BYTES: measured "performance.stream.bytes", Bytes, ["shuffle", "room"];
    /// The same, before it runs.
    STREAM_PREDICTED: calculated "performance.stream.predicted", Bytes, ["shuffle", "room"];
}

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick RATE.name => &[RATE, COMPUTE, SOURCE, KEPT, GATHER], |rec| Ok(input(rec)?),
            "how fast a model trains from memory, from disk and from packed blocks, with and without prefetch";
        quick STREAM.name => &[STREAM, VARIETY, STREAM_BYTES, STREAM_PREDICTED], |rec| Ok(stream(rec)?),
            "how well and how fast a data set is shuffled on its way from disk, and in how much memory";
        quick PIECES.name => &[PIECES, OVERLAP], |rec| Ok(pieces(rec)?),
            "how fast bytes are copied in pieces of different sizes";
    }
}

/// Images as records, in the order of `index`.
fn records(split: &Split, index: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut records = Vec::with_capacity(split.len() * RECORD);
    for at in index {
        records.push(split.labels[at]);
        records.extend_from_slice(split.image(at));
    }
    records
}

/// A batch in flight: images as floats, and their labels.
type Batch = (Vec<f32>, Vec<u8>);
/// Batches from some source.
type Source = Box<dyn Iterator<Item = Result<Batch>> + Send>;

lab::named! {
    /// Where batches come from.
    enum From("from") {
        Numbers = "numbers",
        Bytes = "bytes",
        Disk = "disk",
        Packed = "packed",
        Warped = "warped",
    }
}

/// What all sources are made of.
struct Data {
    numbers: Arc<Memory>,
    bytes: Arc<Memory>,
    labels: Vec<u8>,
    plain: PathBuf,
    packed: PathBuf,
}

impl Data {
    fn open(&self, from: From, batches: usize) -> Result<Source> {
        let path = match from {
            From::Numbers | From::Bytes => return Ok(self.in_memory(from, batches)),
            From::Disk => &self.plain,
            From::Packed | From::Warped => &self.packed,
        };
        let epoch = Epoch::new(Store::open(path)?, Shuffle::Buffer(8 * BLOCK), 1, 1)?;
        let decode = move |(at, batch): (usize, Result<Vec<u8>>)| {
            let batch = batch?;
            let (rows, _) = batch.as_chunks::<RECORD>();
            let mut images = vec![0.0; rows.len() * PIXELS];
            for (row, (to, from_bytes)) in images.chunks_exact_mut(PIXELS).zip(rows).enumerate() {
                if from == From::Warped {
                    Warp::random(1, 1, at * BATCH + row).apply(&from_bytes[1..], to);
                } else {
                    scale(&from_bytes[1..], to);
                }
            }
            Ok((images, rows.iter().map(|row| row[0]).collect()))
        };
        let batches = Batches::new(epoch, BATCH)?.take(batches).enumerate();
        Ok(Box::new(batches.map(decode)))
    }

    fn in_memory(&self, from: From, batches: usize) -> Source {
        // Shared: making and freeing it is not part of an epoch.
        let memory = Arc::clone(if from == From::Numbers { &self.numbers } else { &self.bytes });
        let labels = self.labels.clone();
        let order = order(1, 1, labels.len());
        let index = (0..batches).map(move |at| order[at * BATCH..(at + 1) * BATCH].to_vec());
        Box::new(index.map(move |index| {
            let images = memory.gather(&index)?;
            Ok((images, index.iter().map(|at| labels[*at]).collect()))
        }))
    }
}

/// Trains on one batch.
fn learn(learner: &mut dyn Learner<Device = Cpu>, dev: &Cpu, (x, labels): Batch) -> Result<()> {
    let mut y = vec![0.0; labels.len() * CLASSES];
    for (row, label) in y.chunks_exact_mut(CLASSES).zip(&labels) {
        row[usize::from(*label).min(CLASSES - 1)] = 1.0;
    }
    let (x, y) = (
        dev.try_tensor_from_vec(x, (labels.len(), Const)).map_err(Error::device)?,
        dev.try_tensor_from_vec(y, (labels.len(), Const)).map_err(Error::device)?,
    );
    learner.step(0.001, x, y).map(drop)
}

/// A model of dfdx in training.
fn learner(dev: &Cpu, model: Model) -> Result<Box<dyn Learner<Device = Cpu>>> {
    dev.learner(&Settings { dropout: 0.0, ..Settings::of(model) })
}

/// Seconds for each batch of what `begin` makes and `work` goes through, several times.
fn seconds_of<S>(
    (batches, times): (usize, usize),
    begin: impl Fn() -> Result<S>,
    mut work: impl FnMut(S) -> Result<()>,
) -> Result<Samples> {
    let mut seconds = Vec::new();
    for _ in 0..=times {
        let begun = begin()?;
        let start = Instant::now();
        work(begun)?;
        seconds.push(start.elapsed().as_secs_f64() / batches as f64);
    }
    seconds.remove(0); // warmed up
    Ok(Samples(seconds))
}

/// The seconds of training from a source through a queue.
fn train(
    model: Model,
    data: &Data,
    (from, queue): (From, Option<usize>),
    runs: (usize, usize),
) -> Result<Samples> {
    let dev = Cpu::seed_from_u64(1);
    let mut learner = learner(&dev, model)?;
    let mut learn = |batch: Result<Batch>| learn(&mut *learner, &dev, batch?);
    let begin = || data.open(from, runs.0);
    seconds_of(runs, begin, |mut source| match queue {
        Some(queue) => Prefetch::new(source, queue)?.try_for_each(&mut learn),
        None => source.try_for_each(&mut learn),
    })
}

/// The seconds of training alone, from batches that are ready.
fn compute(model: Model, data: &Data, runs: (usize, usize)) -> Result<Samples> {
    let dev = Cpu::seed_from_u64(1);
    let mut learner = learner(&dev, model)?;
    let ready: Vec<Batch> = data.open(From::Numbers, runs.0)?.collect::<Result<_>>()?;
    let begin = || Ok(ready.clone());
    seconds_of(runs, begin, |ready| {
        ready.into_iter().try_for_each(|batch| learn(&mut *learner, &dev, batch))
    })
}

fn input(rec: &mut Recorder) -> Result<()> {
    let split = rec.data_set()?.train;
    let folder = tempfile::tempdir().map_err(|e| lab::Error::io(&env::temp_dir(), e))?;
    if split.len() < BATCH || split.pixels() != PIXELS {
        return Err(Error::Config("this needs at least 128 images of 28×28".to_owned()));
    }
    rec.note(RATE.name, &[("source", &"files")]);
    let data = Data {
        numbers: Arc::new(Memory::numbers(&split)),
        bytes: Arc::new(Memory::bytes(&split)),
        labels: split.labels.clone(),
        plain: folder.path().join("plain"),
        packed: folder.path().join("packed"),
    };
    let all = records(&split, 0..split.len());
    for (path, packed) in [(&data.plain, false), (&data.packed, true)] {
        write(path, &all, Layout { record: RECORD, block: BLOCK, packed })?;
    }
    drop(all);
    let full = rec.budget == Budget::Full;
    let (batches, times) = if full { (100, 5) } else { (30, 2) };
    let runs = (batches.min(split.len() / BATCH), times);
    drop(split);
    kept(rec, &data)?;
    // One core is left for the thread that prefetches.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (cores - 1).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Error::Config(format!("the system starts no threads ({e})")))?;
    let queues: &[usize] = if full { &[1, 2, 4, 8] } else { &[2] };
    for from in From::ALL {
        rec.note_at(SOURCE.at(&[("source", &from.name())]));
        let seconds = seconds_of(
            runs,
            || data.open(from, runs.0),
            |mut source| {
                source.try_for_each(|batch| batch.map(|batch| drop(std::hint::black_box(batch))))
            },
        );
        rec.record(SOURCE.at(&[("source", &from.name())]), seconds?);
    }
    for model in [Model::Linear, Model::Mlp] {
        let quantity = COMPUTE.at(&[("model", &model), ("threads", &threads)]);
        rec.note_at(&quantity);
        rec.record(quantity, pool.install(|| compute(model, &data, runs))?);
        for from in From::ALL {
            for queue in [None].into_iter().chain(queues.iter().map(|queue| Some(*queue))) {
                let name = queue.map_or_else(|| "none".to_owned(), |queue| queue.to_string());
                let quantity =
                    RATE.at(&[("model", &model), ("source", &from.name()), ("queue", &name)]);
                rec.note_at(&quantity);
                let seconds = pool.install(|| train(model, &data, (from, queue), runs))?;
                rec.record(quantity, seconds.map(|seconds| BATCH as f64 / seconds));
            }
        }
    }
    Ok(())
}

/// Bytes against floats in memory.
fn kept(rec: &mut Recorder, data: &Data) -> Result<()> {
    let index = order(2, 1, data.labels.len());
    for (form, memory) in [("bytes", &data.bytes), ("numbers", &data.numbers)] {
        let list: ParamList = &[("form", &form)];
        rec.one(KEPT.at(list), memory.size() as f64);
        memory.gather(&index[..BATCH])?; // an error shows here
        let mut batches = index.chunks_exact(BATCH).cycle();
        rec.time(GATHER.at(list), || {
            if let Some(index) = batches.next() {
                std::hint::black_box(memory.gather(index).is_ok());
            }
        });
    }
    Ok(())
}

/// A whole epoch: its labels in the order in which they came.
fn labels(path: &Path, shuffle: Shuffle, epoch: usize) -> Result<Vec<u8>> {
    let epoch = Epoch::new(Store::open(path)?, shuffle, 5, epoch)?;
    let mut labels = Vec::new();
    for batch in Batches::new(epoch, BATCH)? {
        labels.extend(batch?.chunks_exact(RECORD).map(|record| record[0]));
    }
    Ok(labels)
}

fn stream(rec: &mut Recorder) -> Result<()> {
    let split = rec.data_set()?.train;
    let folder = tempfile::tempdir().map_err(|e| lab::Error::io(&env::temp_dir(), e))?;
    // The worst case for a shuffle: all zeros first, then all ones, …
    let mut sorted: Vec<usize> = (0..split.len()).collect();
    sorted.sort_by_key(|at| split.labels[*at]);
    let all = records(&split, sorted.into_iter());
    drop(split);
    let paths = [1, BLOCK].map(|block| (block, folder.path().join(block.to_string())));
    for (block, path) in &paths {
        write(path, &all, Layout { record: RECORD, block: *block, packed: false })?;
    }
    let total = all.len() / RECORD;
    drop(all);
    let [(_, single), (_, blocks)] = &paths;
    let ways = [
        ("none", BLOCK, Shuffle::None, blocks),
        ("window", BLOCK, Shuffle::Window(1), blocks),
        ("window", 8 * BLOCK, Shuffle::Window(8), blocks),
        ("window", 32 * BLOCK, Shuffle::Window(32), blocks),
        ("buffer", 7 * BLOCK, Shuffle::Buffer(7 * BLOCK), blocks),
        ("buffer", 31 * BLOCK, Shuffle::Buffer(31 * BLOCK), blocks),
        ("whole", 1, Shuffle::Window(1), single),
    ];
    let times = if rec.budget == Budget::Full { 7 } else { 1 };
    for (shuffle, room, how, path) in ways {
        let list: ParamList = &[("shuffle", &shuffle), ("room", &room)];
        rec.note_at(STREAM.at(list));
        let predicted = Epoch::needs(&Store::open(path)?, how) + 2 * BATCH * RECORD;
        let mut seen = vec![0; total];
        // Its peak, without what the measuring itself keeps.
        let (done, peak) = peak_of(|| -> Result<()> {
            let epoch = Epoch::new(Store::open(path)?, how, 5, 1)?;
            let mut at = 0;
            for batch in Batches::new(epoch, BATCH)? {
                for record in batch?.chunks_exact(RECORD) {
                    seen[at] = record[0];
                    at += 1;
                }
            }
            Ok(())
        });
        done?;
        let (mut rates, mut varieties) = (Vec::new(), vec![variety(&seen, 32)]);
        for epoch in 0..times {
            let start = Instant::now();
            let seen = labels(path, how, 2 + epoch)?;
            rates.push(seen.len() as f64 / start.elapsed().as_secs_f64());
            varieties.push(variety(&seen, 32));
        }
        rec.record(STREAM.at(list), Samples(rates));
        rec.record(VARIETY.at(list), Samples(varieties));
        rec.one(STREAM_BYTES.at(list), peak as f64);
        rec.one(STREAM_PREDICTED.at(list), predicted as f64);
    }
    Ok(())
}

fn pieces(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    let total: usize = if full { 256 << 20 } else { 64 << 20 };
    let sizes: Vec<usize> =
        (8..=26).step_by(2).map(|power| 1 << power).filter(|size| *size <= total).collect();
    let from = vec![1_u8; total];
    let mut to = vec![0_u8; total];
    for piece in &sizes {
        let rate = PIECES.at(&[("device", &"cpu"), ("way", &"staged"), ("piece", piece)]);
        let mut stage = vec![0; *piece];
        rec.time_rate(rate, total as f64, || staged_copy(&from, &mut to, &mut stage));
    }
    drop(to);
    if let Some(why) = gpu::missing() {
        rec.skip_all(&[("device", &"cuda")], why);
        return Ok(());
    }
    let mut link = gpu::Link::new(total)?;
    let times = if full { 11 } else { 3 };
    let pinned = link.pinned(total)?;
    let held = pinned.as_slice().map_err(|e| Error::Device(e.to_string()))?;
    for piece in sizes {
        // Small pieces one after the other would take minutes.
        let total = total.min(piece * 4096);
        let rate = |seconds: f64| total as f64 / seconds;
        for (way, source) in [("pageable", &from[..]), ("pinned", held)] {
            let mut rates = Vec::new();
            for _ in 0..times {
                rates.push(rate(link.send(&source[..total], piece)?));
            }
            let quantity = PIECES.at(&[("device", &"cuda"), ("way", &way), ("piece", &piece)]);
            rec.record(quantity, Samples(rates));
        }
    }
    let pinned = link.pinned(total / 4)?;
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..times {
        let now = link.overlap(&pinned)?;
        seconds.iter_mut().zip(now).for_each(|(all, now)| all.push(now));
    }
    for (what, seconds) in ["kernel", "copy", "both"].into_iter().zip(seconds) {
        rec.record(OVERLAP.at(&[("device", &"cuda"), ("what", &what)]), Samples(seconds));
    }
    Ok(())
}
