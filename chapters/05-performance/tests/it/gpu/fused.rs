use cpu_gpu::gpu::{read_all, testing, write_all};
use performance::gpu::fused::{Costs, Mode, Operation, Task};

/// One that leaves work for many blocks, and odd ones.
const SHAPES: [[usize; 2]; 9] =
    [[1, 1], [1, 10], [7, 10], [33, 65], [300, 3], [9, 257], [513, 33], [1025, 3], [1024, 64]];

/// Each time anew: operands begin alike, and what was computed before does not pass. A kernel whose blocks share what
/// each should have to itself is correct as long as one block runs at a time.
#[test]
fn fused_and_unfused_equal_the_formulas_each_time_and_launch_what_they_say() {
    let Some(gpu) = testing::opencl() else { return };
    for operation in Operation::ALL {
        for way in Mode::ALL {
            for shape in SHAPES {
                let task = Task::new(&*gpu, operation, way, shape).unwrap();
                let (times, most) = if shape == [1024, 64] { (10, 1e-4) } else { (3, 2e-5) };
                for _ in 0..times {
                    task.fill().unwrap();
                    let before = task.check(most);
                    assert!(before.is_err() || shape[0] < 3, "{operation:?} passes before it runs");
                    task.run().unwrap();
                    let share = task.check(most).unwrap_or_else(|e| panic!("{shape:?} {e}"));
                    assert!(share <= 1.0, "{operation:?} {way:?} {shape:?}: {share}");
                }
                let launches = operation.bytes(way, shape).len();
                assert_eq!(task.launched(), launches, "{operation:?} {way:?} {shape:?}");
            }
        }
    }
}

#[test]
fn what_was_not_computed_does_not_pass() {
    let Some(gpu) = testing::opencl() else { return };
    for operation in Operation::ALL {
        let task = Task::new(&*gpu, operation, Mode::Fused, [5, 12]).unwrap();
        task.fill().unwrap();
        task.run().unwrap();
        write_all(&*gpu, &task.full[0], &[f32::NAN]).unwrap();
        let error = task.check(2e-5).unwrap_err().to_string();
        assert!(error.contains("no numbers"), "{error}");
    }
    assert!(Task::new(&*gpu, Operation::Loss, Mode::Fused, [0, 10]).is_err());
}

#[test]
fn a_score_that_is_no_number_shows_in_its_rows_loss_alone() {
    let Some(gpu) = testing::opencl() else { return };
    for way in Mode::ALL {
        let task = Task::new(&*gpu, Operation::Loss, way, [9, 12]).unwrap();
        task.fill().unwrap();
        let mut scores = task.inputs().swap_remove(0);
        scores[4 * 12 + 5] = f32::NAN;
        write_all(&*gpu, &task.full[0], &scores).unwrap();
        task.run().unwrap();
        let losses: Vec<f32> = read_all(&*gpu, &task.narrow[0], 9).unwrap();
        for (row, loss) in losses.iter().enumerate() {
            assert_eq!(loss.is_nan(), row == 4, "{way:?}: {losses:?}");
        }
    }
}

#[test]
fn large_scores_do_not_overflow() {
    let Some(gpu) = testing::opencl() else { return };
    let task = Task::new(&*gpu, Operation::Loss, Mode::Fused, [1, 3]).unwrap();
    task.fill().unwrap();
    write_all(&*gpu, &task.full[0], &[1000.0_f32, 0.0, -1000.0]).unwrap();
    write_all(&*gpu, &task.labels, &[1_u32]).unwrap();
    task.run().unwrap();
    assert_eq!(read_all::<f32>(&*gpu, &task.narrow[0], 1).unwrap(), [1000.0]);
    assert_eq!(read_all::<f32>(&*gpu, &task.full[0], 3).unwrap(), [1.0, -1.0, 0.0]);
}

#[test]
fn fusion_moves_fewer_bytes_in_fewer_launches() {
    let sum = |operation: Operation, way| operation.arrays(way).iter().sum::<usize>();
    for operation in Operation::ALL {
        assert!(sum(operation, Mode::Fused) < sum(operation, Mode::Unfused));
        let [fused, unfused] = Mode::ALL.map(|way| operation.arrays(way).len());
        assert!(fused < unfused);
    }
    // What the page counts.
    assert_eq!(Operation::Adam.bytes(Mode::Fused, [3, 5]), [0.0, 8.0 * 4.0 * 15.0]);
    let unfused = [Operation::Adam, Operation::Loss].map(|which| sum(which, Mode::Unfused));
    assert_eq!(unfused, [29, 12]);
}

#[test]
fn a_kernel_takes_as_long_as_its_launch_or_its_bytes() {
    let costs = Costs { launch: 1e-6, bandwidth: 1e9 };
    assert!((costs.predict(&[0.0, 2e2, 5e3]) - 7e-6).abs() < 1e-15);
}

#[test]
fn costs_are_measured_on_a_device() {
    let Some(gpu) = testing::opencl() else { return };
    let costs = Costs::measure(&*gpu, 50, 1 << 16).unwrap();
    assert!((1e-9..1.0).contains(&costs.launch), "{costs:?}");
    assert!(costs.bandwidth > 1e6 && costs.bandwidth.is_finite(), "{costs:?}");
}
