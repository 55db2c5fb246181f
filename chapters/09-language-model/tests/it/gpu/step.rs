use backprop::check::error_f32;
use cpu_gpu::gpu::testing;
use lab::random::SplitMix64;
use language_model::train::{Backend, Settings, Trainer};
use language_model::{Config, Error, Model, gpu::step::Step};

/// Sizes that no tile divides; more than one block of queries.
fn trainer() -> (Trainer, Vec<u32>) {
    let config = Config { vocabulary: 37, context: 70, width: 12, heads: 2, layers: 2, hidden: 10 };
    let mut random = SplitMix64::new(3);
    let stream: Vec<u32> = (0..900).map(|_| random.below(37) as u32).collect();
    let settings = Settings {
        batch: 3,
        length: 67,
        steps: 9,
        warmup: 2,
        lr: 1e-2,
        clip: 0.5,
        ..Settings::default()
    };
    (Trainer::new(Model::new(config, 1).unwrap(), settings, &stream, 1).unwrap(), stream)
}

#[test]
fn five_steps_are_the_cpus_five_steps() {
    let Some(gpu) = testing::opencl() else { return };
    let (mut cpu, stream) = trainer();
    cpu.step(&stream).unwrap(); // it takes over in the middle of a run
    let mut device = Step::new(&*gpu, &cpu, &stream).unwrap();
    let (mut back, _) = trainer();
    for at in 0..5 {
        let (wanted, got) = (cpu.step(&stream).unwrap(), device.step(&stream).unwrap());
        assert_eq!((wanted.step, wanted.lr), (got.step, got.lr));
        assert!((wanted.loss / got.loss - 1.0).abs() < 1e-5, "{wanted:?} {got:?}");
        assert!((wanted.norm / got.norm - 1.0).abs() < 1e-4, "{wanted:?} {got:?}");
        let gradient = device.gradient().unwrap();
        for (name, range, _) in cpu.model().layout.tensors(&cpu.config) {
            let error = error_f32(&gradient[range.clone()], &cpu.gradient()[range]);
            assert!(error < 1e-3, "step {at}, {name}: {error:e}");
        }
    }
    device.hand_back(&mut back).unwrap();
    assert_eq!(back.step, cpu.step);
    assert!(error_f32(&back.model().parameters, &cpu.model().parameters) < 1e-3);
    assert!(error_f32(&back.moments().v, &cpu.moments().v) < 1e-3);
    // A trainer goes on where the device stopped.
    let (wanted, got) = (cpu.step(&stream).unwrap(), back.step(&stream).unwrap());
    assert!((wanted.loss / got.loss - 1.0).abs() < 1e-4);
}

#[test]
fn a_loss_that_is_no_number_changes_nothing() {
    let Some(gpu) = testing::opencl() else { return };
    let (mut cpu, stream) = trainer();
    let (mut model, moments) = (cpu.model(), cpu.moments());
    model.parameters[model.layout.norm.clone()].fill(f32::NAN);
    cpu.restore(0, &model.parameters, &moments);
    let mut device = Step::new(&*gpu, &cpu, &stream).unwrap();
    let error = device.step(&stream).unwrap_err();
    assert!(matches!(error, Error::Diverged { step: 1, .. }), "{error}");
    let mut back = trainer().0;
    device.hand_back(&mut back).unwrap();
    assert_eq!((back.step, back.moments()), (0, moments));
}
