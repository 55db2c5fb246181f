//! The test of the exercise `buckets`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::gpu::{self, Api};
use exercise::{Gradient, buckets, end};
use lab::{Samples, Unit, check::near, random::SplitMix64};
use multi_gpu::comm::{AlphaBeta, cost, nccl::Nccl};
use multi_gpu::threads::{self, Threads};
use multi_gpu::{Communicator, Error, Rank, Result, communicator::InPlace as _};
use std::time::Instant;

/// `count` gradients and a link. Some gradients have no bytes, some take no time; some links have no start-up cost, and
/// one all-reduce can take anything between much less and much more than the backward pass.
fn example(count: usize, random: &mut SplitMix64) -> (Vec<Gradient>, AlphaBeta) {
    let mut some = |most: f64| if random.below(5) == 0 { 0.0 } else { most * random.unit() };
    let (large, slow) = (some(100.0), some(4.0));
    let (alpha, beta) = (some(3.0), some(0.1));
    let mut gradient = || Gradient { seconds: some(slow), bytes: some(large) };
    ((0..count).map(|_| gradient()).collect(), AlphaBeta { alpha, beta })
}

/// The best of all splits: between two gradients there is a cut or none.
fn by_trying_all(gradients: &[Gradient], link: AlphaBeta) -> (f64, Vec<usize>) {
    let timed = |cut: u32| {
        let places: Vec<usize> = (0..gradients.len()).collect();
        let buckets = places.chunk_by(|at, _| (cut >> at) & 1 == 0);
        let sizes: Vec<usize> = buckets.map(<[usize]>::len).collect();
        (end(gradients, link, &sizes), sizes)
    };
    let all = (0..1_u32 << gradients.len().saturating_sub(1)).map(timed);
    all.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there is one without a cut")
}

/// Your buckets, if they take each gradient once.
#[track_caller]
fn checked(gradients: &[Gradient], link: AlphaBeta) -> Vec<usize> {
    let yours = buckets(gradients, link);
    assert!(!yours.contains(&0), "{yours:?}: a bucket has no gradient");
    let taken: usize = yours.iter().sum();
    assert_eq!(taken, gradients.len(), "{yours:?}: so many gradients are in a bucket");
    yours
}

#[test]
fn no_split_ends_earlier() {
    let mut random = SplitMix64::new(7);
    for case in 0..400 {
        let (gradients, link) = example(case % 12, &mut random);
        let (yours, (least, best)) = (checked(&gradients, link), by_trying_all(&gradients, link));
        let time = end(&gradients, link, &yours);
        let case = format!("{link:?}, {gradients:?}: {yours:?} ends at {time}");
        assert!(time <= least * (1.0 + 1e-12), "{case}, and {best:?} at {least}");
    }
}

#[test]
fn the_ends_of_the_scale() {
    let gradients = [Gradient { seconds: 1.0, bytes: 1.0 }; 6];
    let time = |alpha, beta| {
        let link = AlphaBeta { alpha, beta };
        end(&gradients, link, &checked(&gradients, link))
    };
    near(time(0.0, 0.5), 6.5, 1e-9, "without start-ups all but the last is hidden");
    near(time(100.0, 0.5), 109.0, 1e-9, "a second start-up costs more than all else");
    assert_eq!(checked(&[], AlphaBeta { alpha: 1.0, beta: 1.0 }), [0; 0], "there is no gradient");
}

#[test]
fn a_deep_network_is_no_problem() {
    let mut random = SplitMix64::new(11);
    for _ in 0..3 {
        let (gradients, link) = example(1000, &mut random);
        let time = end(&gradients, link, &checked(&gradients, link));
        for size in 1..=1000 {
            let mut others = vec![size; 1000 / size];
            others.extend((1000 % size > 0).then_some(1000 % size));
            let other = end(&gradients, link, &others);
            let case = format!("1000 gradients, {link:?}: yours ends at {time}");
            assert!(time <= other * (1.0 + 1e-12), "{case}, and buckets of {size} at {other}");
        }
    }
}

/// Shown where there are two GPUs or more, not demanded: what was predicted, and what NCCL takes.
#[test]
fn on_gpus() {
    let cards = gpu::devices().found.into_iter().filter(|about| about.api == Api::Cuda);
    let cards: Vec<String> = cards.map(|about| about.id).collect();
    if cards.len() < 2 {
        println!("NVIDIA GPUs here: {}. With two or more, this test compares.", cards.len());
        return;
    }
    match threads::run(cards.len(), |comm| compare(comm, &cards)) {
        Ok(said) => println!("{}", said[0]),
        Err(error) => println!("the GPUs could not be compared: {error}"),
    }
}

