//! What every engine owes to its ranks, whatever carries their numbers: a body that all ranks of an engine run. The test
//! programs have it as a module by `#[path]`.

use engine::{
    backend::Backend,
    cpu::Cpu,
    record::Recorder,
    rule::ALONE,
    tensor::{Place, Tensor},
};
use multi_gpu::{
    Communicator, Rank, Result,
    comm::{Algorithm, naive, ring, tree},
    rank::part_of,
    replicas::link::Link,
    split::{
        data_parallel,
        equality::{Strategy, difference, example},
        group::{lock, size},
        hybrid::{Grid, Member},
        job::{Trained, one_device},
        overlap,
        ranks::original,
        schedule::Schedule,
        zero::Level,
    },
};
use std::sync::{Arc, Mutex};
use training::team::Team as _;

type Collective<C> = fn(&mut C, &mut [f32]) -> Result<()>;
type Rooted<C> = fn(&mut C, Rank, &mut [f32]) -> Result<()>;

/// Whole numbers, whose sums are exact in any order.
fn whole(rank: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7 + rank * 13) % 101) as f32 - 50.0).collect()
}

/// Numbers without a pattern, from -1 to 1, whose sums round.
fn fractions(rank: usize, len: usize) -> Vec<f32> {
    let mix = |i: usize| (i * 2_654_435_761 + rank * 40_503 + 12_345) % 65_521;
    (0..len).map(|i| mix(i) as f32 / 32_760.5 - 1.0).collect()
}

/// What a rank says in bytes: as numbers these are NaN of both kinds, −0, a subnormal one and others; lengths differ, and
/// rank 0 says nothing.
fn bytes(rank: usize) -> Vec<u8> {
    let odd = [0x7f80_0001_u32, 0xffc1_2345, 0x8000_0000, 1].map(u32::to_le_bytes).concat();
    let more = (0..257).map(|i| (i * 37 + rank) as u8 | [0, 0, 0x80, 0x7f][i % 4]);
    odd.into_iter().chain(more).cycle().take(257 * rank).collect()
}

/// Holds all collective operations of an engine, its own and those from scratch, to what they mean, for up to `longest`
/// numbers. Returns this rank's sum of numbers that round.
pub fn hold<C: Communicator>(comm: &mut C, longest: usize) -> Result<Vec<f32>> {
    let (me, size) = (comm.rank(), comm.size());
    let sum_by = |way: Option<Algorithm>, comm: &mut C, data: &mut [f32]| match way {
        Some(algorithm) => algorithm.all_reduce(comm, data),
        None => comm.all_reduce(data),
    };
    let ways: Vec<_> = Algorithm::ALL.into_iter().map(Some).chain([None]).collect();
    let halves: [(Collective<C>, Collective<C>); 2] =
        [(C::reduce_scatter, C::all_gather), (ring::reduce_scatter, ring::all_gather)];
    let reduces: [Rooted<C>; 2] = [naive::reduce, tree::reduce];
    let broadcasts: [Rooted<C>; 3] = [C::broadcast, naive::broadcast, tree::broadcast];
    for len in [0, 1, 2, 7, 8, 101, longest] {
        let all: Vec<_> = (0..size).map(|rank| whole(rank, len)).collect();
        let sum: Vec<f32> = (0..len).map(|i| all.iter().map(|x| x[i]).sum()).collect();
        let own = part_of(len, me, size);
        for way in &ways {
            let mut data = all[me.0].clone();
            sum_by(*way, comm, &mut data)?;
            assert_eq!(data, sum, "{way:?}");
        }
        for (scatter, gather) in halves {
            let mut data = all[me.0].clone();
            scatter(comm, &mut data)?;
            assert_eq!(data[own.clone()], sum[own.clone()]);
            // What is not this rank's own does not affect what follows.
            for (at, x) in data.iter_mut().enumerate() {
                *x = if own.contains(&at) { *x } else { f32::NAN };
            }
            gather(comm, &mut data)?;
            assert_eq!(data, sum);
        }
        for root in (0..size).map(Rank) {
            for reduce in reduces {
                let mut data = all[me.0].clone();
                reduce(comm, root, &mut data)?;
                assert!(me != root || data == sum);
            }
            for broadcast in broadcasts {
                let mut data = all[me.0].clone();
                broadcast(comm, root, &mut data)?;
                assert_eq!(data, all[root.0]);
            }
        }
    }
    let (all, mut sum): (Vec<_>, _) = ((0..size).map(|r| fractions(r, 999)).collect(), Vec::new());
    for way in ways {
        sum.clone_from(&all[me.0]);
        sum_by(way, comm, &mut sum)?;
        for (at, got) in sum.iter().enumerate() {
            let over = |f: fn(f64) -> f64| all.iter().map(|x| f(f64::from(x[at]))).sum::<f64>();
            // Each of the p − 1 additions rounds by half a unit at most.
            let bound = size as f64 * f64::from(f32::EPSILON) * over(f64::abs);
            assert!((f64::from(*got) - over(|x| x)).abs() <= bound, "{way:?}: {got}");
        }
        let bits: Vec<u8> = sum.iter().flat_map(|x| x.to_le_bytes()).collect();
        let others = comm.all_gather_bytes(&bits)?;
        assert!(others.iter().all(|other| *other == bits), "{way:?}: sums differ");
    }
    let said: Vec<_> = (0..size).map(bytes).collect();
    assert_eq!(comm.all_gather_bytes(&said[me.0])?, said);
    for (root, wanted) in said.iter().enumerate() {
        let mut told = said[me.0].clone();
        comm.broadcast_bytes(Rank(root), &mut told)?;
        assert_eq!(told, *wanted);
    }
    comm.barrier()?;
    Ok(sum)
}

