use crate::gpu::step::example;
use backprop::adam::Adam;
use cpu_gpu::{Result, gpu::testing};
use performance::gpu::step::Step;

#[test]
fn a_device_without_graphs_says_so() {
    let Some(gpu) = testing::opencl() else { return };
    let (model, pixels, labels) = example(&[6, 4, 3], 5);
    let step = Step::new(&*gpu, &model, (&pixels, &labels), 2, Adam::default()).unwrap();
    let Err(error) = step.graph() else { panic!("OpenCL has graphs") };
    assert!(error.to_string().contains("has no graphs"), "{error}");
}

#[test]
fn replayed_steps_equal_launched_ones_bit_for_bit() {
    let Some(gpu) = testing::cuda() else { return };
    let (model, pixels, labels) = example(&[784, 128, 10], 600);
    let step = Step::new(&*gpu, &model, (&pixels, &labels), 128, Adam::default()).unwrap();
    let order = |by: u32| (0..600).map(|i| (i * 7 + by) % 600).collect::<Vec<u32>>();
    let run = |work: &dyn Fn() -> Result<()>| -> Vec<u32> {
        step.reset(&model).unwrap();
        // Another order half way: the buffer stays where it is, its content changes.
        for by in [1, 5] {
            step.set_order(&order(by)).unwrap();
            (0..10).for_each(|_| work().unwrap());
        }
        step.parameters().unwrap().into_iter().map(f32::to_bits).collect()
    };
    let launched = run(&|| step.launch());
    let graph = step.graph().unwrap();
    assert_eq!(launched, run(&|| graph.replay()));
}
