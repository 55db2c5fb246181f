//! Every kernel of the chapter, compiled by NVIDIA's own compilers for three generations of GPUs: `nvcc`, and NVRTC as
//! the course does when it runs. Neither needs a GPU.
//!
//! Where there is no compiler the tests report it and are skipped; `THROUGHPUT_REQUIRE_NVCC=1` and
//! `THROUGHPUT_REQUIRE_NVRTC=1` forbid that. `tools/cuda/compile.sh` gets one without root and runs this.

use cpu_gpu::gpu::nvrtc::Nvrtc;
use performance::gpu::kernels::{ALL, Variant};
use std::{fmt::Write as _, process::Command};

/// Compute capabilities: Ampere (A100), Hopper (H100, H200), Blackwell (B200).
const GENERATIONS: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

/// Whether a compiler that is not here is a failure.
fn missing(variable: &str, why: &str) {
    assert!(!std::env::var(variable).is_ok_and(|v| v == "1"), "{why}");
    eprintln!("skipped: {why}");
}

/// The compilers' words where they refuse, warn or spill registers.
fn nvcc(variant: &Variant, generation: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let source = folder.path().join(format!("{}.cu", variant.entry));
    std::fs::write(&source, variant.source).map_err(|e| e.to_string())?;
    let output = Command::new("nvcc")
        .args(["-cubin", "-std=c++17", "-Xptxas", "-v", "-arch", generation])
        // An operation of `unfused.cl` need not look at both of its numbers.
        .args(["-diag-suppress", "177", "-o"])
        .arg(folder.path().join("out"))
        .args(variant.options().iter().map(|(name, value)| format!("-D{name}={value}")))
        .arg(&source)
        .output()
        .map_err(|e| e.to_string())?;
    let words = String::from_utf8_lossy(&output.stderr);
    let clean = words.lines().filter(|line| line.contains("spill")).all(|line| {
        line.contains(" 0 bytes spill stores") && line.contains(" 0 bytes spill loads")
    });
    let good = output.status.success() && !words.to_lowercase().contains("warning") && clean;
    if good { Ok(()) } else { Err(words.into_owned()) }
}

#[test]
fn every_kernel_compiles_with_nvcc_for_three_generations_and_spills_nothing() {
    if Command::new("nvcc").arg("--version").output().is_err() {
        return missing("THROUGHPUT_REQUIRE_NVCC", "there is no nvcc on PATH");
    }
    let jobs: Vec<_> = ALL.iter().flat_map(|v| GENERATIONS.map(|to| (v, to))).collect();
    let failures = std::sync::Mutex::new(String::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for jobs in jobs.chunks(jobs.len().div_ceil(cores)) {
            let failures = &failures;
            scope.spawn(move || {
                for (variant, to) in jobs {
                    if let Err(words) = nvcc(variant, to) {
                        let mut failures = failures.lock().expect("no thread panics");
                        let (entry, defines) = (variant.entry, variant.defines);
                        let _ = writeln!(failures, "{entry} {defines:?} {to}: {words}");
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread panics");
    assert!(failures.is_empty(), "\n{failures}");
    eprintln!("{} kernels for {}", ALL.len(), GENERATIONS.join(", "));
}

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let nvrtc = match Nvrtc::load() {
        Ok(nvrtc) => nvrtc,
        Err(why) => return missing("THROUGHPUT_REQUIRE_NVRTC", &why.to_string()),
    };
    for variant in ALL {
        for to in GENERATIONS {
            let image = nvrtc.compile(variant.source, &variant.options(), variant.entry, to);
            let image = image.unwrap_or_else(|e| panic!("{variant:?} {to}: {e}"));
            assert_eq!(image[..4], *b"\x7fELF", "{} {to}", variant.entry);
        }
    }
}
