//! `check` lists the exercises at once: it builds nothing unasked.

use std::process::Command;

#[test]
fn a_fresh_clone_lists_its_exercises_without_building_them() {
    let nothing_built = tempfile::tempdir().unwrap();
    let said = |words: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_throughput"))
            .arg("check")
            .args(words)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("CARGO_TARGET_DIR", nothing_built.path())
            // A call of cargo fails.
            .env("CARGO", nothing_built.path().join("no-cargo"))
            .env("PATH", nothing_built.path())
            .output()
            .unwrap();
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let all = bookbinder::exercises::all(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
    let list = said(&["--list"]);
    for exercise in &all {
        let line = list.lines().find(|line| line.contains(&format!(" {} ", exercise.id())));
        assert!(line.is_some_and(|line| line.starts_with("? ")), "{}: {list}", exercise.id());
    }
    assert!(
        list.contains(&format!("0 of {} solved, {} not tested", all.len(), all.len())),
        "{list}"
    );
    // The next exercise, for a hint: the first that is not known to be solved.
    assert!(said(&["--hint"]).starts_with(&format!("{}, hint 1 of", all[0].title)));

    // What was found out is remembered, for the files as they are.
    let checker = "{\"KEY\": {\"key\": \"0\", \"solved\": true}}".replace("KEY", &all[0].id());
    std::fs::write(nothing_built.path().join("exercises.json"), checker).unwrap();
    assert!(said(&["--list"]).contains("0 of "), "a key of other files means nothing");
}
