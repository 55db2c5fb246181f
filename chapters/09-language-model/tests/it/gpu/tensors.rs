use lab::random::numbers;
use language_model::gpu::tensors::{STEP, Tensors};
use language_model::{Config, Layout};

#[test]
fn numbers_go_there_and_back_and_gaps_are_zero() {
    let config = Config { vocabulary: 7, context: 5, width: 6, heads: 3, layers: 2, hidden: 5 };
    let layout = Layout::new(&config);
    let tensors = Tensors::new(&layout, &config);
    let values = numbers(layout.len, 1);
    let all = tensors.spread(&values);
    assert_eq!(all.len(), tensors.len);
    assert!(tensors.places.iter().all(|(_, start)| start % STEP == 0));
    assert_eq!(all.iter().filter(|value| **value != 0.0).count(), layout.len);
    // The five scales come last.
    assert_eq!(tensors.len - tensors.scales, 5 * STEP);
    let mut back = vec![0.0; layout.len];
    tensors.gather(&all, &mut back);
    assert_eq!(back, values);
}
