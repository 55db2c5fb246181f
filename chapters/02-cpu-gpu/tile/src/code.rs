//! The machine code of a kernel, as `nvdisasm` prints it, and what it takes, as `cuobjdump` says.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicUsize, Ordering},
};

/// A kernel's machine code.
pub struct Code {
    text: String,
    /// Of a thread.
    pub registers: u32,
    /// Bytes of a thread's own memory: what did not fit into registers, or words for a check that fails.
    pub stack: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

/// A program of the toolkit, in its folder if that is known, on the path otherwise.
pub(crate) fn tool(name: &str) -> PathBuf {
    let root = env::var_os("CUDA_TOOLKIT_PATH").map(PathBuf::from);
    let inside = root.map(|root| root.join("bin").join(name)).filter(|path| path.exists());
    inside.unwrap_or_else(|| name.into())
}

fn output(name: &str, argument: &str, cubin: &Path) -> Result<String, String> {
    let output = Command::new(tool(name)).arg(argument).arg(cubin).output();
    let output = output.map_err(|why| format!("{name} did not start: {why}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Code {
    /// Reads a compiled kernel.
    ///
    /// # Errors
    /// If a tool is missing, or says what this does not understand.
    pub fn read(cubin: &[u8]) -> Result<Self, String> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tile-{}-{number}.cubin", process::id()));
        fs::write(&path, cubin).map_err(|why| format!("{}: {why}", path.display()))?;
        let said = output("nvdisasm", "-c", &path)
            .and_then(|text| Ok((text, output("cuobjdump", "-res-usage", &path)?)));
        let _ = fs::remove_file(&path);
        let (text, takes) = said?;
        let number = |name: &str| {
            let digits = takes.split(name).nth(1).and_then(|rest| rest.split([' ', '\n']).next());
            let number = digits.and_then(|digits| digits.parse().ok());
            number.ok_or_else(|| format!("cuobjdump says no {name}"))
        };
        let [registers, stack, shared] = [number("REG:")?, number("STACK:")?, number("SHARED:")?];
        Ok(Self { text, registers, stack, shared })
    }

    /// The name of each instruction: the first word behind its address, or the second where a guard (`@P0`) comes first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| {
            let (address, code) = line.trim().strip_prefix("/*")?.split_once("*/")?;
            // Each instruction has a second line, with its bits alone.
            (!address.starts_with("0x")).then_some(())?;
            let name = code.split_whitespace().find(|word| !word.starts_with('@'))?;
            Some(name.trim_end_matches(';'))
        })
    }

    /// How many instructions have a name that begins so.
    pub fn count(&self, start: &str) -> usize {
        self.names().filter(|name| name.starts_with(start)).count()
    }

    /// The instruction that multiplies, and how many there are of it: of the tensor cores, or else for single numbers.
    pub fn multiplies(&self) -> Option<(&str, usize)> {
        let tensor = ["HGMMA.", "UTCHMMA", "HMMA."];
        let first = |start: &str| self.names().find(|name| name.starts_with(start));
        let single = || self.names().find(|name| ["FFMA", "FFMA2"].contains(name));
        let name = tensor.into_iter().find_map(first).or_else(single)?;
        Some((name, self.names().filter(|other| *other == name).count()))
    }

    /// The instruction that brings tiles to shared memory, the one that takes most with it, and how many there are of it.
    pub fn copies(&self) -> Option<(&'static str, usize)> {
        let kinds = ["UTMALDG", "LDGSTS", "LDG"].map(|kind| (kind, self.count(kind)));
        kinds.into_iter().find(|(_, count)| *count > 0)
    }
}