/// Bytes of the gradients of twelve layers as GPT-2's, backwards: matrices of 768 columns, and small vectors.
fn sizes() -> Vec<f64> {
    let layer = [3072 * 768, 768, 768 * 3072, 3072, 768, 768 * 768, 768, 3 * 768 * 768, 2304, 768];
    layer.repeat(12).into_iter().map(|numbers| 4.0 * f64::from(numbers)).collect()
}

/// The median of some times, in seconds since all ranks have passed a barrier.
fn median(comm: &mut Threads, mut work: impl FnMut(Instant) -> Result<()>) -> Result<f64> {
    let mut samples = Samples::default();
    for _ in 0..11 {
        comm.barrier()?;
        let start = Instant::now();
        work(start)?;
        samples.0.push(start.elapsed().as_secs_f64());
    }
    Ok(samples.median())
}

/// One rank's part of the comparison, on its card: the lines to print.
fn compare(mut comm: Threads, cards: &[String]) -> Result<String> {
    let card = &cards[comm.rank().0];
    let mut nccl = Nccl::join(&mut comm, card)?;
    let (sizes, gpu) = (sizes(), gpu::open(card)?);
    let most = sizes.iter().sum::<f64>();
    let buffer = gpu.alloc(most as usize)?;
    gpu.write(&buffer, &vec![0; most as usize])?;
    let cuda = gpu.as_cuda().ok_or_else(|| Error::Config(format!("{card} is no CUDA device")))?;
    let address = cuda.address(&buffer)?;
    let mut all_reduce = |bytes: f64| {
        // SAFETY: the buffer is on this rank's card and has all gradients' bytes; nothing else uses it.
        unsafe { nccl.begin_sum((address, bytes as usize / 4), None)? };
        nccl.wait()
    };

    let mut measured = Vec::new();
    for bytes in [4e3, 16e3, 64e3, 256e3, 1e6, 4e6, 16e6, 64e6, 256e6] {
        measured.push((bytes, median(&mut comm, |_| all_reduce(bytes))?));
    }
    // All ranks have to cut in the same way, so that rank 0's fit is that of all.
    let fitted = cost::fit(&measured).unwrap_or(AlphaBeta { alpha: 0.0, beta: 0.0 });
    let mut link = [fitted.alpha as f32, fitted.beta as f32];
    comm.broadcast(Rank(0), &mut link)?;
    let link = AlphaBeta { alpha: link[0].into(), beta: link[1].into() };

    // Overlap gains most where computing takes as long as sending.
    let per_byte = link.message(most) / most;
    let gradient = |bytes: f64| Gradient { seconds: per_byte * bytes, bytes };
    let gradients: Vec<Gradient> = sizes.into_iter().map(gradient).collect();
    let seconds = |seconds: f64| Unit::Seconds.format(seconds);
    let (cards, count) = (comm.size(), gradients.len());
    let (alpha, beta) = (seconds(link.alpha), seconds(1e9 * link.beta));
    let mut said = format!(
        "{cards} GPUs, {count} gradients: an all-reduce takes {alpha} and {beta} a gigabyte"
    );
    for (name, split) in [
        ("your buckets", checked(&gradients, link)),
        ("each gradient", vec![1; gradients.len()]),
        ("all at the end", vec![gradients.len()]),
    ] {
        let took = median(&mut comm, |start| {
            let (mut ready, mut rest) = (0.0, &gradients[..]);
            for bucket in &split {
                let (these, others) = rest.split_at(*bucket);
                ready += these.iter().map(|gradient| gradient.seconds).sum::<f64>();
                // The backward pass is a clock here: it takes its time, and no part of the card.
                while start.elapsed().as_secs_f64() < ready {
                    std::hint::spin_loop();
                }
                all_reduce(these.iter().map(|gradient| gradient.bytes).sum())?;
                rest = others;
            }
            Ok(())
        })?;
        let (count, predicted) = (split.len(), end(&gradients, link, &split));
        let (predicted, took) = (seconds(predicted), seconds(took));
        said += &format!("\n{name:14} ({count:3}): predicted {predicted}, measured {took}");
    }
    Ok(said)
}
