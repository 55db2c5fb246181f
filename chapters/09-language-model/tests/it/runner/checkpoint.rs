use language_model::runner::checkpoint::{Checkpoint, Log, save};
use language_model::train::{Settings, Silent, Trainer, run};
use language_model::{Config, Model, Tokenizer, product::Numbers, runner::text::Text};
use mixed_precision::amp::scaler::{Dynamic, PYTORCH, Scaler, Scaling};

const SIZES: Config =
    Config { vocabulary: 12, context: 8, width: 8, heads: 2, layers: 1, hidden: 8 };

fn begun() -> (Trainer, Text, Log) {
    let training: Vec<u32> = (0..90_u32).map(|i| i * i % 12).collect();
    let text = Text {
        tokenizer: Tokenizer::new(vec![(97, 98)]).unwrap(),
        validation: training[..20].to_vec(),
        training,
        density: 1.0,
        about: "squares".to_owned(),
        note: None,
        folder: None,
    };
    let settings = Settings { batch: 2, length: 8, steps: 12, ..Settings::default() };
    let mut model = Model::new(SIZES, 1).unwrap();
    model.tokenizer = text.tokenizer.digest();
    let trainer = Trainer::new(model, settings, &text.training, 1).unwrap();
    let log = Log::new(&text);
    (trainer, text, log)
}

#[test]
fn a_run_goes_on_with_the_same_numbers() {
    for numbers in [Numbers::F32, Numbers::Bf16, Numbers::F16] {
        goes_on(numbers);
    }
}

fn goes_on(numbers: Numbers) {
    let folder = tempfile::tempdir().unwrap();
    let (begun, text, log) = begun();
    let stream = &text.training;
    let settings = Settings { numbers, ..begun.settings };
    let mut whole = Trainer::new(begun.model(), settings, stream, 1).unwrap();
    // A factor that is too large for the first steps.
    let large = Scaling::Dynamic(Dynamic { start: 2f32.powi(23), ..PYTORCH });
    whole.scaler = whole.scaler.map(|_| Scaler::new(large));
    for _ in 0..5 {
        whole.step(stream).unwrap();
    }
    let skipped = whole.scaler.map_or(0, |scaler| scaler.state().skipped);
    assert_eq!(skipped > 0, numbers == Numbers::F16);
    assert_eq!(whole.transformer.step.updates(), 5 - skipped as u32);
    save(folder.path(), &whole, &log).unwrap();
    run(&mut whole, stream, &mut Silent).unwrap();
    let saved = Checkpoint::load(folder.path()).unwrap();
    assert_eq!(saved.tokenizer().unwrap().merges(), text.tokenizer.merges());
    let (mut resumed, known) = saved.resume(folder.path(), &text, 2).unwrap();
    assert_eq!((resumed.step, resumed.settings, known), (5, whole.settings, log));
    assert_eq!(resumed.transformer.step.updates(), 5 - skipped as u32);
    run(&mut resumed, stream, &mut Silent).unwrap();
    assert_eq!(resumed.model(), whole.model());
    assert_eq!(resumed.scaler.map(|s| s.state()), whole.scaler.map(|s| s.state()));
    assert_eq!(resumed.moments(), whole.moments());
}

#[test]
fn another_text_is_refused_with_what_differs_and_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (trainer, text, log) = begun();
    let note =
        Some("there is no `cargo` here: the workspace's own sources serve as text".to_owned());
    let said = |then: &Option<String>, text: &Text| {
        save(folder, &trainer, &Log { note: then.clone(), ..log.clone() }).unwrap();
        let saved = Checkpoint::load(folder).unwrap();
        saved.resume(folder, text, 1).err().unwrap().to_string()
    };
    let learned = Text { training: text.training[1..].to_vec(), ..text.clone() };
    let tested = Text { validation: text.validation[1..].to_vec(), ..text.clone() };
    for (text, part) in [(&learned, "another training text"), (&tested, "another validation text")]
    {
        let said = said(&None, text);
        assert!(said.contains(part) && said.contains("at commit "), "{said}");
    }
    let without = said(&None, &Text { note: note.clone(), ..learned.clone() });
    assert!(
        without.contains("there is no `cargo` here") && without.contains("is found"),
        "{without}"
    );
    let began = said(&note, &learned);
    assert!(began.contains("when it began, there is no `cargo` here"), "{began}");
    let other = Text { tokenizer: Tokenizer::new(vec![(98, 97)]).unwrap(), ..text.clone() };
    assert!(said(&None, &other).contains("another tokenizer"));
}
