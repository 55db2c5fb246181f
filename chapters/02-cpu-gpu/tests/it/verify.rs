use cpu_gpu::{
    gpu::{Arg, Launch, testing},
    verify::{Fault, Problem, UNWRITTEN, Verifier, judge, matching, passes_as_in_the_wild, verify},
};
use matmul::Shape;

#[test]
fn all_threads_together_find_what_one_finds() {
    let of = |i: usize| i % 7919 == 5;
    let many = 1 << 22;
    let wanted: Vec<usize> = (0..many).filter(|&i| of(i)).collect();
    assert_eq!(matching(many, 1, &of), wanted);
    assert_eq!(matching(1000, 1 << 20, &of), [5]);
    assert_eq!(matching(6, 1, &of), [5]);
    assert!(matching(0, 1 << 30, &of).is_empty());
}

#[test]
fn one_kernel_after_the_other_finds_c_unwritten() {
    let Some(gpu) = testing::opencl() else { return };
    let problem = Problem::random(Shape::new(33, 5, 40), 1);
    let verifier = Verifier::new(&*gpu, &problem).unwrap();
    let naive = cpu_gpu::ladder::rung("naive").unwrap();
    let compiled = naive.compile(&*gpu, problem.shape).unwrap();
    for _ in 0..2 {
        let right = verifier.run(&*gpu, |abc| compiled.launch(&*gpu, abc, problem.shape)).unwrap();
        assert!(right.is_ok(), "{right:?}");
        let none = verifier.run(&*gpu, |_| Ok(())).unwrap();
        assert!(matches!(none, Err(Fault::Unwritten { count: 1320, .. })), "{none:?}");
    }
}

/// What a kernel that rounds every product and sum computes.
fn in_f32(problem: &Problem) -> Vec<f32> {
    let Shape { m, k, n } = problem.shape;
    let mut c = vec![0.0_f32; m * n];
    for i in 0..m {
        for p in 0..k {
            for j in 0..n {
                c[i * n + j] += problem.a[i * k + p] * problem.b[p * n + j];
            }
        }
    }
    c
}

const SHAPE: Shape = Shape::new(9, 50, 7);

fn fault(change: impl FnOnce(&mut Vec<f32>)) -> Fault {
    let problem = Problem::random(SHAPE, 1);
    let mut c = in_f32(&problem);
    assert!(problem.check(&c).is_ok());
    change(&mut c);
    problem.check(&c).expect_err("the check should fail")
}

#[test]
fn a_right_product_passes_with_room() {
    for k in [0, 1, 2, 63, 500, 4000] {
        let problem = Problem::random(Shape::new(5, k, 11), 4);
        let passed = problem.check(&in_f32(&problem)).unwrap_or_else(|e| panic!("{k}: {e}"));
        assert!(passed.of_allowed <= 1.0 && passed.relative < 1e-5, "{k}: {passed:?}");
    }
}

#[test]
fn what_was_never_written_and_one_wrong_digit_are_seen() {
    let unwritten = fault(|c| c[8..].fill(f32::from_bits(UNWRITTEN)));
    assert_eq!(unwritten, Fault::Unwritten { count: 9 * 7 - 8, first: (1, 1) });
    assert!(unwritten.to_string().contains("row 1, column 1"), "{unwritten}");
    let wrong = fault(|c| c[10] += 1e-4);
    assert!(matches!(wrong, Fault::Inaccurate { count: 1, first: (1, 3), .. }), "{wrong:?}");
}

/// The public verifier's bug: it lets NaN pass.
#[test]
fn nan_fails_here_and_passes_in_the_wild() {
    let problem = Problem::random(SHAPE, 1);
    let nothing_but_nan = vec![f32::NAN; 9 * 7];
    assert!(passes_as_in_the_wild(&problem.exact(), &nothing_but_nan));
    let fault = problem.check(&nothing_but_nan).unwrap_err();
    assert_eq!(fault, Fault::NotANumber { count: 63, first: (0, 0) });
    for value in [f32::INFINITY, f32::NEG_INFINITY, -f32::NAN] {
        let mut c = in_f32(&problem);
        c[62] = value;
        assert_eq!(problem.check(&c).unwrap_err(), Fault::NotANumber { count: 1, first: (8, 6) });
    }
    // In the wild, a value that is far off is seen.
    assert!(!passes_as_in_the_wild(&problem.exact(), &[7e3; 63]));
}

