//! The course's own book: every number that a page names exists, every quote fits, every source is cited,
//! every link leads somewhere.

use std::{path::Path, process::Command};

#[test]
fn the_book_builds_and_its_links_lead_somewhere() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    for arguments in [&["book", "build", "--out"], &["book", "check"][..]] {
        let ran = Command::new(env!("CARGO_BIN_EXE_throughput"))
            .args(arguments)
            .arg(&out)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn a_folder_that_is_no_book_is_left_alone() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-a-book");
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("thesis.txt"), "years of work").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_throughput"))
        .args(["book", "build", "--out"])
        .arg(&out)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(!ran.status.success());
    assert!(String::from_utf8_lossy(&ran.stderr).contains("is not a book"));
    assert!(out.join("thesis.txt").is_file());
}
