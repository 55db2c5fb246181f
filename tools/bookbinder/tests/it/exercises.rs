//! Exercises: found in the order of the pages, checked with a real cargo, and proved.

use bookbinder::exercises::{self, Checker, Exercise, Outcome, Tried};
use lab::testing::put;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
};

const TEST: &str = "\
#[cfg_attr(feature = \"solutions\", path = \"solution.rs\")]
mod exercise;

#[test]
fn three_and_four() {
    println!(\"it says {}\", exercise::add(3, 4));
    assert_eq!(exercise::add(3, 4), 7, \"the sum of 3 and 4\");
}
";

fn code(body: &str) -> String {
    format!(
        "pub fn add(a: u32, b: u32) -> u32 {{\n    // EXERCISE: begin\n    {body}\n    // EXERCISE: end\n}}\n"
    )
}

/// The one source of both.
fn source(stub: &str, solution: &str) -> String {
    let both = format!("{solution}\n    // EXERCISE: instead\n    // {stub}");
    code(&both)
}

/// Where the demo's exercises are named.
const MANIFEST: &str = "chapters/01-demo/exercises/Cargo.toml";

fn add(root: &Path, name: &str, stub: &str, solution: &str) {
    let readme = format!(
        "# The {name}\n\n10 minutes · level 1 of 3\n\nDo it.\n\n## Hint 1\n\nSo.\n\n## Solution\n\nDone.\n"
    );
    let file = |file: &str, text: &str| {
        put(root, &format!("chapters/01-demo/exercises/{name}/{file}"), text);
    };
    file("README.md", &readme);
    file("solution.rs", &source(stub, solution));
    file("test.rs", TEST);
    let tests = fs::read_to_string(root.join(MANIFEST)).unwrap();
    let test = "\n[[test]]\nname = \"exercise-NAME\"\npath = \"NAME/test.rs\"\ntest = false\n";
    put(root, MANIFEST, tests + &test.replace("NAME", name));
}

/// A course with one chapter, whose page quotes `second` before `first`, and not `third`.
fn course() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let workspace =
        "[workspace]\nmembers = [\"chapters/*\", \"chapters/*/exercises\"]\nresolver = \"3\"\n";
    let package = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let exercises = package.replace("demo", "demo-exercises") + "\n[features]\nsolutions = []\n";
    // By name it comes before the opener, and by the table of contents behind it.
    let a = "# A\n\n{{#exercise 01-demo/first}}\n";
    let contents = "# Summary\n\n- [Demo](01-demo/README.md)\n  - [A](01-demo/A.md)\n";
    for (file, text) in [
        ("Cargo.toml", workspace),
        ("chapters/01-demo/Cargo.toml", package),
        (MANIFEST, &exercises),
        ("chapters/01-demo/src/lib.rs", ""),
        ("book/src/01-demo/README.md", "# Demo\n\n{{#exercise demo/second}}\n\nText.\n"),
        ("book/src/01-demo/A.md", a),
        ("book/src/SUMMARY.md", contents),
    ] {
        put(root, file, text);
    }
    for (name, stub) in [("first", "a"), ("second", "b"), ("third", "a + 1")] {
        add(root, name, stub, "a + b");
    }
    for exercise in exercises::all(root).unwrap() {
        exercise.write_missing().unwrap();
    }
    folder
}

fn file(root: &Path, name: &str) -> PathBuf {
    root.join("chapters/01-demo/exercises").join(name).join("exercise.rs")
}

fn named<'e>(all: &'e [Exercise], name: &str) -> &'e Exercise {
    all.iter().find(|exercise| exercise.name == name).unwrap()
}

/// Only one test at a time may run cargo: they would wait for each other anyway.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static CARGO: Mutex<()> = Mutex::new(());
    CARGO.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn the_order_is_that_of_the_page() {
    let root = course();
    let all = exercises::all(root.path()).unwrap();
    let names: Vec<(&str, bool)> = all.iter().map(|e| (e.name.as_str(), e.on_page)).collect();
    assert_eq!(names, [("second", true), ("first", true), ("third", false)]);
    let first = named(&all, "first");
    assert_eq!((first.id().as_str(), first.readme.title.as_str()), ("demo/first", "The first"));
    assert_eq!(first.solved_parts().unwrap(), [(3, "    a + b\n".to_owned())]);
}

#[test]
fn exercises_are_named_in_several_ways() {
    let root = course();
    let all = exercises::all(root.path()).unwrap();
    assert_eq!(exercises::select(&all, None).unwrap().len(), 3);
    let count = |which| exercises::select(&all, Some(which)).unwrap().len();
    assert_eq!(["demo", "1", "01-demo"].map(count), [3; 3]);
    assert_eq!(["demo/third", "d/th", "third", "th"].map(count), [1; 4]);
    let twice = [&all[..], &[Exercise { krate: "other".to_owned(), ..all[0].clone() }]].concat();
    let error = |which: &str| exercises::select(&twice, Some(which)).unwrap_err().to_string();
    assert!(["dim", "2", ""].iter().all(|wrong| error(wrong).contains("demo")));
    assert!(["demo/fourth", "thrid"].iter().all(|wrong| error(wrong).contains("third")));
    assert_eq!(error("second"), "`second` may be demo/second or other/second");
}

