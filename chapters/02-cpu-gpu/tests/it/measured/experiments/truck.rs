use crate::measured::leaves;
use cpu_gpu::measured::experiments::truck::{
    JobSizes, Work, all, best, clear_crossover, rising, run, samples,
};
use cpu_gpu::{Error, gpu, gpu::testing, truck, truck::Crossover};
use lab::record::{Run, Value};
use lab::{Budget, Device, Experiment, Plan, Recorder, progress::Progress};
use std::time::Duration;

fn small() -> JobSizes {
    JobSizes {
        map: vec![1, 64, 4096],
        product: vec![1, 2, 32],
        transfer: vec![1, 4096],
        longest: 5.0,
        plan: Plan::times(3),
    }
}

#[test]
fn leaves_what_it_declares() {
    let _turn = testing::turn();
    let small = Experiment { run: |r| run(r, &small()), ..all().remove(0) };
    let Run { values, skipped, .. } = leaves(&small);
    let of = |key: &str, name: &str, is: &str| -> Vec<&Value> {
        let is = |value: &&Value| value.param(name) == Some(is);
        values.iter().filter(|value| value.key == key).filter(is).collect()
    };
    // Two kinds of maps, three sizes.
    assert_eq!(of("cpu_gpu.truck.map", "device", "cpu").len(), 6);
    assert_eq!(of("cpu_gpu.truck.product", "device", "core").len(), 3);
    assert_eq!(of("cpu_gpu.truck.latency", "device", "core").len(), 3);
    for about in gpu::devices().found {
        let with = of("cpu_gpu.truck.product", "device", &about.id);
        assert_eq!(with.len(), 6, "with and without transfers, on {}", about.id);
        // A crossover for each job, with and without: a number, or the reason why there is none.
        for key in ["cpu_gpu.truck.crossover", "cpu_gpu.truck.crossover.predicted"] {
            let none = skipped.iter().filter(|s| s.key == key && s.params["device"] == about.id);
            assert_eq!(of(key, "device", &about.id).len() + none.count(), 6, "{key}");
        }
    }
}

#[test]
fn a_job_that_would_take_too_long_is_left_out_with_the_reason() {
    let experiments = all();
    let progress = Progress::hidden();
    let mut r = Recorder::new(&experiments[0], Budget::Quick, Device::Cpu, &progress);
    let limits = JobSizes { longest: 0.004, ..small() };
    let who = ("cpu".to_owned(), "without");
    let mut began = Vec::new();
    let points = rising(&mut r, (Work::Map(1), &who), &[1, 4, 16, 64], &limits, &mut |n| {
        began.push(n);
        std::thread::sleep(Duration::from_micros(300 * n as u64));
        Ok(())
    })
    .unwrap();
    let (_, skipped) = r.finish();
    assert!(points.len() < 4 && began.iter().all(|n| *n < 64), "{points:?}");
    assert_eq!(points.len() + skipped.len(), 4);
    assert!(skipped[0].why.contains("longer than 4.00 ms"), "{}", skipped[0].why);
}

#[test]
fn noise_is_no_win() {
    let car = [(1.0, 1.00), (2.0, 1.0), (4.0, 1.0), (8.0, 1.0)];
    let truck = [(1.0, 0.99), (2.0, 0.98), (4.0, 0.99), (8.0, 0.5)];
    assert_eq!(truck::crossover(&car, &truck), Some(Crossover::Always));
    let Some(Crossover::At(size)) = clear_crossover(&car, &truck) else { panic!("they meet") };
    assert!((4.0..4.5).contains(&size), "{size}");
    assert_eq!(clear_crossover(&car, &truck[..3]), Some(Crossover::Never(4.0)));
}

#[test]
fn an_error_of_a_job_ends_the_samples() {
    let mut calls = 0;
    let result = samples(small().plan, &mut || {
        calls += 1;
        if calls > 2 { Err(Error::message("no")) } else { Ok(()) }
    });
    assert!(result.is_err() && calls == 3);
    let samples = samples(small().plan, &mut || Ok(())).unwrap();
    assert!(samples.0.len() == 3 && samples.median() < 1e-6, "{samples:?}");
}

#[test]
fn the_best_of_two_has_every_size() {
    let best = best(&[(1.0, 1.0), (2.0, 5.0)], &[(1.0, 3.0), (2.0, 4.0), (4.0, 6.0)]);
    assert_eq!(best, [(1.0, 1.0), (2.0, 4.0), (4.0, 6.0)]);
}

#[test]
fn jobs_are_counted_as_the_page_says() {
    assert_eq!(Work::ALL.map(Work::name), ["map", "map100", "product"]);
    assert!((Work::Map(100).operations(3.0) - 600.0).abs() < 1e-9);
    assert!((Work::Product.operations(3.0) - 54.0).abs() < 1e-9);
    assert_eq!(Work::Product.bytes(2.0), (32.0, 16.0));
    assert_eq!(Work::Map(1).bytes(5.0), (20.0, 20.0));
    let sizes = JobSizes::of(Budget::Full);
    assert_eq!((sizes.map.last(), sizes.product.last()), (Some(&(1 << 26)), Some(&8192)));
    assert_eq!(sizes.that_fit(Work::Map(1), 4 * 8 * 64), [1, 4, 16, 64]);
    assert_eq!(sizes.that_fit(Work::Product, 0).len(), sizes.product.len());
}
