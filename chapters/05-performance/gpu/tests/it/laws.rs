//! A step on a device is the CPU's step.

use crate::steps::{BATCH, error, fill, images, models, named, step_of};
use cpu_gpu::gpu::{testing::opencl, trace::Traced};
use engine::{
    backend::{Backend, Form},
    cpu::Cpu,
    model::{self, Model},
    plan::Plan,
    program::{Call, Numbers, Program, What},
    record::{Pass, Recorder},
    rule::{ALONE, Rule},
    state,
    step::{Step, program},
    tensor::{Place, Tensor},
};
use engine_gpu::{
    Gpu,
    cast::{FORM, Planned, bytes, launches},
};
use std::collections::BTreeMap;

fn on(gpu: &dyn cpu_gpu::gpu::Gpu, model: Model) -> Step<Gpu<'_>> {
    Step::on(Gpu::new(gpu), model, 1, Rule::adam())
}

/// Fills both with the same batch, and takes the gradient of its first images.
fn both(number: usize, rows: usize, cpu: &mut Step, device: &mut Step<Gpu>) -> [Vec<f32>; 2] {
    fill(number, rows, cpu);
    fill(number, rows, device);
    [cpu.gradient(rows, Numbers::F32), device.gradient(rows, Numbers::F32)]
}

#[test]
fn memory_is_asked_for_all_replicas_that_share_a_device() {
    let Some(gpu) = opencl() else { return };
    let device = Gpu::new(&*gpu);
    let free = device.free().unwrap();
    let said = |bytes: &dyn Fn(u64) -> u64, replicas| {
        let fits = device.fits(8, "images", replicas, |rows| bytes(rows as u64));
        fits.map_or_else(|why| why.to_string(), |()| "fits".to_owned())
    };
    let (by_images, alike) = (|rows| rows * (free / 6), |_| free / 5 * 3);
    assert_eq!(said(&by_images, [2, 1]), "fits");
    assert!(said(&by_images, [1, 1]).ends_with("free; take --batch 4"));
    let both = said(&by_images, [2, 2]);
    assert!(both.contains("of 8 images by 2 replicas needs") && both.ends_with("take --batch 4"));
    assert!(said(&alike, [3, 3]).ends_with("free; take --replicas 1"));
    assert!(said(&|_| u64::MAX, [3, 3]).ends_with("free; take --device cpu"));
}

#[test]
fn gradients_scores_sums_and_updates_are_the_cpus() {
    let Some(gpu) = opencl() else { return };
    for (at, (model, other)) in models().into_iter().zip(models()).enumerate() {
        let (mut cpu, mut device) = (step_of(model, 2), on(&*gpu, other));
        for (number, rows) in [BATCH, 7, 1].into_iter().enumerate() {
            let [wanted, found] = both(number, rows, &mut cpu, &mut device);
            device.device.check().unwrap();
            let far = error(&found, &wanted);
            assert!(far < 1e-3, "model {at}, {rows} images: scores {far}");
            let [wanted, found] =
                [cpu.metrics(rows, Numbers::F32), device.metrics(rows, Numbers::F32)];
            assert!(error(&found, &wanted) < 1e-3, "model {at}: {found:?}, not {wanted:?}");
            let wanted = cpu.to_file(Place::Gradient);
            let far = error(&device.to_file(Place::Gradient), &wanted);
            assert!(far < 1e-3, "model {at}, {rows} images: the gradient is {far} off");
            cpu.update(1e-3);
            device.update(1e-3);
            let far = error(&device.to_file(Place::Mean), &cpu.to_file(Place::Mean));
            assert!(far < 1e-3, "model {at}: {far}");
            // Adam divides tiny means by tiny roots: so the same parameters go on.
            let file = cpu.to_file(Place::Params);
            let far = error(&device.to_file(Place::Params), &file);
            assert!(far < 1e-3, "model {at}: {far}");
            device.from_file(Place::Params, &file);
        }
        fill(3, BATCH, &mut cpu);
        device.fill(BATCH, &images(3).0, &[]);
        let far = error(&device.predict(BATCH), &cpu.predict(BATCH));
        device.device.check().unwrap();
        assert!(far < 1e-3, "model {at}: predictions {far}");
    }
}

