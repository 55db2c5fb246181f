//! The way of a machine's records: measured, sent as one file, received by a maintainer, shown by the book.

use crate::{command, root, said};
use lab::{
    files::inside,
    record::{Value, name},
    testing::copy,
};
use std::path::Path;

/// What the command prints, and whether it succeeded.
fn throughput(folder: &Path, records: &Path, words: &[&str]) -> (bool, String) {
    let words = [&["measure"], words, &["--records"]].concat();
    let out = command(&words, folder).arg(records).env("USER", "debian").output().unwrap();
    (out.status.success(), said(&out))
}

#[test]
fn records_are_sent_as_one_file_and_received() {
    let root = root().join("book/records/epyc-2core");
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mine, theirs) = (here.path().join("records"), there.path().join("records"));
    let (done, said) = throughput(here.path(), &mine, &["--send"]);
    assert!(!done && said.contains("measure --budget book"), "{said}");

    copy(&root, &mine.join("yours"));
    let (done, said) = throughput(here.path(), &mine, &["--send"]);
    assert!(done && said.contains("no paths") && said.contains("the word `debian`"), "{said}");
    let files: Vec<_> = inside(here.path()).into_iter().filter(|path| path.is_file()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let size = file.metadata().unwrap().len();
    assert!(size < 8 << 20, "all experiments leave {size} bytes, which is no small file");

    let sent = file.to_str().unwrap();
    copy(&root, &theirs.join("epyc-2core"));
    let (received, said) = throughput(there.path(), &theirs, &["--receive", sent]);
    assert!(received && said.contains("then commit the folder"), "{said}");
    let loaded = lab::Records::load(&theirs.join("contributed/amd-epyc-2core")).unwrap();
    let before = lab::Records::load(&root).unwrap();
    assert!(loaded.contributed && loaded.machine == before.machine);
    // What a page shows of each value is what it would show of the sender's own record.
    let shown = |records: &lab::Records| -> Vec<String> {
        let one = |value: &Value| {
            let spread = [value.low, value.high].map(|number| value.unit.format(number)).join(" ");
            let name = name(&value.key, &value.params);
            format!("{name} {spread} {} of {}", value.text(), value.count())
        };
        records.values().map(one).collect()
    };
    assert_eq!(shown(&loaded), shown(&before));

    for (words, says) in [
        (vec!["--receive", sent], "there is a machine `amd-epyc-2core` already"),
        (vec!["--receive", sent, "--machine", "../up"], "can't be the name"),
        (vec!["--receive", sent, "--machine", "epyc-2core"], "already"),
        (vec!["--receive", "none.json"], "none.json"),
    ] {
        let (received, said) = throughput(there.path(), &theirs, &words);
        assert!(!received && said.contains(says) && said.lines().count() == 1, "{words:?}: {said}");
    }
    let (received, said) =
        throughput(there.path(), &theirs, &["--receive", sent, "--machine", "b"]);
    assert!(received, "{said}");
}
