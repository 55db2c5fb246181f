use language_model::train::run::{Flow, Reporter, Silent, run};
use language_model::train::{Settings, Step, Trainer};
use language_model::{Config, Error, Model, Result};

const SIZES: Config =
    Config { vocabulary: 12, context: 16, width: 16, heads: 2, layers: 2, hidden: 24 };

fn stream() -> Vec<u32> {
    (0..400_u32).map(|i| (i * 5 + i / 50) % 12).collect()
}

fn trainer(steps: u64, threads: usize) -> Trainer {
    let settings =
        Settings { batch: 3, length: 16, steps, lr: 0.01, warmup: 5, ..Settings::default() };
    Trainer::new(Model::new(SIZES, 1).unwrap(), settings, &stream(), threads).unwrap()
}

#[derive(Default)]
struct Notes {
    steps: Vec<Step>,
    most: usize,
}

impl Reporter for Notes {
    fn step(&mut self, trainer: &Trainer, step: &Step) -> Result<()> {
        assert_eq!(trainer.step, step.step);
        self.steps.push(*step);
        Ok(())
    }

    fn stop(&mut self) -> bool {
        self.steps.len() == self.most
    }
}

#[test]
fn it_learns_the_same_on_any_number_of_threads_and_after_a_stop() {
    let run = |threads, most| {
        let mut notes = Notes { most, ..Notes::default() };
        let mut trainer = trainer(30, threads);
        let flow = run(&mut trainer, &stream(), &mut notes).unwrap();
        if flow == Flow::Stopped {
            assert_eq!(trainer.step, most as u64);
            notes.most = 0;
            assert_eq!(run(&mut trainer, &stream(), &mut notes).unwrap(), Flow::Finished);
        }
        (trainer.model().parameters, notes.steps)
    };
    let whole = run(1, 0);
    assert!(whole.1[29].loss < 0.5 * whole.1[0].loss, "{:?}", whole.1);
    assert_eq!(whole.1.len(), 30);
    assert!(run(3, 0) == whole && run(2, 11) == whole);
}

#[test]
fn one_batch_is_learned_by_heart() {
    // A stream with one window: every row of every batch is the same.
    let stream = &stream()[..17];
    let rule = language_model::train::adamw::AdamW { decay: 0.0, ..Default::default() };
    let settings =
        Settings { batch: 2, length: 16, steps: 200, lr: 0.01, rule, ..Settings::default() };
    let model = Model::new(SIZES, 1).unwrap();
    let mut trainer = Trainer::new(model, settings, stream, 1).unwrap();
    let mut notes = Notes::default();
    run(&mut trainer, stream, &mut notes).unwrap();
    let (first, last) = (notes.steps[0].loss, notes.steps[199].loss);
    assert!((first - 12f64.ln()).abs() < 0.1 && last < 0.02, "{first} {last}");
}

#[test]
fn a_run_that_diverges_says_so_and_keeps_its_model() {
    let mut trainer = trainer(100, 1);
    let mut before = trainer.model().parameters;
    before[0] = f32::INFINITY;
    let moments = trainer.moments();
    trainer.restore(0, &before, &moments);
    let error = run(&mut trainer, &stream(), &mut Silent).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
    assert!(before == trainer.model().parameters && trainer.step < 5);
}

#[test]
fn what_does_not_fit_is_refused_before_the_first_step() {
    let model = || Model::new(SIZES, 1).unwrap();
    let settings = Settings { length: 16, ..Settings::default() };
    let new = |settings, stream: &[u32]| {
        Trainer::new(model(), settings, stream, 1).err().map(|error| error.to_string())
    };
    assert!(new(settings, &stream()).is_none());
    assert!(new(Settings { length: 17, ..settings }, &stream()).unwrap().contains("1 to 16"));
    assert!(new(settings, &[1; 16]).unwrap().contains("at least 17"));
    assert!(new(settings, &[12; 40]).unwrap().contains("token 12"));
    assert!(new(Settings { lr: f64::NAN, ..settings }, &stream()).unwrap().contains("rate"));
    assert!(new(Settings { batch: 0, ..settings }, &stream()).unwrap().contains("sequence"));
}
