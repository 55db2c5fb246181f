use super::*;
use proptest::prelude::*;
use std::thread;

fn run(experiment: &str, values: Vec<Value>) -> Run {
    Run {
        experiment: experiment.to_owned(),
        date: "2026-01-31T00:00:00Z".to_owned(),
        values,
        ..Run::default()
    }
}

fn value(key: &str, n: i32, rung: &str, sample: f64) -> Value {
    Value::new(key, &[("n", &n), ("rung", &rung)], Unit::FlopsPerSecond, Samples(vec![sample; 3]))
}

/// A folder with two runs of one chapter and one of another.
fn saved() -> (tempfile::TempDir, Records) {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { cpu: "a CPU".to_owned(), ..Machine::default() };
    let mut ladder = run(
        "matmul.ladder",
        vec![value("matmul.ladder", 512, "naive", 1e9), value("matmul.ladder", 1024, "naive", 2e9)],
    );
    ladder.skipped.push(Skipped {
        key: "matmul.ladder".to_owned(),
        params: params(&[("n", &512), ("rung", &"amx")]),
        why: "this CPU has no AMX".to_owned(),
    });
    for (chapter, run) in [
        ("matmul", ladder),
        ("matmul", run("matmul.sizes", vec![value("matmul.sizes", 4, "a", 3e9)])),
        ("lab", run("lab.peaks", vec![value("lab.peaks", 1, "b", 4e9)])),
    ] {
        save(folder.path(), &machine, chapter, run).unwrap();
    }
    let records = Records::load(folder.path()).unwrap();
    (folder, records)
}

#[test]
fn what_is_saved_is_loaded() {
    let (folder, records) = saved();
    assert_eq!(records.machine.cpu, "a CPU");
    assert_eq!(Some(records.name.as_str()), folder.path().file_name().unwrap().to_str());
    assert_eq!(records.chapters.keys().collect::<Vec<_>>(), ["lab", "matmul"]);
    let found = records.find("matmul.ladder", &params(&[("n", &1024)])).unwrap();
    assert_eq!(*found, value("matmul.ladder", 1024, "naive", 2e9));
    assert_eq!(records.all("matmul.ladder", &Params::new()).len(), 2);
    assert_eq!(records.run_of("matmul.ladder.speedup").unwrap().experiment, "matmul.ladder");
    assert_eq!(records.values().count(), 4);
}

#[test]
fn a_new_run_takes_the_place_of_the_old_one_and_no_other() {
    let (folder, _) = saved();
    let again = run("matmul.ladder", vec![value("matmul.ladder", 512, "naive", 7e9)]);
    save(folder.path(), &Machine::default(), "matmul", again).unwrap();
    let records = Records::load(folder.path()).unwrap();
    let experiments: Vec<&str> =
        records.chapters["matmul"].runs.iter().map(|run| run.experiment.as_str()).collect();
    assert_eq!(experiments, ["matmul.ladder", "matmul.sizes"]);
    let ladder = records.all("matmul.ladder", &Params::new());
    assert_eq!(ladder[0].median.to_bits(), 7e9_f64.to_bits());
    assert!(records.find("matmul.sizes", &Params::new()).is_ok());
    // One that is not at its end takes no place, but that of another such.
    let part = |experiment: &str, values| Run { unfinished: true, ..run(experiment, values) };
    for (experiment, kept) in [("matmul.ladder", 1), ("matmul.new", 2)] {
        for values in [vec![], vec![value(experiment, 4, "a", 1e9), value(experiment, 8, "a", 1e9)]]
        {
            save(folder.path(), &Machine::default(), "matmul", part(experiment, values)).unwrap();
        }
        let records = Records::load(folder.path()).unwrap();
        assert_eq!(records.all(experiment, &Params::new()).len(), kept, "{experiment}");
    }
}

#[test]
fn those_who_save_at_once_keep_each_others_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (at, machine) = (&folder.path().join("new"), Machine::default());
    thread::scope(|all| {
        for part in 0..8 {
            let machine = &machine;
            all.spawn(move || {
                for n in 0..8 {
                    can_save(at, machine, ["lab"]).unwrap();
                    let key = format!("lab.{part}.{n}");
                    save(at, machine, "lab", run(&key, vec![])).unwrap();
                }
            });
        }
    });
    assert_eq!(Records::load(at).unwrap().runs().count(), 64);
}