#[test]
fn a_missing_term_is_seen_at_every_depth() {
    for k in [1, 30, 1000, 10_000] {
        let problem = Problem::random(Shape::new(8, k, 8), 2);
        let mut c = in_f32(&problem);
        for (at, c) in c.iter_mut().enumerate() {
            *c -= problem.a[(at / 8) * k + k - 1] * problem.b[(k - 1) * 8 + at % 8];
        }
        assert!(matches!(problem.check(&c), Err(Fault::Inaccurate { .. })), "k = {k}");
    }
}

/// A product too large to compare every element: a wrong row is seen by its total.
#[test]
fn large_products_are_checked_by_rows_and_totals() {
    let shape = Shape::new(700, 600, 500);
    let problem = Problem::random(shape, 5);
    assert!(!problem.compares_all());
    let right = in_f32(&problem);
    problem.check(&right).unwrap_or_else(|fault| panic!("{fault}"));
    let unseen = (0..700).find(|row| !problem.rows.contains(row)).unwrap();
    let mut c = right.clone();
    for x in &mut c[unseen * 500..][..100] {
        *x = 0.0;
    }
    assert_eq!(problem.check(&c), Err(Fault::WrongRow { count: 1, first: unseen }));
    let mut c = right;
    c[700 * 500 - 1] += 0.01;
    assert!(matches!(
        problem.check(&c),
        Err(Fault::Inaccurate { count: 1, first: (699, 499), .. })
    ));
}

#[test]
fn bf16_operands_are_exact_in_bf16() {
    let problem = Problem::random_bf16(SHAPE, 1);
    assert!(problem.a.iter().chain(&problem.b).all(|x| x.to_bits().trailing_zeros() >= 16));
    problem.check(&in_f32(&problem)).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn strips_and_inputs_must_stay_as_they_were() {
    let problem = Problem::random(SHAPE, 1);
    let bits = |x: &[f32]| Ok(x.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    let whole = || [bits(&problem.a), bits(&problem.b), bits(&in_f32(&problem))];
    let [a, b, c] = whole();
    assert!(judge(&problem, Some([a, b]), c.clone()).is_ok());
    assert!(judge(&problem, None, c).is_ok());
    let outside = Fault::WroteOutside { matrix: 'B', at: -3 };
    let [a, _, c] = whole();
    assert_eq!(judge(&problem, Some([a, Err(outside)]), c), Err(outside));
    assert_eq!(outside.to_string(), "the kernel wrote 3 elements before the start of B");
    let [mut a, b, c] = whole();
    if let Ok(a) = &mut a {
        a[17] ^= 1;
    }
    assert_eq!(judge(&problem, Some([a, b]), c), Err(Fault::ChangedInput { matrix: 'A', at: 17 }));
}

/// A kernel that copies A over the whole of C and one element more, or changes its input.
#[test]
fn writes_outside_and_into_inputs_are_seen_on_a_device() {
    let Some(gpu) = testing::opencl() else { return };
    let source =
        "__kernel void stray(__global float *a, __global float *b, __global float *c, uint where) {
        if (where == 0) c[63] = 1.0f;
        if (where == 1) c[-1] = 1.0f;
        if (where == 2) b[5] = b[5] + 1.0f;
    }";
    let kernel = gpu.compile(source, &[], "stray").unwrap();
    let problem = Problem::random(SHAPE, 1);
    let faults = [0, 1, 2].map(|place| {
        verify(&*gpu, &problem, |[a, b, c]| {
            gpu.launch(&kernel, Launch::new([1, 1], [1, 1]), &[a, b, c, Arg::U32(place)])
        })
        .unwrap()
        .unwrap_err()
    });
    assert_eq!(
        faults,
        [
            Fault::WroteOutside { matrix: 'C', at: 63 },
            Fault::WroteOutside { matrix: 'C', at: -1 },
            Fault::ChangedInput { matrix: 'B', at: 5 },
        ]
    );
}
