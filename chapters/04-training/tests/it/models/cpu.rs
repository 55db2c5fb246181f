use dfdx::prelude::*;
use training::models::cpu::numbers;

#[test]
fn numbers_come_in_the_order_of_the_shape() {
    let dev = Cpu::seed_from_u64(1);
    let x: Tensor<Rank3<3, 4, 5>, f32, _> = dev.sample_normal();
    assert_eq!(numbers(&x).unwrap(), x.as_vec());
    let turned: Tensor<Rank3<5, 3, 4>, f32, _> = x.clone().permute::<_, Axes3<2, 0, 1>>();
    assert_eq!(numbers(&turned).unwrap(), turned.as_vec());
    let wide: Tensor<Rank2<2, 5>, f32, _> = dev.sample_normal::<Rank1<5>>().broadcast();
    assert_eq!(numbers(&wide).unwrap(), wide.as_vec());
}