#[test]
fn a_save_that_fails_or_is_killed_leaves_the_old_file_whole() {
    let (folder, before) = saved();
    // A process that was killed while it wrote leaves half a file next to the record.
    let part = folder.path().join("matmul.json.part");
    fs::write(&part, "{\"runs\": [").unwrap();
    assert_eq!(Records::load(folder.path()).unwrap().chapters, before.chapters);
    // A later save is not disturbed by it.
    save(folder.path(), &before.machine, "matmul", run("matmul.more", vec![])).unwrap();
    assert!(!part.exists());
    // A save that can't write fails, and nothing is lost.
    let before = Records::load(folder.path()).unwrap();
    fs::create_dir(&part).unwrap();
    let error = save(folder.path(), &before.machine, "matmul", run("matmul.ladder", vec![]));
    assert!(matches!(error, Err(Error::Damaged { .. })), "{error:?}");
    assert_eq!(Records::load(folder.path()).unwrap().chapters, before.chapters);
}

#[test]
fn a_damaged_record_is_not_written_over() {
    let (folder, before) = saved();
    let path = folder.path().join("matmul.json");
    fs::write(&path, "not JSON").unwrap();
    let error = save(folder.path(), &before.machine, "matmul", run("matmul.ladder", vec![]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("matmul.json is not a record"), "{error}");
    assert!(error.contains("delete it and run `measure` again"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "not JSON");
    assert!(matches!(Records::load(folder.path()), Err(Error::Message(_))));
    assert!(matches!(Records::load(&folder.path().join("none")), Err(Error::Damaged { .. })));
}

#[test]
fn a_key_that_names_no_single_value_says_what_there_is() {
    let (_folder, records) = saved();
    let several = "names 2 values on NAME; name more of the parameters n, rung";
    let none: ParamList = &[("n", &2048), ("rung", &"naive")];
    for (key, list, kind, says) in [
        ("matmul.ladder", &[] as ParamList, "Key", several),
        ("matmul.ladder", none, "Key", "there are matmul.ladder n=512 rung=naive"),
        ("matmul.ladder", &[("rung", &"amx")], "Skipped", "was not measured: this CPU has no AMX"),
        ("training.mlp", &[], "NotMeasured", "measure training`"),
    ] {
        let error = records.find(key, &params(list)).unwrap_err();
        let said = error.to_string().replace(&records.name, "NAME");
        assert!(format!("{error:?}").starts_with(kind) && said.contains(says), "{error:?}");
    }
    // Of a run that was cut off, what it had not measured yet is no mistake of the page.
    let mut cut = records.clone();
    for run in cut.chapters.values_mut().flat_map(|chapter| &mut chapter.runs) {
        run.unfinished = true;
    }
    let not_yet = |records: &Records, key, list| {
        let missing = records.find(key, &params(list));
        assert!(matches!(missing, Err(Error::NotMeasured { .. })), "{missing:?}");
    };
    not_yet(&cut, "matmul.ladder", none);
    // A key's run is that of the longest name.
    let part = Run { unfinished: true, ..run("matmul.ladder.more", vec![]) };
    let mut longer = records.clone();
    longer.chapters.get_mut("matmul").unwrap().runs.push(part);
    not_yet(&longer, "matmul.ladder.more", &[]);
}

#[test]
fn a_key_is_below_an_experiment_by_its_dots() {
    assert!(is_below("a.b", "a.b") && is_below("a.b.c", "a.b"));
    assert!(!is_below("a.bc", "a.b") && !is_below("a", "a.b"));
}

#[test]
fn a_value_says_its_share_of_the_limit() {
    let limit = Some(Limit { name: "peak".to_owned(), value: 4e9 });
    let value = Value { limit, ..value("a.b", 1, "x", 1e9) };
    assert_eq!(value.of_limit(), Some(0.25));
    assert_eq!(value.text(), "1.00 GFLOP/s");
    assert_eq!(name(&value.key, &value.params), "a.b n=1 rung=x");
    assert_eq!(self::value("a.b", 1, "x", 1e9).of_limit(), None);
}

#[test]
fn a_number_that_is_none_does_not_spoil_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let odd = Value::new("a.b", &[], Unit::Number, Samples(vec![f64::NAN, f64::INFINITY]));
    save(folder.path(), &Machine::default(), "a", run("a.b", vec![odd])).unwrap();
    let records = Records::load(folder.path()).unwrap();
    let read = records.find("a.b", &Params::new()).unwrap();
    assert!(read.median.is_nan() && read.samples.0.len() == 2);
}

#[test]
fn a_value_is_a_line() {
    let (folder, _) = saved();
    let text = fs::read_to_string(folder.path().join("matmul.json")).unwrap();
    let line = |key: &str| text.lines().find(|line| line.contains(key)).unwrap().trim();
    assert_eq!(
        line("matmul.sizes\", \"params"),
        "{\"key\": \"matmul.sizes\", \"params\": {\"n\": \"4\", \"rung\": \"a\"}, \"unit\": \"FLOP/s\", \
         \"median\": 3000000000.0, \"low\": 3000000000.0, \"high\": 3000000000.0, \
         \"samples\": [3000000000.0, 3000000000.0, 3000000000.0]}"
    );
    assert!(line("has no AMX").starts_with("{\"key\": \"matmul.ladder\", \"params\": {"), "{text}");
    assert_eq!(line("\"date\""), "\"date\": \"2026-01-31T00:00:00Z\",");
    assert!(text.ends_with("}\n"));
}

#[test]
fn what_can_not_be_saved_is_known_before() {
    let (folder, before) = saved();
    let machine = &before.machine;
    can_save(folder.path(), machine, ["matmul", "new"]).unwrap();
    assert_eq!(Records::load(folder.path()).unwrap().chapters, before.chapters);
    let new = folder.path().join("new");
    can_save(&new, machine, ["matmul"]).unwrap();
    assert!(!new.exists(), "nothing is left of the try");
    let file = folder.path().join("machine.json").join("below");
    let error = can_save(&file, machine, ["matmul"]).unwrap_err().to_string();
    assert!(error.contains("below: it can't be written") && error.contains("--records"), "{error}");
    #[cfg(unix)]
    {
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink(&circle, &circle).unwrap();
        can_save(&circle.join("new"), machine, ["matmul"]).unwrap_err();
    }
    // The records of another machine are not this one's; a driver and its GPU may have come since.
    let gpus = |gpus: &[&str]| Machine {
        gpus: gpus.iter().map(ToString::to_string).collect(),
        driver: Some("580".to_owned()),
        ..machine.clone()
    };
    can_save(folder.path(), &gpus(&["H200"]), ["matmul"]).unwrap();
    save(folder.path(), &gpus(&["H200"]), "matmul", run("matmul.more", vec![])).unwrap();
    for other in [gpus(&[]), gpus(&["T4"]), Machine { cpu: "b".to_owned(), ..gpus(&["H200"]) }] {
        let error = can_save(folder.path(), &other, ["matmul"]).unwrap_err().to_string();
        assert!(error.contains("another machine (a CPU, 0 cores, H200;"), "{error}");
        assert!(error.contains("--machine NAME"), "{error}");
    }
    let machine = &gpus(&["H200"]);
    fs::write(folder.path().join("matmul.json"), "not JSON").unwrap();
    assert!(can_save(folder.path(), machine, ["lab"]).is_ok());
    let error = can_save(folder.path(), machine, ["lab", "matmul"]).unwrap_err().to_string();
    assert!(error.contains("matmul.json is not a record"), "{error}");
}

proptest! {
    #[test]
    fn lines_change_the_form_and_not_the_content(
        numbers in prop::collection::vec(prop::collection::vec(any::<i32>(), 0..4), 0..4),
        words in prop::collection::vec("\\PC{0,6}", 0..4),
    ) {
        let value = serde_json::json!({ "a": numbers, "b": words, "values": [1, "2", [null, 3]], "d": [] });
        let all = [value.clone(), value.clone(), 4.into(), words.clone().into(), serde_json::json!({})];
        let json = serde_json::json!({ "values": all, "runs": [{ "skipped": words, "values": [] }, value] });
        let text = one_value_a_line(&serde_json::to_string_pretty(&json).unwrap());
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, json);
    }
}
