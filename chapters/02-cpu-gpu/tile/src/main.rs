//! The chapter's kernels in Rust: compiled, counted, checked and timed.
//!
//! `tile --help` says how.

use std::{env, fs, path::Path, process::ExitCode, thread};
use tile::{
    catalog::Kernel,
    check,
    code::Code,
    exercise, interpreter, kept,
    library::{self, Card, HINTS, Hints, STACK},
    turns,
};

const USAGE: &str = "Usage:
  tile code [KERNEL…] [TARGET…]             compile kernels (all, for sm_90) and count what they became
  tile hints TARGET KERNEL [ARGUMENT…]      one kernel with other tiles, and with other hints
  tile run                                  with a card: every kernel against f64, odd sizes too
  tile run interpreted [TARGET]             the same without one: an interpreter runs what was compiled
  tile cubins FOLDER [TARGET]               compiles what the next two launch, for a card that has no compiler:
                                            there TILE_CUBINS is the folder and CUTILE_TILEIRAS_PATH its tileiras
  tile exercise NAME FILE                   the kernel of an exercise, out of its file, against f64
  tile turns PRODUCT ELEMENT N              with a card, for a race of another program: each line of the input
                                            is a number of products, and is answered by the seconds of one

  tile code product sm_80 sm_90 sm_100 sm_120
  tile hints sm_90 product bf16 128 256 64";

const NO_TOOLKIT: &str = "the compiler of tiles, tileiras, is not there; in the repository, \
                          `eval \"$(tools/cuda/toolkit.sh ~/.cache/throughput/cuda --tile)\"` installs it";

/// A line of the table: what the kernel became.
fn row(target: &str, kernel: &Kernel, hints: Hints) -> Result<String, String> {
    let compiled = library::compile(kernel, target, hints).map_err(|why| {
        let said = why.lines().find(|line| line.starts_with("tileiras: "));
        let no_toolkit = why.contains("failed to launch tileiras").then_some(NO_TOOLKIT);
        said.or(no_toolkit).unwrap_or(&why).to_owned()
    })?;
    let code = Code::read(&compiled.cubin)?;
    let counted = |found: Option<(&str, usize)>| {
        found.map_or("-".to_owned(), |(name, count)| format!("{count} {name}"))
    };
    Ok(format!(
        "{:<27} {:<10} {:>4} {:>5} {:>6}",
        counted(code.multiplies()),
        counted(code.copies()),
        code.registers,
        code.stack,
        code.shared
    ))
}

fn heading() {
    let [multiplies, copies] = ["multiplies with", "copies by"];
    println!("{:<6} {:<24} {multiplies:<27} {copies:<10} regs stack shared", "", "");
}

fn code(words: &[String]) -> Result<(), String> {
    let (targets, names): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with("sm_"));
    for name in &names {
        if Kernel::all("sm_90", 1024).all(|kernel| kernel.name != *name) {
            Kernel::new(name, &[], [1024; 3])?;
        }
    }
    heading();
    for target in if targets.is_empty() { &["sm_90"][..] } else { &targets } {
        for kernel in Kernel::all(target, 1024) {
            if names.is_empty() || names.contains(&kernel.name) {
                let name = kernel.to_string();
                println!("{target:<6} {name:<24} {}", row(target, &kernel, HINTS)?);
            }
        }
    }
    Ok(())
}

fn hints(words: &[String]) -> Result<(), String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [target, name, generics @ ..] = &words[..] else { return Err(USAGE.to_owned()) };
    let kernel = Kernel::new(name, generics, [1024; 3])?;
    heading();
    for warps in [4, 8] {
        for cluster in [1, 2] {
            let hints = Hints { warps, cluster };
            let name = format!("{warps} warps, cluster of {cluster}");
            println!("{target:<6} {name:<24} {}", row(target, &kernel, hints)?);
        }
    }
    Ok(())
}

fn run(words: &[&str]) -> Result<(), String> {
    if let ["interpreted", rest @ ..] = words {
        let target = rest.first().copied().unwrap_or("sm_90");
        return check::all(target, &|kernel, inputs, scalar| {
            interpreter::launch(kernel, target, inputs, scalar)
        });
    }
    let card = Card::open()?;
    println!("{} ({})", card.name, card.target);
    check::all(&card.target, &|kernel, inputs, scalar| {
        library::launch(&card, kernel, inputs, scalar)
    })
}

/// What `run` and `turns` launch, compiled.
fn cubins(words: &[String]) -> Result<(), String> {
    let [folder, rest @ ..] = words else { return Err(USAGE.to_owned()) };
    let (folder, target) = (Path::new(folder), rest.first().map_or("sm_90", String::as_str));
    library::keep_in(folder)?;
    for kernel in Kernel::all(target, 1024) {
        library::compile(&kernel, target, HINTS)?;
    }
    check::all(target, &|kernel, inputs, scalar| {
        library::compile(kernel, target, HINTS)?;
        interpreter::launch(kernel, target, inputs, scalar)
    })?;
    kept::stand_in(folder)
}

fn judged(words: &[String]) -> Result<(), String> {
    let [name, file] = words else { return Err(USAGE.to_owned()) };
    let text = fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let kernel = exercise::judge(name, &text)?;
    println!("right, for sizes that fit no tile as well; on an H100 it becomes");
    heading();
    let (target, tile) = (exercise::TARGET, kernel.generics.join(" "));
    println!("{target:<6} {tile:<24} {}", row(target, &kernel, HINTS)?);
    Ok(())
}

fn turns(words: &[String]) -> Result<(), String> {
    let [name, element, n] = words else { return Err(USAGE.to_owned()) };
    let n = n.parse().map_err(|_| format!("`{n}` is no size"))?;
    turns::take(&Card::open()?, name, element, n)
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if let Some(folder) = env::var_os("TILE_CUBINS")
        && let Err(why) = library::keep_in(Path::new(&folder))
    {
        eprintln!("{}: {why}", folder.display());
        return ExitCode::FAILURE;
    }
    let work = move || match words.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        Some(("code", words)) => code(words),
        Some(("hints", words)) => hints(words),
        Some(("run", words)) => run(&words.iter().map(String::as_str).collect::<Vec<_>>()),
        Some(("cubins", words)) => cubins(words),
        Some(("exercise", words)) => judged(words),
        Some(("turns", words)) => turns(words),
        Some(("--help" | "-h", _)) => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    };
    // A launch compiles its kernel where it is called, and the compiler calls itself deeply.
    let done = thread::Builder::new().stack_size(STACK).spawn(work).map(thread::JoinHandle::join);
    match done {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(why))) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
        // A panic has been told where it happened.
        _ => ExitCode::FAILURE,
    }
}
