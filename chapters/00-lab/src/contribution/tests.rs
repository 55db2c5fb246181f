use super::*;
use crate::{Key, Samples, record::Limit, testing};

const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["n"]);
const RATIO: Key = Key::measured("demo.rate.ratio", Unit::Ratio, &[]);
const MORE: Key = Key::measured("demo.more", Unit::Count, &[]);

fn demo() -> Vec<Chapter> {
    let experiments = [(RATE.name, &[RATE, RATIO][..]), (MORE.name, &[MORE])];
    let experiments = experiments.map(|(key, values)| testing::demo(key, values).experiments);
    vec![Chapter {
        experiments: experiments.into_iter().flatten().collect(),
        ..testing::demo("", &[])
    }]
}

/// A machine of a user named jane, with traces of her everywhere that a text can be.
fn records() -> Records {
    let rates = Samples((1..=300).map(|k| f64::from(k * 7919 % 300)).collect());
    let peak = Limit { name: "the peak".to_owned(), value: 300.0 };
    let rate = RATE.at(&[("n", &64)]).against(peak).value(rates);
    let nan = RATIO.at(&[]).value(Samples(vec![f64::NAN, 1.0]));
    let why = "no compiler in /home/jane/bin, see https://example.org/a/b";
    let run = Run {
        experiment: "demo.rate".to_owned(),
        command: "throughput measure demo --peers=/home/jane/venv/python --device cuda:0 --data /home/jane/d"
            .to_owned(),
        date: "2026-01-31T00:00:00Z".to_owned(),
        commit: "abc1234+".to_owned(),
        budget: "full".to_owned(),
        rustc: "rustc 1.95.0".to_owned(),
        flags: "release -C linker=/opt/jane/ld".to_owned(),
        values: vec![rate, nan],
        skipped: vec![RATE.at(&[("n", &128)]).skipped(why)],
        ..Run::default()
    };
    Records {
        machine: Machine {
            cpu: "AMD Ryzen(TM) 9 7950X CPU".to_owned(),
            cores: 16,
            os: "Debian GNU/Linux 12".to_owned(),
            ..Machine::default()
        },
        chapters: BTreeMap::from([("demo".to_owned(), ChapterRecord { runs: vec![run] })]),
        ..testing::unmeasured()
    }
}

fn text() -> String {
    pack(&records()).unwrap().text().unwrap()
}

fn error(text: &str) -> String {
    let error = unpack(text, &demo(), &[records()]).unwrap_err();
    assert!(matches!(error, Error::Message(_)));
    let said = error.to_string();
    assert!(!said.contains('\n') && said.contains("; "), "no way out: {said}");
    said
}

#[test]
fn what_is_sent_is_received_and_has_no_path() {
    let text = text();
    assert!(!text.contains("jane") && !text.contains("venv"), "{text}");
    let made = unpack(&format!("\u{feff}{text}"), &demo(), &[records()]).unwrap();
    assert_eq!(made.name, "amd-ryzen-9-7950x-16core");
    assert_eq!(made.machine, records().machine);
    let run = &made.chapters["demo"].runs[0];
    assert_eq!(run.command, "cargo run -- measure demo.rate --budget full --peers --device cuda:0");
    assert_eq!(run.flags, "release -C linker=…");
    // The build and the variables are a part of the command, and none of them is a path.
    let mut mine = records().chapters["demo"].runs[0].clone();
    mine.command =
        "THROUGHPUT_DEVICE=cuda:0 MNIST_DIR=/home/jane cargo run --features cuda,mpi -- measure"
            .to_owned();
    let wanted =
        "THROUGHPUT_DEVICE=cuda:0 cargo run --features cuda,mpi -- measure demo.rate --budget full";
    assert_eq!(command(&mine), wanted);
    mine.command = wanted.to_owned();
    assert_eq!(command(&mine), wanted);
    assert_eq!(run.skipped[0].why, "no compiler in …, see https://example.org/a/b");
    // Fewer samples, the same numbers, and how many there were.
    let (sent, here) = (&run.values[0], &records().chapters["demo"].runs[0].values[0]);
    assert_eq!((sent.samples.0.len(), sent.count()), (SENT, 300));
    assert_eq!((sent.median, sent.low, sent.high), (here.median, here.low, here.high));
    assert_eq!(made.values().count(), 2);
}

#[test]
fn records_of_an_unoptimised_build_are_not_sent() {
    let mut mine = records();
    mine.chapters.get_mut("demo").unwrap().runs[0].flags = "dev, opt-level=1".to_owned();
    let said = pack(&mine).unwrap_err().to_string();
    assert!(said.contains("demo.rate") && said.contains("cargo run -- measure"), "{said}");
}