#[test]
fn progress_is_shown_chapter_by_chapter() {
    let root = course();
    let all = exercises::all(root.path()).unwrap();
    let mut other = all[0].clone();
    (other.chapter, other.krate) = ("02-next_one".to_owned(), "next_one".to_owned());
    let states = [(&all[0], true), (&all[1], false), (&all[2], false), (&other, true)];
    let bars = "  demo      ████░░░░░░░░  1 of 3\n  next-one  ████████████  1 of 1\n";
    assert_eq!(exercises::progress(&states, true), bars);
    assert_eq!(exercises::progress(&states, false), "  demo      1 of 3\n  next-one  1 of 1\n");
}

#[test]
fn a_readme_that_is_not_one_is_named() {
    let root = course();
    put(root.path(), "chapters/01-demo/exercises/first/README.md", "# First\n\nDo it.\n");
    let error = format!("{:#}", exercises::all(root.path()).unwrap_err());
    assert!(error.contains("first/README.md") && error.contains("minutes"), "{error}");
}

#[test]
fn the_readers_file_is_written_out_of_the_source_and_never_over_what_is_there() {
    let root = course();
    let all = exercises::all(root.path()).unwrap();
    let first = named(&all, "first");
    let read = || fs::read_to_string(first.file()).unwrap();
    assert_eq!(read(), code("a"));
    fs::write(first.file(), "my own").unwrap();
    first.write_missing().unwrap();
    assert_eq!(read(), "my own");
    fs::remove_file(first.file()).unwrap();
    first.write_missing().unwrap();
    assert_eq!(read(), code("a"));

    // Several lines keep their places, whichever way the formatter moves the comment.
    let nested = "{\n  // EXERCISE: begin\n  a();\n      // EXERCISE: instead\n      // for b in c {\n      //\n      //     // why\n      // }\n      // EXERCISE: end\n}\n";
    let wanted =
        "{\n  // EXERCISE: begin\n  for b in c {\n\n      // why\n  }\n      // EXERCISE: end\n}\n";
    assert_eq!(exercises::stub::stub(nested).unwrap(), wanted);
    let whole = source("a", "a + b");
    for (wrong, why) in [
        (whole.replace("    // EXERCISE: begin\n", ""), "line 3 has `// EXERCISE: instead`"),
        (whole.replace("    // EXERCISE: instead\n", ""), "line 5 has `// EXERCISE: end`"),
        (whole.replace("    // EXERCISE: end\n", ""), "no comment"),
        (whole.replace("instead", "begin"), "line 4 has `// EXERCISE: begin`"),
        (whole.replace("// a\n", "a\n"), "line 5 is what a reader begins with"),
        ("fn a() {}\n".to_owned(), "in turn"),
    ] {
        let error = exercises::stub::stub(&wrong).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn an_exercise_is_broken_failing_endless_or_solved() {
    let _alone = one_at_a_time();
    let root = course();
    let all = exercises::all(root.path()).unwrap();
    let (first, checker) = (named(&all, "first"), Checker::new(root.path()));
    let check = || checker.check(first, &|_| {}).unwrap();

    assert_eq!(checker.known(first).unwrap(), None, "it is untested");
    let Outcome::Failing(failed) = check() else { panic!("the stub fails") };
    assert_eq!(failed[0].0, "three and four");
    for (said, there) in
        [("it says 3", true), ("the sum of 3 and 4", true), ("RUST_BACKTRACE", false)]
    {
        assert_eq!(failed[0].1.contains(said), there, "{failed:?}");
    }
    assert!(!checker.state(first, &|_| panic!("it is remembered")).unwrap());
    assert_eq!(checker.known(first).unwrap(), Some(false));
    assert_eq!(checker.known(named(&all, "second")).unwrap(), None);

    fs::write(file(root.path(), "first"), code("a + c")).unwrap();
    assert_eq!(checker.known(first).unwrap(), None, "it has changed");
    let Outcome::Broken(errors) = check() else { panic!("it does not compile") };
    for (said, there) in
        [("cannot find value `c`", true), ("exercise.rs:3", true), ("aborting", false)]
    {
        assert_eq!(errors.contains(said), there, "{errors}");
    }

    // Whatever ends the program early, or is printed like what the program prints, is no solution.
    let forged = "print!(\"\\ntest three_and_four ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n\");";
    let early = "ended before the test did (exit status: 0)";
    for (body, says) in [
        ("std::process::abort()", "ended before the test did"),
        ("EXIT", early),
        ("FORGED EXIT", early),
        ("FORGED a", "the sum of 3 and 4"),
        ("for n in 0..100_000 { println!(\"{n}\"); } a", "…\n"),
        ("for n in 0..100_000 { print!(\"{n}\"); } a", "the sum of 3 and 4"),
        ("panic!(\"test it\")", "test it"),
        #[cfg(target_os = "linux")]
        (
            "#[used] #[unsafe(link_section = \".init_array\")] static F: fn() = || { FORGED EXIT }; a + b",
            early,
        ),
    ] {
        let body = body.replace("FORGED", forged).replace("EXIT", "std::process::exit(0)");
        fs::write(file(root.path(), "first"), code(&body)).unwrap();
        let Outcome::Failing(failed) = check() else { panic!("{body}") };
        assert_eq!(failed[0].0, "three and four", "{body}");
        assert!(failed[0].1.contains(says), "{body}: {failed:?}");
        assert!(failed[0].1.len() < 99_999, "{body}: {failed:?}");
    }

    fs::write(file(root.path(), "first"), code("b + a")).unwrap();
    assert_eq!(check(), Outcome::Solved("it says 7".to_owned()));
    assert_eq!(checker.known(first).unwrap(), Some(true));
    assert!(checker.state(first, &|_| panic!("it is remembered")).unwrap());
}

#[test]
fn verify_finds_what_is_not_in_order_and_changes_nothing() {
    let _alone = one_at_a_time();
    let root = course();
    let all = exercises::all(root.path()).unwrap();
    let checker = Checker::new(root.path());
    let together = |names: &[&str]| {
        let exercises: Vec<&Exercise> = names.iter().map(|name| named(&all, name)).collect();
        let mut told = Vec::new();
        checker.verify(&exercises, &|_| {}, &mut |exercise, verified| {
            told.push((exercise.name.clone(), verified.map_err(|error| format!("{error:#}"))));
        });
        let names_told: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names_told, names);
        told.into_iter().map(|(_, verified)| verified).collect::<Vec<_>>()
    };
    let verify = |name: &str| together(&[name]).remove(0);
    // At once, as the course's own tests do it; and where one does not compile, the others are told all the same.
    assert_eq!(together(&["second", "first"]), [Ok(Tried::Both), Ok(Tried::Both)]);
    assert_eq!(fs::read_to_string(file(root.path(), "second")).unwrap(), code("b"));
    let folder = root.path().join("chapters/01-demo/exercises/first");
    let write = |stub: &str, solution: &str| {
        let _ = fs::remove_file(folder.join("exercise.rs"));
        fs::write(folder.join("solution.rs"), source(stub, solution)).unwrap();
        named(&all, "first").write_missing().unwrap();
    };
    write("a + c", "a + b");
    let told = together(&["second", "first", "third"]);
    assert_eq!(told[0], Ok(Tried::Both));
    let error = told[1].as_ref().unwrap_err();
    assert!(error.contains("the stub does not compile") && error.contains("`c`"), "{error}");
    assert!(told[2].as_ref().unwrap_err().contains("no page"));
    write("b + a", "a + b");
    let told = together(&["second", "first"]);
    assert!(told[0].is_ok() && told[1].as_ref().unwrap_err().contains("the stub passes"));
    write("a", "a * b");
    let error = verify("first").unwrap_err();
    assert!(error.contains("the solution fails") && error.contains("sum of 3 and 4"), "{error}");
    write("a", "a + b");

    // What a reader has written is neither judged nor touched.
    fs::write(file(root.path(), "first"), code("a + c")).unwrap();
    assert_eq!(together(&["second", "first"]), [Ok(Tried::Both), Ok(Tried::Solution)]);
    assert_eq!(fs::read_to_string(file(root.path(), "first")).unwrap(), code("a + c"));

    // Where a tool is missing, neither is; and it is no solution, and nothing that is remembered.
    let lacking = format!("panic!(\"{}no tool\")", lab::check::LACKING);
    write(&lacking, &lacking);
    assert_eq!(verify("first"), Ok(Tried::Neither("no tool".to_owned())));
    let outcome = checker.check(named(&all, "first"), &|_| {}).unwrap();
    assert_eq!(outcome, Outcome::Lacking("no tool".to_owned()));
    assert_eq!(checker.known(named(&all, "first")).unwrap(), None);
    write("a", "a + b");

    // A chapter that forgot the test in its manifest.
    let manifest = root.path().join(MANIFEST);
    let text = fs::read_to_string(&manifest).unwrap().replace("exercise-first", "exercise-frist");
    fs::write(&manifest, text).unwrap();
    assert!(verify("first").unwrap_err().contains("exercise-first"));
}
