//! `check` lists the exercises at once: it builds nothing unasked.

use crate::{command, root, said as both};

#[test]
fn a_fresh_clone_lists_its_exercises_without_building_them() {
    let nothing_built = tempfile::tempdir().unwrap();
    let said = |words: &[&str]| {
        let out = command(&[&["check"], words].concat(), root())
            .env("CARGO_TARGET_DIR", nothing_built.path())
            // A call of cargo fails.
            .env("CARGO", nothing_built.path().join("no-cargo"))
            .env("PATH", nothing_built.path())
            .output()
            .unwrap();
        assert!(out.status.success(), "{words:?}: {}", both(&out));
        String::from_utf8(out.stdout).unwrap()
    };
    let all = bookbinder::exercises::all(root()).unwrap();
    let list = said(&["--list"]);
    for exercise in &all {
        let line = list.lines().find(|line| line.contains(&format!(" {} ", exercise.id())));
        assert!(line.is_some_and(|line| line.starts_with("? ")), "{}: {list}", exercise.id());
    }
    let count = format!("0 of {0} solved, {0} not tested", all.len());
    assert!(list.contains(&count), "{list}");
    // The next exercise, for a hint: the first that is not known to be solved.
    assert!(said(&["--hint"]).starts_with(&format!("{}, hint 1 of", all[0].readme.title)));

    // What was found out is remembered, for the files as they are.
    let checker = "{\"KEY\": {\"key\": \"0\", \"solved\": true}}".replace("KEY", &all[0].id());
    std::fs::write(nothing_built.path().join("exercises.json"), checker).unwrap();
    assert!(said(&["--list"]).contains("0 of "), "a key of other files means nothing");
}
