//! Communication behind computation: gradients are reduced in buckets while the backward pass still runs.
//!
//! The backward pass knows the last layer's gradient first. A thread of its own, with the rank's communicator, sums it
//! up over the ranks while the layers before are still computed (Li and others 2020, "`PyTorch` Distributed", section
//! 3.2).

use super::{
    data_parallel::{self, LOSS},
    group::{DATA, lock},
    zero::last_writer,
};
use crate::{Communicator, Error, Rank, Result, comm::AlphaBeta};
use engine::{
    program::{Call, What},
    record::Recorder,
    tensor::{Place, Tensor},
};
use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

// ANCHOR: bucket
/// Bytes of a bucket of the command's replicas, at least: about α/β of the
/// rings between threads that `measure multi_gpu.alpha_beta` fits.
pub const BUCKET: usize = 128 << 10;
// ANCHOR_END: bucket

/// A thread that sums up buckets over the ranks, one after the other.
#[derive(Debug)]
pub struct CommThread {
    rank: Rank,
    to: Option<Sender<Vec<f32>>>,
    from: Receiver<Result<Vec<f32>>>,
    thread: Option<JoinHandle<()>>,
}

impl CommThread {
    /// A thread that speaks for this rank.
    ///
    /// # Errors
    /// [`Error::Config`] if the machine has no thread for it.
    // ANCHOR: line
    pub fn open<C>(comm: Arc<Mutex<C>>) -> Result<Self>
    where
        C: Communicator + ?Sized + 'static,
    {
        let rank = lock(&comm).rank();
        let (to, buckets) = channel::<Vec<f32>>();
        let (sums, from) = channel();
        let work = move || {
            for mut bucket in buckets {
                let sum = lock(&comm).all_reduce(&mut bucket).map(|()| bucket);
                let failed = sum.is_err();
                if sums.send(sum).is_err() || failed {
                    return; // the other end is gone
                }
            }
        };
        let thread = thread::Builder::new().spawn(work);
        let thread = thread.map_err(|error| no_thread(&error))?;
        Ok(Self { rank, to: Some(to), from, thread: Some(thread) })
    }
    // ANCHOR_END: line

    /// Hands over a bucket, and does not wait.
    pub fn send(&self, bucket: Vec<f32>) {
        // If the thread has ended, `sum` returns why.
        let _ = self.to.as_ref().map(|to| to.send(bucket));
    }

    /// Waits for the next bucket's sum. The communicator never waits forever, so neither does this.
    ///
    /// # Errors
    /// The communicator's.
    pub fn sum(&self) -> Result<Vec<f32>> {
        let ended =
            Error::Lost { rank: self.rank, why: "its communication thread has ended".into() };
        self.from.recv().unwrap_or(Err(ended))
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::Config(format!("there is no thread to communicate with: {error}; run fewer ranks"))
}

impl Drop for CommThread {
    fn drop(&mut self) {
        drop(self.to.take()); // the thread ends after what it has
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Buckets of at least so many bytes, from the end of the buffer to its start: gradients come in this order.
pub fn buckets(layers: &[Range<usize>], bytes: usize) -> Vec<Range<usize>> {
    let (mut buckets, mut end) = (Vec::new(), None);
    for (at, layer) in layers.iter().enumerate().rev() {
        let until = *end.get_or_insert(layer.end);
        if at == 0 || 4 * (until - layer.start) >= bytes {
            buckets.push(layer.start..until);
            end = None;
        }
    }
    buckets
}

/// A bucket's gradients.
fn gradients(bucket: &Range<usize>) -> Tensor {
    Tensor::new(Place::Gradient, bucket.start, 1, bucket.len())
}

/// Sums gradients over the replicas. The sum of an `early` bucket begins behind the last call that writes to it; the `last` bucket is
/// there when all is computed, and is summed when the others' sums have ended. Who is watched looks at each bucket before its sum.
pub fn sums(cx: &mut Recorder, early: &[Range<usize>], last: &Range<usize>, watch: Option<Tensor>) {
    let look = |cx: &mut Recorder, bucket: Tensor| {
        if let Some(watch) = watch {
            cx.of(LOSS, |cx| data_parallel::broken(cx, bucket, watch));
        }
    };
    let calls = std::mem::take(&mut cx.program.calls);
    // ANCHOR: sums
    let writers = early.iter().map(|bucket| last_writer(&calls, bucket));
    let writers: Vec<_> = writers.collect();
    let mut begun = 0;
    for (at, call) in calls.into_iter().enumerate() {
        cx.program.calls.push(call);
        // In one order on all ranks, whatever the order of the calls.
        while begun < early.len() && writers[begun] <= Some(at) {
            let given = gradients(&early[begun]);
            look(cx, given); // a sum would spread infinities and NaN
            cx.collective(What::Begin, DATA, Some(given), None);
            begun += 1;
        }
    }
    look(cx, gradients(last));
    for bucket in early {
        let sum = Some(gradients(bucket));
        cx.collective(What::End, DATA, None, sum);
    }
    data_parallel::sum(cx, gradients(last));
    // ANCHOR_END: sums
}

/// Seconds of a step behind its loss, from what its calls took: of each operation's gradient, from the last one on, and until
/// the last sum has ended.
pub fn seconds<'a>(calls: impl Iterator<Item = (&'a Call, f64)>) -> (Vec<f64>, f64) {
    let (mut layers, mut all): (Vec<(&str, f64)>, _) = (Vec::new(), 0.0);
    for (call, seconds) in calls.skip_while(|(call, _)| call.op != "loss") {
        if call.op == "loss" || call.op == LOSS {
            continue;
        }
        all += seconds;
        match layers.last_mut() {
            Some((op, sum)) if *op == call.op => *sum += seconds,
            _ if call.op.ends_with(" backward") => layers.push((&call.op, seconds)),
            _ => {}
        }
    }
    (layers.into_iter().map(|layer| layer.1).collect(), all)
}

/// When the last bucket is summed up, in seconds since the backward pass began, if layer i's gradient of `layers[i].0`
/// numbers takes `layers[i].1` seconds (from the last layer on), on a wire of this cost.
// ANCHOR: predict
pub fn predict(
    layers: &[(usize, f64)],
    bucket: usize, // bytes
    link: AlphaBeta,
    ranks: usize,
) -> f64 {
    let (mut computed, mut free, mut full) = (0.0, 0.0_f64, 0);
    for (at, (numbers, seconds)) in layers.iter().enumerate() {
        computed += seconds;
        full += numbers;
        if 4 * full >= bucket || at + 1 == layers.len() {
            // Each bucket waits until it is full and the wire is free.
            free = free.max(computed) + link.ring(4.0 * full as f64, ranks);
            full = 0;
        }
    }
    free
}
// ANCHOR_END: predict
