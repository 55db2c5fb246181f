use cpu_gpu::truck::{
    Crossover, Line, MapTrip, ProductTrip, Trip, crossover, crossover_of, map_chunks, map_on_cpu,
    map_piece, product_on_cpu,
};
use cpu_gpu::{
    gpu::{Element, testing},
    ladder::rung,
};
use lab::random::numbers;

/// The job that is the same for every number: `steps` times "halve and add one".
///
/// It is the reference for [`map_on_cpu`] and for `kernels/map.cl`, in f64.
fn map_of(x: f64, steps: u32) -> f64 {
    (0..steps).fold(x, |value, _| value * 0.5 + 1.0)
}

#[track_caller]
fn close(got: &[f32], x: &[f32], steps: u32) {
    assert_eq!(got.len(), x.len());
    for (got, x) in got.iter().zip(x) {
        let wanted = map_of(f64::from(*x), steps);
        let error = (f64::from(*got) - wanted).abs();
        assert!(error <= 1e-6 * wanted.abs().max(1.0), "{got} is not {wanted}, {steps} steps");
    }
}

#[test]
fn the_map_on_the_cpu_equals_the_reference_on_odd_sizes() {
    for count in [0, 1, 5, 63, 64, 65, 257, 1000, 4099] {
        let x = numbers(count, 1);
        for (steps, threads) in [(0, 1), (1, 1), (1, 3), (7, 2), (100, 2), (1, 0), (2, 5000)] {
            let mut y = vec![f32::NAN; count];
            map_on_cpu(&x, &mut y, steps, threads);
            close(&y, &x, steps);
        }
    }
}

#[test]
fn every_width_of_vectors_gives_the_same_bits() {
    let x = numbers(1027, 1);
    let mut plain = vec![f32::NAN; x.len()];
    map_chunks::<64>(&x, &mut plain, 9, |value| value * 0.5 + 1.0);
    let mut best = vec![f32::NAN; x.len()];
    map_piece(&x, &mut best, 9);
    // Halving is exact, so that one rounding or two make no difference.
    assert_eq!(plain, best);
}

#[test]
fn the_product_on_the_cpu_is_chapter_ones() {
    let n = 5;
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 1));
    for all in [false, true] {
        let mut c = vec![f32::NAN; n * n];
        product_on_cpu(&a, &b, &mut c, n, all).unwrap();
        for (at, c) in c.iter().enumerate() {
            let wanted: f64 =
                (0..n).map(|p| f64::from(a[at / n * n + p]) * f64::from(b[p * n + at % n])).sum();
            assert!((f64::from(*c) - wanted).abs() < 1e-4, "{c} is not {wanted}");
        }
    }
    assert!(product_on_cpu(&a, &b[1..], &mut vec![0.0; n * n], n, false).is_err());
}

/// There, computed, and back.
fn driven(trip: &dyn Trip, size: usize, input: &[u8], count: usize) -> Vec<f32> {
    let mut output = f32::bytes(&vec![f32::NAN; count]);
    trip.load(size, input).unwrap();
    trip.drive(size).unwrap();
    trip.unload(size, &mut output).unwrap();
    f32::values(&output)
}

#[test]
fn the_map_on_a_device_equals_the_reference_on_odd_sizes() {
    let Some(gpu) = testing::opencl() else { return };
    let most = 1003;
    for steps in [1, 100] {
        let trip = MapTrip::new(&*gpu, steps, most).unwrap();
        for count in [0, 1, 255, 256, 257, most] {
            let x = numbers(count, 1);
            close(&driven(&trip, count, &f32::bytes(&x), count), &x, steps);
        }
        let error = trip.load(2, &[0; 7]).unwrap_err().to_string();
        assert!(error.contains("8 bytes does not fit 7 bytes"), "{error}");
        assert!(trip.load(most + 1, &vec![0; 4 * most + 4]).is_err(), "beyond its memory");
    }
}

#[test]
fn products_on_a_device_equal_those_on_the_cpu() {
    let Some(gpu) = testing::opencl() else { return };
    let trip = ProductTrip::new(&*gpu, rung("tile2d").unwrap(), 70).unwrap();
    for n in [1, 2, 3, 4, 33, 64, 70] {
        let (a, b) = (numbers(n * n, 1), numbers(n * n, 1));
        let mut wanted = vec![f32::NAN; n * n];
        product_on_cpu(&a, &b, &mut wanted, n, false).unwrap();
        let input = [f32::bytes(&a), f32::bytes(&b)].concat();
        for (got, wanted) in driven(&trip, n, &input, n * n).iter().zip(&wanted) {
            let error = (got - wanted).abs();
            assert!(error <= 1e-4 * wanted.abs().max(100.0), "{got} is not {wanted}, n = {n}");
        }
    }
    assert!(trip.load(71, &vec![0; 8 * 71 * 71]).is_err(), "beyond its memory");
}