#[test]
fn what_is_no_number_shows_where_the_cpu_shows_it() {
    let Some(gpu) = opencl() else { return };
    for (at, (model, other)) in models().into_iter().zip(models()).enumerate() {
        let (mut cpu, mut device) = (step_of(model, 2), on(&*gpu, other));
        let (mut images, labels) = images(0);
        images[2 * 784 + 400] = f32::NAN;
        cpu.fill(FEW, &images[..FEW * 784], &labels[..FEW]);
        device.fill(FEW, &images[..FEW * 784], &labels[..FEW]);
        let scores = [cpu.gradient(FEW, Numbers::F32), device.gradient(FEW, Numbers::F32)];
        device.device.check().unwrap();
        let gradients = [cpu.to_file(Place::Gradient), device.to_file(Place::Gradient)];
        for both in [scores, gradients] {
            let nan = |all: &Vec<f32>| all.iter().map(|x| x.is_nan()).collect::<Vec<_>>();
            let [wanted, found] = both.each_ref().map(nan);
            assert!(wanted == found && wanted.contains(&true), "model {at}");
        }
    }
}

#[test]
fn a_label_beyond_the_scores_has_no_loss_and_moves_nothing() {
    let Some(gpu) = opencl() else { return };
    for label in [10, u32::MAX] {
        let mut device = on(&*gpu, model::linear(3));
        let params = device.to_file(Place::Params);
        device.fill(3, &[0.5; 3 * 784], &[1, label, 2]);
        device.gradient(3, Numbers::F32);
        assert!(device.metrics(3, Numbers::F32)[0].is_nan(), "{label}");
        device.clip(1.0);
        device.update(1e-3);
        assert!(device.to_file(Place::Params) == params, "{label}");
        device.device.check().unwrap();
    }
}

