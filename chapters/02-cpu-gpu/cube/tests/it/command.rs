//! The program: what it prints, and its exit codes.

use crate::clients;
use std::{
    io::Write as _,
    process::{Command, Output},
};

fn cube() -> Command {
    Command::new(env!("CARGO_BIN_EXE_cube"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_command_says_what_it_has_found() {
    for client in clients(|_| true) {
        let name = &client.properties().identity.name;
        for (words, expected) in [
            (&["run", "16", "5"][..], ["tiled is right", "tiled, n = 5:", name]),
            (&["race", "2"], ["of 2 products are wrong", "NoBarrierBefore", name]),
            (&["text"], ["// naive\n", "// tiled\n", "// no_barrier_before\n"]),
        ] {
            let Output { status, stdout, stderr } = cube().args(words).output().unwrap();
            let said = text(&stdout);
            assert!(status.success(), "{words:?}: {}", text(&stderr));
            assert!(expected.iter().all(|part| said.contains(*part)), "{words:?}: {said}");
        }
    }
}

/// As chapter 2's race asks.
#[test]
fn a_product_takes_its_turns() {
    for _ in clients(|_| true).into_iter().take(1) {
        let (questions, mut ask) = std::io::pipe().unwrap();
        ask.write_all(b"1\n3\n").unwrap();
        drop(ask);
        let words = ["turns", "tiled", "33"];
        let Output { stdout, stderr, .. } = cube().args(words).stdin(questions).output().unwrap();
        let said = text(&stdout);
        let (ready, seconds) = said.split_once('\n').unwrap();
        assert_eq!(ready, "ready", "{}", text(&stderr));
        let seconds: Vec<f64> = seconds.lines().map(|line| line.parse().unwrap()).collect();
        assert!(seconds.len() == 2 && seconds.iter().all(|s| *s > 0.0), "{said}");
    }
}

/// The variable is that of Vulkan's loader, which a Mac does not have.
#[cfg(not(target_os = "macos"))]
#[test]
fn without_a_driver_it_says_what_to_install() {
    for word in ["run", "race", "text"] {
        let Output { status, stderr, .. } = cube()
            .arg(word)
            .env("VK_DRIVER_FILES", "none")
            .env("VK_ICD_FILENAMES", "none")
            .output()
            .unwrap();
        assert_eq!(status.code(), Some(1), "{word}");
        assert_eq!(text(&stderr).trim(), cube::product::NO_DEVICE, "{word}");
    }
}

#[test]
fn wrong_words_are_told_the_right_ones() {
    for words in [&["walk"][..], &["run", "0"], &["run", "2", "x"], &["turns", "walk", "2"], &[]] {
        let Output { status, stderr, .. } = cube().args(words).output().unwrap();
        assert_eq!(status.code(), Some(2), "{words:?}");
        assert!(text(&stderr).starts_with("Usage: "), "{words:?}");
    }
}
