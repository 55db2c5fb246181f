use dfdx::prelude::*;
use performance::engine::store::{Place, Store, lend};

#[test]
fn numbers_stay_where_they_are() {
    let (dev, mut store) = (Cpu::default(), Store::leaky());
    let (one, two) = (Place::new(&dev, 3).unwrap(), Place::new(&dev, 5).unwrap());
    let at = lend(&mut store, [&one, &two], |[one, two]| {
        assert_eq!((&one[..], two.len()), (&[0.0; 3][..], 5));
        one.copy_from_slice(&[1.0, 2.0, 3.0]);
        Ok::<_, CpuError>(one.as_ptr())
    });
    let again = lend(&mut store, [&one], |[one]| {
        assert_eq!(one[..], [1.0, 2.0, 3.0]);
        Ok::<_, CpuError>(one.as_ptr())
    });
    assert_eq!(at.unwrap(), again.unwrap());
}

#[test]
fn they_come_back_when_the_work_fails() {
    let (dev, mut store) = (Cpu::default(), Store::leaky());
    let place = Place::new(&dev, 2).unwrap();
    let failed = lend(&mut store, [&place], |[numbers]| {
        numbers[1] = 4.0;
        Err::<(), _>(CpuError::WrongNumElements)
    });
    assert!(failed.is_err());
    lend(&mut store, [&place], |[numbers]| {
        assert_eq!(numbers[..], [0.0, 4.0]);
        Ok::<_, CpuError>(())
    })
    .unwrap();
}

#[test]
fn a_backward_operation_finds_them() {
    let (dev, mut store) = (Cpu::default(), Store::leaky());
    let place = Place::new(&dev, 2).unwrap();
    let fill = |[p]: &mut [Vec<f32>; 1]| {
        p.fill(3.0);
        Ok::<_, CpuError>(())
    };
    lend(&mut store, [&place], fill).unwrap();
    let loss: Tensor<Rank0, f32, Cpu> = dev.zeros();
    let (loss, mut tape) = loss.traced(store).split_tape();
    let own = place.clone();
    tape.add_backward_op(move |store| {
        lend(store, [&own], |[p]| {
            p[0] += 1.0;
            Ok(())
        })
    });
    let mut store = loss.put_tape(tape).backward();
    let found = lend(&mut store, [&place], |[p]| Ok::<_, CpuError>(p.clone())).unwrap();
    assert_eq!(found, [4.0, 3.0]);
}