/// Holds trainings that are split over all ranks of an engine to one device's; eight ranks are a cube.
pub fn split<C: Communicator + 'static>(comm: C) -> Result<()> {
    let cube = Grid { data: 2, stages: 2, tensor: 2 };
    let others = [
        Strategy::Overlap(1 << 15),
        Strategy::Layers,
        Strategy::Pipeline(Schedule::OneForwardOneBackward, 3),
        Strategy::Tensor,
    ];
    let zero = Level::ALL.map(Strategy::Zero);
    let ways = if comm.size() == 8 {
        vec![Strategy::Hybrid(cube, 3)]
    } else {
        zero.into_iter().chain(others).collect()
    };
    let (job, mut batches) = example();
    batches.truncate(5);
    let (one, comm) = (one_device(&job, &batches)?, Arc::new(Mutex::new(comm)));
    for way in ways {
        let settings = way.settings(size(&comm).1);
        let cores = |peers| Cpu::new(1).with_ranks(peers);
        let mut member = Member::on(&job, settings, Arc::clone(&comm), cores)?;
        let losses = batches.iter().map(|batch| member.step(batch)).collect::<Result<_>>()?;
        let far = difference(&one, &Trained { parameters: member.parameters()?, losses });
        assert!(far.parameters <= 1e-5 && far.losses <= 1e-5, "{}: {far:?}", way.name());
    }
    lock(&comm).barrier()
}

/// Sums a gradient that lies on a device, in buckets, with good losses: once a good one, then one with this value at its place.
pub fn summed<B: Backend>(link: &Link, mut device: B, (place, value): (usize, f32)) -> Result<()> {
    let gradient = Tensor::new(Place::Gradient, 0, 1, 300);
    let mut cx = Recorder::new(ALONE, device.form());
    let watch = Some(data_parallel::watch(&mut cx));
    overlap::sums(&mut cx, &[250..300, 200..250], &(0..200), watch);
    data_parallel::loss(&mut cx, &[], watch);
    device.allocate(Place::Gradient, gradient.words());
    let loaded = device.load(cx.finish());
    let mut numbers = [1.0; 300];
    for own in [1.0, value] {
        numbers[place] = own;
        device.told().map_err(original)?;
        device.write(gradient, &numbers);
        link.part(6);
        link.begin(false);
        device.run(&loaded);
    }
    device.told().map_err(original)
}