#[test]
fn a_received_machine_is_a_contributed_one_and_never_takes_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let made = unpack(&text(), &demo(), &[]).unwrap();
    let to = made.write(folder.path()).unwrap();
    let loaded = Records::load(&to).unwrap();
    assert!(loaded.contributed && loaded.name == made.name);
    assert_eq!(loaded.values().count(), 2);
    let again = made.write(folder.path()).unwrap_err().to_string();
    assert!(again.contains("already") && again.contains("--machine"), "{again}");
    fs::create_dir(folder.path().join("h200")).unwrap();
    for name in ["h200", "H200", "AMD-Ryzen-9-7950x-16core"] {
        let other = made.clone().named(name).unwrap();
        assert!(other.write(folder.path()).is_err(), "{name}: some systems have one folder");
    }
}

#[test]
fn a_machine_that_can_not_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = unpack(&text(), &demo(), &[]).unwrap();
    // A chapter whose file can't be made; the machine's own is written before it.
    let runs = made.chapters.remove("demo").unwrap();
    made.chapters.insert("no/such/folder".to_owned(), runs.clone());
    assert!(matches!(made.write(folder.path()), Err(Error::Damaged { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // Neither that nor what a program left that was ended blocks the next try.
    made.chapters = BTreeMap::from([("demo".to_owned(), runs)]);
    let part = folder.path().join("contributed/.amd-ryzen-9-7950x-16core");
    fs::create_dir_all(part.join("old.json")).unwrap();
    let to = made.write(folder.path()).unwrap();
    assert!(!part.exists() && !to.join("old.json").exists());
}

#[test]
fn each_thing_that_is_wrong_is_one_sentence() {
    let text = text();
    let with = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1)
    };
    for (broken, says) in [
        ("{".to_owned(), "not a file of `measure --send`"),
        (with("\"throughput_records\": 1", "\"throughput_records\": 2"), "has form 2"),
        (with("\"name\": \"amd", "\"surprise\": 1, \"name\": \"amd"), "surprise"),
        (with("\"amd-ryzen", "\"../../amd-ryzen"), "names a path"),
        (with("\"amd-ryzen-9-7950x-16core\"", "\"a b\""), "can't be the name"),
        (with("\"amd-ryzen-9-7950x-16core\"", "\"yours\""), "can't be the name"),
        (with("\"demo\": {", "\"../demo\": {"), "names a path"),
        (with("\"demo\": {", "\"cooking\": {"), "no chapter `cooking`"),
        (with("\"experiment\": \"demo.rate\"", "\"experiment\": \"demo.pie\""), "no experiment"),
        (text.replace("\"key\": \"demo.rate", "\"key\": \"demo.old"), "has 0 values"),
        (with("\"FLOP/s\"", "\"s\""), "has the unit s"),
        (with("\"FLOP/s\"", "\"apples\""), "apples"),
        (with("\"median\": 149.5", "\"median\": 1e300"), "do not give"),
        (with("\"taken\": 300", "\"taken\": 3"), "25 samples of 3"),
        (with("2026-01-31T", "last week "), "has the date"),
        (with("\"abc1234+\"", "\"<script>\""), "has the commit"),
        (with("\"budget\": \"full\"", "\"budget\": \"vast\""), "has the budget"),
        (with("measure demo.rate --", "rm -rf demo.rate --"), "has the command"),
        (with("\"release -C", "\"dev, opt-level=1 -C"), "not optimised"),
        (with("\"value\": 300.0", "\"value\": -1.0"), "no limit"),
        (with("rustc 1.95.0", "rustc\\u0007"), "control characters"),
        (with("rustc 1.95.0", "rustc\\u202e"), "control characters"),
        (with("rustc 1.95.0", "rust\\u200bc"), "control characters"),
        (with("rustc 1.95.0", &"x".repeat(LONGEST_TEXT + 1)), "too long"),
        (with("Debian", &"x".repeat(LONGEST_NAME)), "has a name of"),
        (with("\"gpus\": []", &format!("\"gpus\": {:?}", ["a"; MOST_PARTS + 1])), "65 GPUs"),
        (with("\"features\": []", &format!("\"features\": {:?}", ["a"; 99])), "99 features"),
        (with("\"cores\": 16", "\"cores\": 0"), "has 0 cores"),
        (with("\"n\": \"64\"", "\"n\": \"nan\""), "n=nan, which is no whole number"),
        (with("\"n\": \"64\"", "\"n\": \"-1\""), "n=-1, which is no whole number"),
        (with("\"n\": \"64\"", "\"n\": \"1.5\""), "n=1.5, which is no whole number"),
        (with("\"n\": \"64\"", "\"n\": \"\""), "n=, which is no whole number"),
        (with("\"n\": \"64\"", "\"n\": \"99999999999999999999\""), "no whole number"),
        (with("\"n\": \"64\"", "\"m\": \"64\""), "other parameters"),
        (with("GNU/Linux", "/home/jane/linux"), "names a path"),
        (" ".repeat(LONGEST as usize + 1), "is longer than 16.0 MiB"),
    ] {
        let said = match says {
            // The name is checked before the rest.
            "names a path" if broken.contains("../../amd") => {
                assert!(error(&broken).contains("can't be the name"));
                continue;
            }
            _ => error(&broken),
        };
        assert!(said.contains(says), "`{says}` is not in: {said}");
    }
    let mut doubled = pack(&records()).unwrap();
    let runs = &mut doubled.chapters.get_mut("demo").unwrap().runs;
    let value = runs[0].values[0].clone();
    runs[0].values.push(value);
    assert!(error(&doubled.text().unwrap()).contains("demo.rate n=64` twice"));
    let old = unpack(&with("demo.rate.ratio", "demo.rate.old"), &demo(), &[records()]).unwrap();
    assert_eq!((old.values().count(), old.left_out), (1, BTreeSet::from(["demo.rate.old".into()])));
    let empty = Records { chapters: BTreeMap::new(), ..records() };
    assert!(pack(&empty).unwrap_err().to_string().contains("nothing is measured"));
}

#[test]
fn a_key_may_have_two_units() {
    let mut two = records();
    let run = &mut two.chapters.get_mut("demo").unwrap().runs[0];
    run.values.push(Value::new("demo.rate", &[("n", &"a\nb")], Unit::Seconds, Samples(vec![1.0])));
    // And an experiment may have the name of its value.
    let (experiment, values) = (MORE.name.to_owned(), vec![MORE.at(&[]).value(Samples::one(1.0))]);
    let more = Run { experiment, values, skipped: vec![], ..run.clone() };
    two.chapters.get_mut("demo").unwrap().runs.push(more);
    let text = pack(&two).unwrap().text().unwrap();
    assert_eq!(unpack(&text, &demo(), &[two]).unwrap().values().count(), 4);
    assert!(error(&text).contains("has the unit s, and the reference machines have FLOP/s"));
}

#[test]
fn a_long_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    fs::File::create(&path).unwrap().set_len(LONGEST + 1).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("is longer"));
    let said = read(folder.path()).unwrap_err().to_string();
    assert!(said.contains("not a regular file"), "{said}");
    let none = read(&folder.path().join("none")).unwrap_err().to_string();
    assert!(none.starts_with("can't read") && none.contains("give the path"), "{none}");
}

