use super::*;
use std::time::{Duration, Instant};

fn gpu(driver: &str) -> NvidiaGpu {
    NvidiaGpu {
        name: "NVIDIA H200".to_owned(),
        driver: driver.to_owned(),
        memory: Some(141 << 30),
        capability: Some("9.0".to_owned()),
    }
}

fn named<'r>(rows: &'r [Row], name: &str) -> &'r Row {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}"))
}

const SYSTEMS: [System; 5] =
    [System::Debian, System::Fedora, System::OtherLinux, System::Mac, System::Windows];

#[test]
fn every_step_has_a_row_and_every_row_a_way_out() {
    let began = Instant::now();
    let rows = examine(None);
    // The driver's tool is waited for 10 s at most, others 1.5 s; the rest is for a machine that is busy with other tests.
    assert!(began.elapsed() < Duration::from_secs(20));
    let mut steps: Vec<&str> = rows.iter().map(|row| row.step.as_str()).collect();
    steps.dedup();
    let wanted = [
        "0. the machine",
        "1. the card",
        "2. the driver",
        "3. the CUDA toolkit",
        "4. the framework",
        "5. environment variables",
        "6. the check",
        "besides",
    ];
    assert_eq!(steps, wanted);
    assert_eq!(rows.len(), Requirements::of(System::Debian).0.len(), "each is looked for, once");
    for row in &rows {
        assert!(!row.found || row.version.is_some(), "{row:?}");
    }
    // These tests run, so the machine can run the course.
    assert!(rows.iter().filter(|row| row.required).all(|row| row.found), "{rows:?}");
    assert!(named(&rows, "Rust").found || env::var_os("PATH").is_none());
    let text = serde_json::to_string(&rows[0]).unwrap();
    for field in ["step", "name", "found", "version", "what_for", "how_to_get", "required"] {
        assert!(text.contains(&format!("\"{field}\":")), "{field} is missing in {text}");
    }
}

/// What a system's packages are called, where it has the row at all.
#[test]
fn each_system_has_its_own_way() {
    for system in SYSTEMS {
        for row in Requirements::of(system).0 {
            assert!(!row.step.is_empty() && !row.what_for.is_empty(), "{row:?}");
            assert!(!row.how_to_get.is_empty() || row.name == "CPU", "{row:?}");
            assert!(!row.how_to_get.contains("  "), "{row:?}");
        }
        let how = |name: &str| Requirements::of(system).row(name, None).how_to_get;
        let [cublas, nvrtc, cudnn, mpi] = ["cuBLAS", "NVRTC", "cuDNN", "MPI"].map(how);
        if system == System::Mac {
            assert!([&cublas, &nvrtc, &cudnn].iter().all(|how| how.contains("no CUDA")));
        } else {
            assert!(nvrtc.contains("pip install nvidia-cuda-nvrtc"), "{nvrtc}");
            assert!(cublas.contains("pip install nvidia-cublas"), "{cublas}");
            assert!(cudnn.starts_with("not needed here; "), "{cudnn}");
        }
        let (begins, ends) = match system {
            System::Debian => ("sudo apt install", "libclang-dev"),
            System::OtherLinux => ("sudo apt install", "your system's names may differ)"),
            System::Fedora => ("sudo dnf install", ""),
            System::Mac => ("brew install", ""),
            System::Windows => ("MS-MPI", ""),
        };
        assert!(mpi.starts_with(begins) && mpi.ends_with(ends), "{system:?}: {mpi}");
    }
}

#[test]
fn too_little_memory_is_told_and_unknown_memory_is_not_refused() {
    let asked = Requirements::of(System::Debian);
    let of = |bytes| room(&asked, "memory", bytes, ["size unknown", ""]);
    let little = of(Some(512 << 20));
    assert!(!little.found && little.required && of(None).found);
    assert_eq!(of(Some(8 << 30)).version.as_deref(), Some("8.00 GiB"));
}

