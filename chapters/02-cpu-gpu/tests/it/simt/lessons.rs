use cpu_gpu::simt::fault::{KernelFault, Who};
use cpu_gpu::simt::lessons::{add, diverge, launch_strided, launch_sum, launch_transpose};
use cpu_gpu::simt::machine::Machine;

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + 11) % 101) as f32 - 50.0).collect()
}

#[test]
fn vectors_are_added_for_any_count() {
    for count in [0, 1, 31, 32, 33, 64, 100, 257] {
        let mut gpu = Machine::new(1);
        let (x, y) = (numbers(count), numbers(count + 1)[1..].to_vec());
        let (a, b, c) = (gpu.array(&x), gpu.array(&y), gpu.unwritten(count));
        let grid = [count.div_ceil(64), 1];
        let counts = gpu.launch("add", grid, [64, 1], |t| add(t, a, b, c, count)).unwrap();
        let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        assert_eq!(gpu.read(c), wanted);
        assert_eq!(counts.flops, count as u64);
        // Two loads and a store for each warp with a thread inside; each 4 sectors or fewer at the end.
        let warps = count.div_ceil(32) as u64;
        assert_eq!((counts.load_requests, counts.store_requests), (2 * warps, warps));
        let sectors = count.div_ceil(8) as u64;
        assert_eq!((counts.load_sectors, counts.store_sectors), (2 * sectors, sectors));
        assert_eq!(counts.divergences, u64::from(!count.is_multiple_of(32)));
        assert_eq!(counts.useful_bytes, 12 * count as u64);
    }
}

#[test]
fn a_stride_moves_what_nobody_asked_for() {
    for (stride, sectors) in [(1, 4), (2, 8), (3, 12), (8, 32), (9, 32)] {
        let x = numbers(32 * stride);
        let (counts, y) = launch_strided(&mut Machine::new(1), &x).unwrap();
        assert_eq!((counts.load_sectors, counts.store_sectors), (sectors, 4), "{stride}");
        assert_eq!(y, x.into_iter().step_by(stride).collect::<Vec<_>>());
    }
}

#[test]
fn threads_that_part_take_turns_and_meet_again() {
    let run = |of| {
        let mut gpu = Machine::new(1);
        let (x, y) = (gpu.array(&numbers(64)), gpu.unwritten(64));
        gpu.watch([0, 0], 0);
        let counts = gpu.launch("diverge", [1, 1], [64, 1], |t| diverge(t, x, y, of)).unwrap();
        let lanes: Vec<u32> = gpu.events().iter().map(|e| e.lanes.count_ones()).collect();
        (counts, lanes, gpu.read(y))
    };
    let x = numbers(64);
    let (counts, lanes, y) = run(2);
    assert_eq!((counts.divergences, lanes), (2, vec![32, 16, 16, 32]));
    for (i, y) in y.iter().enumerate() {
        let wanted = x[i] + if i % 2 == 0 { x[0] } else { x[1] };
        assert!((y - wanted).abs() < 1e-6);
    }
    // The first warp holds the one thread that is a multiple of 64.
    let (counts, lanes, _) = run(64);
    assert_eq!((counts.divergences, lanes), (1, vec![32, 1, 31, 32]));
    // All the same way: no thread waits.
    let (counts, lanes, _) = run(1);
    assert_eq!((counts.divergences, lanes), (0, vec![32, 32, 32]));
    assert!((counts.lanes() - 32.0).abs() < 1e-12);
}

#[test]
fn three_transposes_give_one_matrix_at_three_costs() {
    const WAYS: [&str; 3] = ["transpose", "transpose_32", "transpose_33"];
    let launch = |way, n| launch_transpose(&mut Machine::new(5), way, &numbers(n * n)).unwrap();
    for n in [1, 31, 32, 33, 64] {
        let a = numbers(n * n);
        for way in WAYS {
            let (_, b) = launch(way, n);
            for i in 0..n * n {
                assert!((b[i] - a[i % n * n + i / n]).abs() < 1e-9, "n = {n}, {way}");
            }
        }
    }
    let [plain, conflicts, padded] = WAYS.map(|way| launch(way, 64).0);
    assert_eq!((plain.store_sectors, padded.store_sectors), (64 * 64, 64 * 64 / 8));
    assert_eq!(plain.load_sectors, padded.load_sectors);
    // Each of the 4 · 32 warps reads a column of 32 words of one bank.
    assert_eq!((conflicts.conflicts(), padded.conflicts()), (4 * 32 * 31, 0));
    assert_eq!(conflicts.store_sectors, padded.store_sectors);
}

#[test]
fn both_sums_are_right_and_one_diverges_less() {
    let run = |way, seed| launch_sum(&mut Machine::new(seed), way, &numbers(512), 256).unwrap();
    let wanted: Vec<f32> = numbers(512).chunks(256).map(|x| x.iter().sum()).collect();
    for seed in 0..4 {
        for way in ["sum_divergent", "sum"] {
            assert_eq!(run(way, seed).1, wanted, "{way}");
        }
    }
    let (one, two) = (run("sum_divergent", 0).0, run("sum", 0).0);
    assert_eq!(one.flops, two.flops);
    assert!(two.divergences < one.divergences / 2, "{one:?} {two:?}");
    assert!(two.instructions < one.instructions);
    assert_eq!(one.barriers, 2 * 8);
}

#[test]
fn a_missing_barrier_is_a_race_with_both_lines() {
    for seed in 0..8 {
        let machine = &mut Machine::new(seed);
        let fault = launch_sum(machine, "sum_without_barrier", &numbers(256), 256).unwrap_err();
        match &fault {
            KernelFault::Race { memory: "shared", one, two, at, .. } => {
                assert_ne!(one, two);
                assert!(at[0].file().ends_with("lessons.rs"));
            }
            // A warp that runs first reads what is not yet written.
            KernelFault::Unwritten { memory: "shared", .. } => {}
            other => panic!("{other}"),
        }
    }
}

#[test]
fn without_the_check_a_missing_barrier_is_a_wrong_sum() {
    let wanted: f32 = numbers(256).iter().sum();
    let wrong = (0..8).filter(|seed| {
        let machine = &mut Machine::unchecked(*seed);
        let (_, sums) = launch_sum(machine, "sum_without_barrier", &numbers(256), 256).unwrap();
        let error = (sums[0] - wanted).abs();
        error.is_nan() || error > 1e-3
    });
    assert!(wrong.count() >= 7);
}

#[test]
fn a_barrier_that_some_never_reach_is_named() {
    let machine = &mut Machine::new(0);
    let fault = launch_sum(machine, "sum_with_barrier_inside", &numbers(64), 64).unwrap_err();
    let KernelFault::BarrierDivergence { other, elsewhere, .. } = &fault else { panic!("{fault}") };
    assert_eq!((*other, *elsewhere), (Who { block: [0, 0], thread: [32, 0] }, None));
    let text = fault.to_string();
    assert!(text.contains("has ended without it") && !text.contains('\n'), "{text}");
}
