use cpu_gpu::simt::{
    SHARED_LIMIT, counts::Counts, fault::KernelFault, machine::Machine, memory::WARP,
    thread::Thread,
};

#[test]
fn what_is_wrong_is_told_in_a_sentence() {
    let mut gpu = Machine::new(0);
    let (x, y) = (gpu.array(&[1.0; 32]), gpu.unwritten(32));
    let outside = gpu.launch("outside", [1, 1], [32, 1], |t| async move {
        t.load(x, t.index[0] + 1).await;
    });
    assert!(matches!(outside, Err(KernelFault::OutOfBounds { index: 32, len: 32, .. })));
    let unwritten = gpu.launch("unwritten", [1, 1], [1, 1], |t| async move {
        t.load(y, 3).await;
    });
    assert!(matches!(unwritten, Err(KernelFault::Unwritten { index: 3, .. })));
    let misaligned = gpu.launch("misaligned", [1, 1], [1, 1], |t| async move {
        t.load4(x, 2).await;
    });
    assert!(matches!(misaligned, Err(KernelFault::Misaligned { index: 2, .. })));
    let large = gpu.launch("large", [1, 1], [1025, 1], |_| async {});
    assert!(matches!(large, Err(KernelFault::Launch { .. })));
    let shared = gpu.launch("shared", [1, 1], [1, 1], |t| async move {
        let [tile] = t.shared([SHARED_LIMIT / 4 + 4]);
        t.store(tile, 0, 1.0).await;
    });
    assert!(matches!(shared, Err(KernelFault::Launch { .. })));
    for fault in [outside, unwritten, misaligned, large, shared].map(Result::unwrap_err) {
        let text = fault.to_string();
        assert!(!text.contains('\n') && text.contains(": "), "{text}");
    }
}

#[test]
fn two_blocks_that_write_one_word_race_and_two_launches_do_not() {
    let mut gpu = Machine::new(0);
    let x = gpu.unwritten(1);
    let kernel = |t: Thread| async move { t.store(x, 0, 1.0).await };
    let race = gpu.launch("write", [2, 1], [1, 1], kernel).unwrap_err();
    assert!(matches!(race, KernelFault::Race { memory: "global", both_write: true, .. }), "{race}");
    let mut gpu = Machine::new(0);
    let x = gpu.unwritten(1);
    let kernel = |t: Thread| async move { t.store(x, 0, 1.0).await };
    gpu.launch("write", [1, 1], [1, 1], kernel).unwrap();
    gpu.launch("write", [1, 1], [1, 1], kernel).unwrap();
    assert!((gpu.read(x)[0] - 1.0).abs() < 1e-9);
}

#[test]
fn threads_of_one_warp_race_too() {
    let mut gpu = Machine::new(0);
    let x = gpu.unwritten(1);
    let race = gpu.launch("all", [1, 1], [32, 1], |t| async move { t.store(x, 0, 1.0).await });
    assert!(matches!(race, Err(KernelFault::Race { both_write: true, .. })));
    // A thread may read what it has written; a neighbour may not, until a barrier.
    let run = |shift: usize, barrier: bool| {
        let mut gpu = Machine::new(0);
        let y = gpu.unwritten(32);
        gpu.launch("neighbour", [1, 1], [32, 1], |t| async move {
            let [tile] = t.shared([32]);
            t.store(tile, t.index[0], t.index[0] as f32).await;
            if barrier {
                t.barrier().await;
            }
            let value = t.load(tile, (t.index[0] + shift) % 32).await;
            t.store(y, t.index[0], value).await;
        })
        .map(|_| gpu.read(y))
    };
    assert!(run(0, false).is_ok());
    assert!(matches!(run(1, false), Err(KernelFault::Race { both_write: false, .. })));
    let rotated: Vec<f32> = (0..32).map(|i| ((i + 1) % 32) as f32).collect();
    assert_eq!(run(1, true).unwrap(), rotated);
}

#[test]
fn a_write_after_a_read_races_without_a_barrier() {
    for (barrier, ok) in [(false, false), (true, true)] {
        let mut gpu = Machine::new(3);
        let x = gpu.array(&[1.0; 64]);
        let result = gpu.launch("shift", [1, 1], [64, 1], |t| async move {
            let value = t.load(x, (t.index[0] + 1) % 64).await;
            if barrier {
                t.barrier().await;
            }
            t.store(x, t.index[0], value).await;
        });
        assert_eq!(result.is_ok(), ok, "{result:?}");
    }
}

#[test]
fn nothing_runs_where_there_are_no_blocks() {
    let counts = Machine::new(0).launch("none", [0, 3], [32, 1], |_| async {}).unwrap();
    assert_eq!(counts, Counts::default());
}

#[test]
fn the_order_of_warps_follows_the_seed_alone() {
    // Each warp notes how many were there before it: the order in which they came.
    let order = |seed| {
        let mut gpu = Machine::unchecked(seed);
        let (came, at) = (gpu.array(&[0.0]), gpu.unwritten(8));
        gpu.launch("order", [1, 1], [8 * WARP, 1], |t| async move {
            if t.index[0].is_multiple_of(WARP) {
                let before = t.load(came, 0).await;
                t.store(came, 0, before + 1.0).await;
                t.store(at, t.index[0] / WARP, before).await;
            }
        })
        .unwrap();
        gpu.read(at)
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let mut sorted = order(7);
    sorted.sort_by(f32::total_cmp);
    assert_eq!(sorted, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
}
