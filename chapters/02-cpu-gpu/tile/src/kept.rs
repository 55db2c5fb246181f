//! Kernels that are compiled here, and run on a machine with a card and without their compiler, which is twenty times as large:
//! the library keeps them by what it compiled ([`crate::library::keep_in`]), and asks the compiler no more than its versions.

use crate::code::tool;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

/// Writes a stand-in for the compiler into a folder, `tileiras`: it says the compiler's versions, and compiles nothing.
///
/// # Errors
/// If the compiler itself is not there, or the file can't be written.
pub fn stand_in(folder: &Path) -> Result<(), String> {
    let mut text = "#!/bin/sh\ncase $1 in\n".to_owned();
    for question in ["--version", "--list-versions"] {
        let asked = Command::new(tool("tileiras")).arg(question).output();
        let asked = asked.map_err(|why| format!("tileiras did not start: {why}"))?;
        let said = String::from_utf8_lossy(&asked.stdout).replace('\'', "");
        text += &format!("{question}) echo '{}' ;;\n", said.trim());
    }
    text += "*) echo 'tileiras: this kernel was not compiled before' >&2; exit 1 ;;\nesac\n";
    let file = folder.join("tileiras");
    let written = fs::write(&file, text)
        .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)));
    written.map_err(|why| format!("{}: {why}", file.display()))
}
