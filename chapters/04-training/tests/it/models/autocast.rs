use half::{bf16, f16};
use matmul::{MatMut, MatRef, Options};
use training::models::autocast::{Operands, autocast, operands};

const HALF: Operands = Operands::F16 { scale: 1024.0 };

#[test]
fn numbers_become_the_nearest_of_their_format() {
    let random = lab::random::numbers(3000, 1);
    let special = [0.0, -0.0, 1e-9, 3e-8, 65519.0, 65520.0, f32::INFINITY, f32::MIN_POSITIVE];
    for x in random.into_iter().chain(special) {
        let round = |read: Operands| {
            let (mut one, mut derivative) = ([x], [x]);
            read.round(&mut one);
            read.round_gradient(&mut derivative);
            [one[0].to_bits(), derivative[0].to_bits()]
        };
        assert_eq!(round(Operands::F32), [x.to_bits(); 2]);
        assert_eq!(round(Operands::Bf16), [bf16::from_f32(x).to_f32().to_bits(); 2], "{x}");
        let scaled = f16::from_f32(x * 1024.0).to_f32() / 1024.0;
        let wanted = [f16::from_f32(x).to_f32().to_bits(), scaled.to_bits()];
        assert_eq!(round(HALF), wanted, "{x}");
    }
    for read in [Operands::Bf16, HALF] {
        let mut nan = [f32::NAN];
        read.round(&mut nan);
        assert!(nan[0].is_nan());
    }
}

#[test]
fn the_factor_saves_what_is_small_and_shows_what_is_large() {
    let mut small = [1e-8, 100.0];
    HALF.round_gradient(&mut small);
    assert!((small[0] - 1e-8).abs() < 1e-10 && small[1].is_infinite(), "{small:?}");
    HALF.round(&mut small[..1]);
    assert_eq!(small[0].to_bits(), 0.0_f32.to_bits());
}

#[test]
fn a_product_is_that_of_the_rounded_numbers() -> matmul::Result<()> {
    let (m, k, n) = (5, 37, 9);
    let (a, b) = (lab::random::numbers(m * k, 2), lab::random::numbers(k * n, 3));
    for read in [Operands::F32, Operands::Bf16, HALF] {
        let (mut x, mut y) = (a.clone(), b.clone());
        read.operand(&mut x);
        read.operand(&mut y);
        let mut c = vec![0.0; m * n];
        let (x, y) = (MatRef::new(&x, m, k)?, MatRef::new(&y, k, n)?);
        read.product(MatMut::new(&mut c, m, n)?, x, y, Options::default())?;
        let (mut a, mut b) = (a.clone(), b.clone());
        read.round(&mut a);
        read.round(&mut b);
        for (at, c) in c.iter().enumerate() {
            let term = |i: usize| f64::from(a[at / n * k + i]) * f64::from(b[i * n + at % n]);
            let exact: f64 = (0..k).map(term).sum();
            assert!((f64::from(*c) - exact).abs() < 1e-4, "{read:?}: {c} is not {exact}");
        }
    }
    Ok(())
}

#[test]
fn it_ends_with_its_work_and_after_a_panic() {
    let inner = autocast(HALF, || {
        let inner = autocast(Operands::Bf16, operands);
        assert_eq!(operands(), HALF);
        assert_eq!(std::thread::spawn(operands).join().unwrap(), Operands::F32);
        inner
    });
    assert_eq!((inner, operands()), (Operands::Bf16, Operands::F32));
    let panicked = std::panic::catch_unwind(|| autocast(HALF, || panic!("on purpose")));
    assert!(panicked.is_err());
    assert_eq!(operands(), Operands::F32);
}