/// An infinite loss has a gradient by the formula; it would move the parameters before somebody sees the loss.
fn infinite<B: Backend>(device: B) {
    let mut step = Step::on(device, model::linear(3), 1, Rule::adam());
    let mut file = step.to_file(Place::Params);
    let end = file.len();
    file[end - 10..].copy_from_slice(&[20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    step.from_file(Place::Params, &file);
    step.fill(1, &[0.0; 784], &[0]);
    step.gradient(1, Numbers::F32);
    // p - 1 of the first score, of which f32 has no digit.
    let slope = f64::from(step.to_file(Place::Gradient)[end - 10]);
    let others = 9.0 * (-20.0_f64).exp();
    assert!((slope / (-others / (1.0 + others)) - 1.0).abs() < 1e-5, "{slope}");
    file[end - 10] = f32::NEG_INFINITY;
    step.from_file(Place::Params, &file);
    step.fill(2, &[0.5; 2 * 784], &[0, 1]);
    step.gradient(2, Numbers::F32);
    assert!(step.metrics(2, Numbers::F32)[0].is_infinite());
    step.clip(1.0);
    step.update(1e-3);
    assert!(step.to_file(Place::Params) == file);
}

#[test]
fn a_sure_answer_has_a_gradient_and_an_infinite_loss_moves_nothing() {
    infinite(Cpu::new(1));
    let Some(gpu) = opencl() else { return };
    infinite(Gpu::new(&*gpu));
}

/// Images of a step whose bits are compared: an odd number.
const FEW: usize = 9;

/// The bits of parameters and both means after some steps, as files have them.
fn after(step: &mut Step<Gpu>, numbers: std::ops::Range<usize>) -> Vec<Vec<u32>> {
    for number in numbers {
        fill(number, FEW, step);
        step.gradient(FEW, Numbers::F32);
        step.update(1e-3);
    }
    step.device.check().unwrap();
    let places = [Place::Params, Place::Mean, Place::Square];
    places.map(|place| step.to_file(place).into_iter().map(f32::to_bits).collect()).to_vec()
}

#[test]
fn a_device_gives_the_same_bits_again_and_after_a_break() {
    let Some(gpu) = opencl() else { return };
    for at in 0..models().len() {
        let model = || models().remove(at);
        let mut whole = on(&*gpu, model());
        let first = after(&mut whole, 0..2);
        let end = after(&mut whole, 2..4);
        assert!(after(&mut on(&*gpu, model()), 0..4) == end, "model {at}");
        let mut rest = on(&*gpu, model());
        for (place, bits) in [Place::Params, Place::Mean, Place::Square].into_iter().zip(first) {
            let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
            rest.from_file(place, &values);
        }
        rest.set_updates(2);
        rest.skip(2);
        assert!(after(&mut rest, 2..4) == end, "model {at}");
    }
}

/// A segment that is computed again sees its batch again, and counts it once.
#[test]
fn running_statistics_see_a_batch_once() {
    let Some(gpu) = opencl() else { return };
    let kept = |model| {
        let mut device = on(&*gpu, model);
        after(&mut device, 0..1);
        device.device.read(device.model.params.all(Place::Kept)).into_owned()
    };
    assert!(kept(model::resnet(3)) == kept(model::resnet(3).recomputed(3)));
}

#[test]
fn a_batch_is_gathered_on_the_device() {
    let Some(gpu) = opencl() else { return };
    let (mut device, (images, labels)) = (on(&*gpu, model::linear(3)), images(0));
    device.keep(&images, &labels);
    let order: Vec<u32> = (0..BATCH as u32).map(|at| at * 7 % BATCH as u32).collect();
    device.arrange(&order);
    for (first, rows) in [(0, BATCH), (5, 17), (BATCH - 1, 1)] {
        device.choose(first, rows);
        let own = &order[first..first + rows];
        let found = device.device.read(Tensor::new(Place::Input, 0, rows, 784)).into_owned();
        for (row, at) in found.chunks_exact(784).zip(own) {
            assert_eq!(row, &images[*at as usize * 784..][..784]);
        }
        let found = device.device.read(Tensor::new(Place::Labels, 0, rows, 1));
        let wanted = own.iter().map(|at| labels[*at as usize]);
        assert!(found.iter().map(|label| label.to_bits()).eq(wanted));
    }
    // What is fetched is what it was, whatever runs behind it.
    let begin = |device: &mut Step<_>| {
        let pass = device.piece(0..BATCH, BATCH, Numbers::F32);
        device.fetch(pass)
    };
    let (first, second) = (begin(&mut device), begin(&mut device));
    device.choose(0, BATCH);
    let third = begin(&mut device);
    let [first, second, third] = [first, second, third].map(|own| device.device.fetched(own));
    assert!(first == second && first != third && third.len() == 10 * BATCH);
    device.device.check().unwrap();
}

/// Scores, the gradient's length and the parameters of three steps, each in one program or one part after the other.
fn of_steps<B: Backend>(device: B, in_one: bool, limit: Option<f32>) -> Vec<Vec<f32>> {
    let (images, labels) = images(0);
    let mut step = Step::on(device, model::mlp(3, 0.2), 1, Rule::adam());
    step.keep(&images, &labels);
    step.arrange(&(0..BATCH as u32).rev().collect::<Vec<_>>());
    let mut found = Vec::new();
    for (first, rows) in [(0, BATCH), (7, FEW), (0, BATCH)] {
        let (scores, norm) = if in_one {
            let entire = step.entire((first, rows), Numbers::F32, (1e-3, limit));
            (step.fetch_of(entire, 0), limit.map(|_| step.fetch_of(entire, 2)))
        } else {
            step.choose(first, rows);
            let pass = step.piece(0..rows, rows, Numbers::F32);
            let (scores, norm) = (step.fetch(pass), limit.map(|limit| step.clip(limit)));
            step.update(1e-3);
            (scores, norm)
        };
        let fetched = [Some(scores), norm].into_iter().flatten();
        found.extend(fetched.map(|own| step.device.fetched(own)));
    }
    found.push(step.to_file(Place::Params));
    assert!(step.device.told().is_ok());
    found
}

#[test]
fn a_step_in_one_program_is_its_parts() {
    let gpu = opencl();
    let mut all = Vec::new();
    for limit in [None, Some(0.5)] {
        let cores = [true, false].map(|in_one| of_steps(Cpu::new(2), in_one, limit));
        assert!(cores[0] == cores[1], "{limit:?}");
        if let Some(gpu) = &gpu {
            let device = [true, false].map(|in_one| of_steps(Gpu::new(&**gpu), in_one, limit));
            assert!(device[0] == device[1], "{limit:?} on a device");
        }
        all.extend(cores);
    }
    assert!(all[0].last() != all[2].last(), "nothing was shortened");
}

/// The factor is found where the gradient is, and so is what is no number.
fn shortened<B: Backend>(device: B) {
    let mut step = Step::on(device, model::linear(3), 1, Rule::adam());
    let (all, words) = (step.model.params.all(Place::Gradient), step.model.params.words());
    let mut after = |g: f32| {
        step.device.write(all, &vec![g; words]);
        let norm = step.clip(2.0);
        step.update(1e-3);
        let clip = step.device.read(state::tensor())[state::CLIP];
        let moved = step.to_file(Place::Params);
        (step.device.fetched(norm)[0], clip, moved, step.to_file(Place::Mean))
    };
    let root = (words as f32).sqrt();
    for (g, factor) in [(1.0 / root, 1.0), (8.0 / root, 0.25), (-4.0 / root, 0.5)] {
        let (norm, clip, ..) = after(g);
        assert!((norm / (g.abs() * root) - 1.0).abs() < 1e-5, "{norm}");
        assert!((clip / factor - 1.0).abs() < 1e-5, "{clip}");
    }
    let (_, _, params, means) = after(0.0);
    for g in [f32::NAN, f32::INFINITY, 1e30, 1.0] {
        // The last one is a number, and comes too late.
        let (norm, clip, moved, mean) = after(g);
        assert_eq!((norm.is_finite(), clip), (g < 2.0, -1.0));
        assert!(moved == params && mean == means, "{g} has moved something");
    }
    step.set_clip(1.0);
    step.update(1e-3);
    assert!(step.to_file(Place::Params) != params);
}

#[test]
fn a_gradient_is_shortened_on_the_device_and_nothing_moves_by_one_that_is_no_number() {
    shortened(Cpu::new(2));
    let Some(gpu) = opencl() else { return };
    shortened(Gpu::new(&*gpu));
}

/// So that a forgotten copy or another launch fails here: what a GPU does in a step, by number. It takes no device.
#[test]
fn the_ledger_of_each_step() {
    let mut found = String::new();
    for (name, model) in named() {
        let pass = Pass { rows: BATCH, training: true, numbers: Numbers::F32, adds: false };
        let program = program(&model, pass, FORM);
        let launches = launches(&program, &Plan::new(&program, false)).unwrap().all;
        let bytes: usize = program.calls.iter().map(Call::bytes).sum();
        found += &format!("{name}: {} launches, {} KiB\n", launches.len(), bytes / 1024);
    }
    assert_eq!(found, LEDGER);
}

const LEDGER: &str = "\
linear: 6 launches, 369 KiB
mlp: 11 launches, 1349 KiB
cnn: 24 launches, 21380 KiB
tokens: 11 launches, 1456 KiB
resnet: 71 launches, 115279 KiB
rnn: 15 launches, 25350 KiB
transformer: 91 launches, 40008 KiB
linear layers: 9 launches, 563 KiB
";

/// The launches cost what the calls do, whatever a launch is for; and an operation has the FLOPs that it has on the CPU.
#[test]
fn each_call_is_paid_once() {
    for (at, model) in models().into_iter().enumerate() {
        let pass = Pass { rows: BATCH, training: true, numbers: Numbers::F32, adds: false };
        let [own, cpus] = [FORM, Form::CPU].map(|form| program(&model, pass, form));
        let launches = launches(&own, &Plan::new(&own, false)).unwrap().all;
        let sum = |all: &mut dyn Iterator<Item = (f64, f64)>| {
            all.fold((0.0, 0.0), |(f, b), (flops, bytes)| (f + flops, b + bytes))
        };
        let found = sum(&mut launches.iter().map(|one| (one.label.flops, one.label.bytes)));
        let cost = |call: &Call| (call.flops, call.bytes() as f64);
        assert_eq!(found, sum(&mut own.calls.iter().map(cost)), "model {at}");
        let of = |program: &Program| {
            let mut all = BTreeMap::new();
            for call in program.calls.iter().filter(|call| call.flops > 0.0) {
                *all.entry(call.op.clone()).or_insert(0.0) += call.flops;
            }
            all
        };
        assert_eq!(of(&own), of(&cpus), "model {at}");
    }
}

/// CUDA takes 65,535 blocks along y, and a convolution has a row for each pixel.
#[test]
fn a_large_batch_has_no_more_blocks_than_cuda_takes() {
    for model in models() {
        let pass = Pass { rows: 4096, training: true, numbers: Numbers::F32, adds: false };
        let program = program(&model, pass, FORM);
        for Planned { launch, .. } in launches(&program, &Plan::new(&program, false)).unwrap().all {
            assert!(launch.grid[1] <= 65_535, "{}: {:?}", launch.entry, launch.grid);
        }
    }
}

#[test]
fn what_a_gpu_can_not_do_is_said_by_name() {
    let Some(gpu) = opencl() else { return };
    let mut device = on(&*gpu, model::linear(3));
    device.fill(2, &[0.0; 2 * 784], &[0; 2]);
    device.gradient(2, Numbers::Bf16);
    lab::testing::refused(device.device.check(), ["16-bit numbers are for the CPU"]);
    for _ in 0..2 {
        assert!(device.device.told().unwrap_err().is::<cpu_gpu::Error>());
    }
    // And nothing is done from then on.
    assert!(device.predict(2).is_empty());
}

/// What ranks do together is chapter 7's matter.
#[test]
fn without_other_ranks_it_says_so_and_does_nothing_any_more() {
    let Some(gpu) = opencl() else { return };
    let mut device = on(&*gpu, model::linear(3));
    let mut cx = Recorder::new(ALONE, FORM);
    cx.collective(What::Sum, 0, None, Some(device.model.params.all(Place::Gradient)));
    let loaded = device.device.load(cx.finish());
    device.device.run(&loaded);
    lab::testing::refused(device.device.check(), ["this device has no other ranks to speak to"]);
    device.fill(2, &[0.0; 2 * 784], &[0; 2]);
    assert!(device.predict(2).is_empty());
}

#[test]
fn memory_that_is_asked_for_has_all_that_is_reserved() {
    let Some(gpu) = opencl() else { return };
    let traced = Traced::new(&*gpu);
    let mut device = on(&traced, model::mlp(3, 0.2));
    let passes = [0..BATCH, BATCH..2 * BATCH].map(|piece| {
        device.piece(piece.clone(), 2 * BATCH, Numbers::F32);
        Pass::piece(&piece, Numbers::F32)
    });
    device.device.check().unwrap();
    let (asked, reserved) = (bytes(&device.model, &passes), *traced.reserved.borrow() as u64);
    assert!((0..1000).contains(&(asked - reserved)), "{asked} and {reserved}");
}
