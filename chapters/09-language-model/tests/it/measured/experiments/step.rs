use language_model::measured::experiments::step::{Case, PROGRAM, asked};
use language_model::{Config, Model};
use std::{fs, path::Path};

#[test]
fn the_peer_is_told_what_the_trainer_does() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { vocabulary: 30, context: 8, width: 8, heads: 2, layers: 1, hidden: 8 };
    let case = Case::new(config, 3, 10);
    let job = case.job(folder.path(), 10, &[]).unwrap();
    assert_eq!(fs::read(&job.batches).unwrap().len(), 10 * 2 * 3 * 8 * 4);
    assert_eq!(Model::load(&job.model).unwrap(), case.trainer().unwrap().model());
    let mut trainer = case.trainer().unwrap();
    let rates: Vec<f64> = (0..10).map(|_| trainer.step(&case.stream).unwrap().lr).collect();
    assert_eq!(rates, job.rates);
    assert!(asked(PROGRAM, &[]).is_err(), "nobody asked for it");
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    assert!([PROGRAM, "pytorch_generate.py"].iter().all(|name| peers.join(name).is_file()));
}
