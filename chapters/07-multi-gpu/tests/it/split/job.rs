use backprop::random::SplitMix64;
use multi_gpu::split::job::Batch;

/// Batches of random images; the sizes are taken in turns.
pub fn batches(inputs: usize, classes: usize, sizes: &[usize], steps: usize) -> Vec<Batch> {
    let mut random = SplitMix64::new(11);
    let rows = (0..steps).map(|step| sizes[step % sizes.len()]);
    rows.map(|rows| Batch::random(&mut random, rows, [inputs, classes])).collect()
}

#[test]
fn a_part_that_is_not_there_is_refused() {
    let batch = Batch { x: vec![0.0; 6], labels: vec![0, 1, 2] };
    assert_eq!(batch.part(1..2).unwrap().len(), 1);
    assert!(batch.part(3..3).unwrap().is_empty());
    assert!(batch.part(2..4).is_err());
    assert!(Batch { x: vec![0.0; 7], ..batch }.part(0..1).is_err());
    assert!(Batch::default().part(0..0).unwrap().is_empty());
}