/// The rows of the card, its driver and the framework: whether each is found, and what is said of the one that is named.
#[test]
fn a_gpu_is_told_step_by_step() {
    let none = Found::default;
    let with = |toolkit: &str| Found {
        toolkit: Some(toolkit.to_owned()),
        gpus: vec![gpu("535.104.05")],
        ..none()
    };
    let dark = || Found { cards: vec![Card::Nvidia], ..none() };
    let (card, driver, dfdx) = ("NVIDIA GPU", "NVIDIA driver", "dfdx on CUDA");
    for (system, found, is_there, name, said) in [
        (System::Debian, none(), [false; 3], driver, "apt install nvidia-driver"),
        (System::Mac, none(), [false; 3], card, "Macs have no CUDA"),
        (System::Mac, none(), [false; 3], driver, "Macs have no CUDA"),
        (
            System::Fedora,
            Found { cards: vec![Card::Amd], ..none() },
            [false; 3],
            card,
            "AMD card, which OpenCL can use",
        ),
        // A card without its driver, and a driver without its tool.
        (System::Debian, dark(), [true, false, false], card, "not yet in use"),
        (
            System::Debian,
            Found { module: Some("580.65.06".to_owned()), ..dark() },
            [true, false, false],
            driver,
            "nvidia-smi does not answer",
        ),
        (
            System::Debian,
            with("13.0"),
            [true, false, true],
            driver,
            "driver 535.104.05 is too old for CUDA 13.0, which needs 580",
        ),
        // The same driver does for the toolkit before.
        (
            System::Debian,
            with("12.4"),
            [true; 3],
            card,
            "NVIDIA H200 (141 GiB, compute capability 9.0)",
        ),
    ] {
        let rows = of_gpus(&Requirements::of(system), &found);
        assert_eq!([card, driver, dfdx].map(|name| named(&rows, name).found), is_there, "{rows:?}");
        assert!(rows.iter().all(|row| !row.required));
        let Row { version, how_to_get, .. } = named(&rows, name);
        let told = version.clone().unwrap_or_default() + how_to_get;
        assert!(told.contains(said), "{told}");
        let module = found.module.filter(|_| name == driver);
        assert!(module.is_none() || module == *version, "{rows:?}");
    }
}

#[test]
fn what_the_system_says_is_understood() {
    assert_eq!(System::of_release("ID=ubuntu\nID_LIKE=debian\n"), System::Debian);
    assert_eq!(
        System::of_release("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"),
        System::Fedora
    );
    assert_eq!(System::of_release("ID=arch\n"), System::OtherLinux);
    let df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda1 100 20 80 20% /";
    assert_eq!(free_bytes(df), Some(80 << 10));
    assert_eq!(free_bytes("nonsense"), None);
    let module =
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC";
    assert_eq!(module_version(module).as_deref(), Some("580.65.06"));
    assert_eq!(module_version(""), None);
    assert_eq!(Card::of("0x030200", "0x10de"), Some(Card::Nvidia));
    assert_eq!(Card::of("0x020000", "0x10de"), None);
    assert_eq!(oldest_driver(None), 525);
}

#[test]
fn a_folder_that_the_reader_named_and_that_is_wrong_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let row = data_set(&Requirements::of(System::Debian), Some(folder.path()));
    assert!(!row.found && row.how_to_get.contains("has neither"), "{row:?}");
}

#[test]
fn notebooks_of_our_own_come_before_those_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let found = |own: &Path, path: Option<&OsStr>| {
        let rows = notebooks(&Requirements::of(System::Debian), own, path);
        [rows[0].version.clone(), rows[1].version.clone()]
    };
    assert_eq!(found(folder.path(), None), [None, None]);
    let bin = folder.path().join("bin");
    let program = format!("evcxr_jupyter{}", env::consts::EXE_SUFFIX);
    crate::testing::put(&bin, &program, "");
    let (nowhere, path) = (folder.path().join("none"), Some(bin.as_os_str()));
    assert_eq!(found(&nowhere, path), [None, Some(bin.join(program).display().to_string())]);
    assert_eq!(found(folder.path(), path), [None, Some("in notebooks/.jupyter".to_owned())]);
}

/// With a driver that speaks this CUDA: whether a library of this version is found, and what is said of it.
#[test]
fn what_does_not_go_with_the_driver_is_told_with_both_versions() {
    let answers = "1 GPU answers, up to CUDA 12.4";
    for (driver, library, version, is_there, said) in [
        (None, Library::Nvrtc, Some("13.0"), true, &["pip install nvidia-cuda-nvrtc"][..]),
        (None, Library::Driver, None, false, &["with --gpus all"]),
        (None, Library::Cudnn, None, false, &["not needed here"]),
        (
            Some(12_040),
            Library::Nvrtc,
            Some("13.0"),
            false,
            &["13.0 is too new", "speaks CUDA 12.4", "newer driver"],
        ),
        (Some(12_040), Library::Cublas, Some("12.9.1"), true, &[]),
        (Some(12_040), Library::Driver, Some(answers), true, &[]),
        // A driver that is older than the library does not make it unfit.
        (Some(12_040), Library::Cudnn, Some("9.1.0"), true, &[]),
        (
            Some(11_080),
            Library::Driver,
            Some(answers),
            false,
            &["CUDA 11.8", "needs 12.0: install driver 525"],
        ),
    ] {
        let found = (vec![(library, version.map(str::to_owned))], driver);
        let [row] = &of_libraries(&Requirements::of(System::Debian), &found)[..] else {
            panic!("one row for one library")
        };
        assert!(row.found == is_there && row.version.as_deref() == version, "{row:?}");
        assert!(said.iter().all(|said| row.how_to_get.contains(said)), "{row:?}");
        assert!(!row.required && !row.name.is_empty(), "{row:?}");
    }
}
