//! Keeps what the compiler was and how it was called: records name both.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    let version = version.trim();
    println!("cargo::rustc-env=LAB_RUSTC={}", if version.is_empty() { "unknown" } else { version });

    let of = |name: &str| env::var(name).unwrap_or_default();
    // PROFILE is `debug` for the profile that people call `dev`.
    let profile = if of("PROFILE") == "debug" { "dev".to_owned() } else { of("PROFILE") };
    let mut flags = format!("{profile}, opt-level={}, {}", of("OPT_LEVEL"), of("TARGET"));
    for flag in of("CARGO_ENCODED_RUSTFLAGS").split('\u{1f}').filter(|flag| !flag.is_empty()) {
        flags.push(' ');
        flags.push_str(flag);
    }
    println!("cargo::rustc-env=LAB_FLAGS={flags}");
}
