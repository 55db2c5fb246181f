//! What the compiler makes of the micro-kernels, in this very program: the instruction that a kernel is for, on the widest
//! registers, and no call. A part of a kernel that is not inlined is compiled for any CPU, and costs nine tenths of the
//! speed. It needs `objdump` (binutils).

#![cfg(target_arch = "x86_64")]

use lab::testing::{Tool, need};
use std::process::Command;

/// The functions of this program whose names contain `part`, as lines of assembly.
fn functions<'a>(code: &'a str, part: &str) -> Vec<Vec<&'a str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut inside = false;
    for line in code.lines() {
        if line.ends_with(">:") {
            inside = line.contains(part);
            if inside {
                found.push(Vec::new());
            }
        } else if inside && let Some(last) = found.last_mut() {
            last.push(line);
        }
    }
    found
}

#[test]
fn kernels_are_the_instruction_they_are_for_and_no_call() {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output();
    let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // LLVM's prints other lines.
    let code = output.ok().filter(|code| code.contains(">:\n")).ok_or("install binutils");
    let Some(output) = need(Tool::Objdump, code) else { return };
    for (name, instruction, register) in [
        ("6kernel3x864avx2", "vfmadd", "ymm"),
        ("6kernel3x866avx512", "vfmadd", "zmm"),
        ("6kernel3x865pairs", "vdpbf16ps", "zmm"),
    ] {
        let kernels = functions(&output, name);
        assert!(!kernels.is_empty(), "there is no {name} in this program");
        for kernel in kernels {
            let is = |line: &&&str| line.contains(instruction) && line.contains(register);
            assert!(
                kernel.iter().any(|line| is(&line)),
                "{name} has no {instruction} of {register}"
            );
            // What a debug build checks ends in a panic, and sums may be set to zero before the loop; nothing else is called.
            let calls = kernel.iter().filter(|line| line.contains("call") && line.contains('<'));
            let other: Vec<_> = calls
                .filter(|line| !line.contains("panic") && !line.contains("_GLOBAL_OFFSET_TABLE_"))
                .filter(|line| !line.contains("_DYNAMIC") && !line.contains("memset"))
                .collect();
            assert!(other.is_empty(), "{name} calls: {other:?}");
        }
    }
}