#[test]
fn paths_go_and_other_texts_stay() {
    for (text, left) in [
        ("/home/me", "…"),
        ("-C linker=/home/me/ld (GNU/Linux)", "-C linker=… (GNU/Linux)"),
        ("a /x/y, b", "a …, b"),
        ("`~/lib`: no", "`…`: no"),
        ("C:\\Users\\me\\x", "…"),
        ("D:/data", "…"),
        ("-L/home/me/lib", "…"),
        ("error:/srv/x", "…"),
        ("file:///etc/x", "…"),
        ("images/s GNU/Linux a / b", "images/s GNU/Linux a / b"),
        ("see /sys/class/powercap", "see /sys/class/powercap"),
        ("(https://www.nvidia.com/drivers)", "(https://www.nvidia.com/drivers)"),
        ("", ""),
    ] {
        assert_eq!(without_paths(text), left);
        assert_eq!(without_paths(left), left, "taking paths out twice changes nothing");
    }
}

#[test]
fn names_are_found_as_words() {
    let made = pack(&records()).unwrap();
    let names = ["Debian", "ebia", "jane", "example.org", "ample.org"].map(str::to_owned);
    assert_eq!(made.traces(&names).unwrap(), ["Debian", "example.org"]);
}

#[test]
fn every_machine_gets_a_name() {
    let named = |cpu: &str, gpu: Option<&str>| {
        suggested_name(&Machine {
            cpu: cpu.to_owned(),
            cores: 8,
            gpus: gpu.into_iter().map(str::to_owned).collect(),
            ..Machine::default()
        })
    };
    assert_eq!(named("Intel(R) Xeon(R) Platinum 8488C", None), "intel-xeon-platinum-8488c-8core");
    assert_eq!(named("x", Some("NVIDIA GeForce RTX 4090")), "nvidia-geforce-rtx-4090");
    assert_eq!(named("…", None), "machine-8core");
    for cpu in ["", &"long ".repeat(30), "龍芯", "_"] {
        assert!(is_name(&named(cpu, None)), "{}", named(cpu, None));
    }
    for bad in ["", "..", "a/b", "C:\\x", "a b", "-a", &"x".repeat(41)] {
        assert!(!is_name(bad), "{bad}");
    }
    for taken in ["index", "Index", "contributed", "con", "NUL", "aux", "com1", "LPT9"] {
        assert!(!is_name(taken), "{taken}");
    }
    for fine in ["com", "com-1", "computer", "console", "com10", "yours"] {
        assert!(is_name(fine), "{fine}");
    }
}
