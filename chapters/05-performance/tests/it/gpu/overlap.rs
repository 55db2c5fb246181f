use crate::gpu::step::example;
use backprop::adam::Adam;
use cpu_gpu::gpu::testing;
use performance::gpu::overlap::{Feed, Pinned, Transfer, train};
use performance::gpu::step::Step;

#[test]
fn every_way_trains_on_the_same_batches() {
    let Some(gpu) = testing::cuda() else { return };
    let cuda = gpu.as_cuda().unwrap();
    let batch = 64;
    let (model, pixels, labels) = example(&[784, 32, 10], 16 * batch);
    // The two slots' labels stay; only pixels are copied.
    let places = (&pixels[..2 * batch * 784], &labels[..2 * batch]);
    let step = Step::new(&*gpu, &model, places, batch, Adam::default()).unwrap();
    let feed = Feed::new(cuda).unwrap();
    let pinned = Pinned::new(cuda, &pixels).unwrap();
    assert_eq!(pinned.bytes(), pixels);
    let run = |way: Transfer| -> Vec<u32> {
        step.reset(&model).unwrap();
        let source = if way.pins() { pinned.bytes() } else { &pixels };
        let batches: Vec<&[u8]> = source.chunks_exact(batch * 784).collect();
        train(&feed, way, &batches, &step).unwrap();
        step.parameters().unwrap().into_iter().map(f32::to_bits).collect()
    };
    let pageable = run(Transfer::Pageable);
    assert_eq!(pageable, run(Transfer::Waiting));
    assert_eq!(pageable, run(Transfer::Pinned));
    assert_eq!(pageable, run(Transfer::Overlapped));
    assert!(train(&feed, Transfer::Pinned, &[&pixels[1..]], &step).is_err());
}