#[test]
fn a_line_is_found_again() {
    let line = Line { alpha: 2e-5, beta: 3e-10 };
    let sizes = (0..14).map(|k| f64::from(1_u32 << (2 * k)));
    let exact: Vec<(f64, f64)> = sizes.map(|x| (x, line.at(x))).collect();
    // Five percent of noise, up and down in turn, moves the line by little more.
    for (noise, allowed) in [(0.0, 1e-9), (0.05, 0.06)] {
        let signs = [1.0 + noise, 1.0 - noise].into_iter().cycle();
        let points: Vec<_> = exact.iter().zip(signs).map(|(&(x, t), by)| (x, by * t)).collect();
        let found = Line::fit(&points).unwrap();
        assert!((found.alpha / line.alpha - 1.0).abs() < allowed, "{found:?}");
        assert!((found.beta / line.beta - 1.0).abs() < allowed, "{found:?}");
    }
}

#[test]
fn a_line_is_never_below_zero() {
    let rising = Line::fit(&[(1.0, 1.0), (2.0, 4.0), (3.0, 9.0)]).unwrap();
    assert!(rising.alpha == 0.0 && rising.beta > 0.0, "{rising:?}");
    let falling = Line::fit(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.5)]).unwrap();
    assert!(falling.beta == 0.0 && falling.alpha > 0.0, "{falling:?}");
    assert_eq!(Line::fit(&[]), None);
    assert_eq!(Line::fit(&[(8.0, 1.0), (8.0, 2.0)]), None);
    assert_eq!(Line::fit(&[(1.0, f64::NAN), (2.0, 1.0)]), None);
}

#[test]
fn the_crossover_lies_where_the_times_meet() {
    let times = |f: fn(f64) -> f64| -> Vec<(f64, f64)> {
        [1.0, 4.0, 16.0, 64.0, 256.0].map(|x| (x, f(x))).to_vec()
    };
    let car = times(|x| x);
    // x and 10·√x meet at 100: on logarithmic scales both are straight, so that this is exact.
    let truck = times(|x| 10.0 * x.sqrt());
    let Some(Crossover::At(size)) = crossover(&car, &truck) else { panic!("they meet") };
    assert!((size - 100.0).abs() < 1e-9, "{size}");
    assert_eq!(crossover(&car, &times(|x| 0.5 * x)), Some(Crossover::Always));
    assert_eq!(crossover(&car, &times(|x| 2.0 * x)), Some(Crossover::Never(256.0)));
    // A tie is no win.
    assert_eq!(crossover(&car, &car), Some(Crossover::Never(256.0)));
    assert_eq!(crossover(&car, &[]), None);
    assert_eq!(crossover(&car, &[(3.0, 1.0)]), None);
}

#[test]
fn the_last_of_several_crossovers_counts() {
    let car: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(1 << i), 1.0)).collect();
    let with = |seconds: [f64; 5]| -> Vec<(f64, f64)> {
        car.iter().zip(seconds).map(|(&(x, _), t)| (x, t)).collect()
    };
    let Some(Crossover::At(size)) = crossover(&car, &with([2.0, 0.5, 2.0, 0.5, 0.5])) else {
        panic!("they meet")
    };
    assert!((size - 32.0_f64.sqrt()).abs() < 1e-9, "{size}");
    assert_eq!(crossover(&car, &with([0.5, 0.5, 0.5, 0.5, 2.0])), Some(Crossover::Never(16.0)));
    // Sizes that only one has are left out.
    assert_eq!(crossover(&car[..2], &with([0.5; 5])), Some(Crossover::Always));
}

#[test]
fn two_lines_meet_where_algebra_says() {
    let (car, truck) = (Line { alpha: 0.0, beta: 2e-9 }, Line { alpha: 1e-5, beta: 1e-9 });
    let meet = |largest| crossover_of(|x| car.at(x), |x| truck.at(x), 1.0, largest);
    let Some(Crossover::At(size)) = meet(1e9) else { panic!("they meet") };
    assert!((size / 1e4 - 1.0).abs() < 1e-3, "{size}");
    assert_eq!(meet(5e3), Some(Crossover::Never(5e3)));
    assert_eq!(crossover_of(|x| x, |x| x, 0.0, 1.0), None);
    assert_eq!(
        crossover_of(|x| truck.at(x), |x| 0.5 * truck.at(x), 1.0, 1e3),
        Some(Crossover::Always)
    );
}
