use super::*;
use std::time::{Duration, Instant};

fn gpu(driver: &str) -> NvidiaGpu {
    NvidiaGpu {
        name: "NVIDIA H200".to_owned(),
        driver: driver.to_owned(),
        memory: 141 << 30,
        capability: "9.0".to_owned(),
    }
}

fn named<'r>(rows: &'r [Row], name: &str) -> &'r Row {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn every_step_has_a_row_and_every_row_a_way_out() {
    let began = Instant::now();
    let rows = examine(None);
    // Programs are waited for 1.5 s at most; the rest is for a machine that is busy with other tests.
    assert!(began.elapsed() < Duration::from_secs(20));
    let mut steps: Vec<&str> = rows.iter().map(|row| row.step.as_str()).collect();
    steps.dedup();
    assert_eq!(steps, [MACHINE, CARD, DRIVER, TOOLKIT, FRAMEWORK, VARIABLES, CHECK, MORE]);
    for row in &rows {
        assert!(!row.what_for.is_empty(), "{row:?}");
        assert!(row.found || !row.how_to_get.is_empty(), "{row:?}");
        assert!(!row.found || row.version.is_some(), "{row:?}");
    }
    // These tests run, so the machine can run the course.
    assert!(rows.iter().filter(|row| row.required).all(|row| row.found), "{rows:?}");
    assert!(named(&rows, "Rust").found || env::var_os("PATH").is_none());
}

#[test]
fn json_has_every_field() {
    let text = serde_json::to_string(&memory_row(8 << 30)).unwrap();
    for field in ["step", "name", "found", "version", "what_for", "how_to_get", "required"] {
        assert!(text.contains(&format!("\"{field}\":")), "{field} is missing in {text}");
    }
    assert!(text.contains("8.00 GiB"), "{text}");
}

#[test]
fn too_little_memory_is_told_and_unknown_memory_is_not_refused() {
    assert!(!memory_row(512 << 20).found);
    assert!(memory_row(512 << 20).required);
    assert!(memory_row(0).found);
}

#[test]
fn a_machine_without_a_gpu_is_told_what_to_do() {
    let none = Found { toolkit: None, gpus: vec![] };
    let rows = gpu_rows(System::Debian, &none, &[], None);
    assert!(rows.iter().all(|row| !row.found && !row.required));
    assert!(named(&rows, "NVIDIA driver").how_to_get.contains("apt install nvidia-driver"));
    let rows = gpu_rows(System::Mac, &none, &[], None);
    assert!(rows.iter().all(|row| row.how_to_get.contains("Macs have no CUDA")), "{rows:?}");
    let rows = gpu_rows(System::Fedora, &none, &[Card::Amd], None);
    assert!(named(&rows, "NVIDIA GPU").how_to_get.contains("AMD card, which OpenCL can use"));
}

#[test]
fn a_card_without_its_driver_is_seen() {
    let none = Found { toolkit: None, gpus: vec![] };
    let rows = gpu_rows(System::Debian, &none, &[Card::Nvidia], None);
    assert!(named(&rows, "NVIDIA GPU").found);
    assert!(!named(&rows, "NVIDIA driver").found);
}

#[test]
fn a_driver_without_its_tool_says_so() {
    let none = Found { toolkit: None, gpus: vec![] };
    let rows = gpu_rows(System::Debian, &none, &[Card::Nvidia], Some("580.65.06"));
    let driver = named(&rows, "NVIDIA driver");
    assert!(!driver.found && driver.version.as_deref() == Some("580.65.06"));
    assert!(driver.how_to_get.contains("nvidia-smi does not answer"), "{driver:?}");
}

#[test]
fn a_driver_that_is_too_old_for_the_toolkit_says_so() {
    let found = Found { toolkit: Some("13.0".to_owned()), gpus: vec![gpu("535.104.05")] };
    let rows = gpu_rows(System::Debian, &found, &[], None);
    let driver = named(&rows, "NVIDIA driver");
    assert!(!driver.found);
    assert!(
        driver
            .how_to_get
            .starts_with("driver 535.104.05 is too old for CUDA 13.0, which needs 580"),
        "{driver:?}"
    );
    // The same driver does for the toolkit before.
    let found = Found { toolkit: Some("12.4".to_owned()), ..found };
    let rows = gpu_rows(System::Debian, &found, &[], None);
    assert!(named(&rows, "NVIDIA driver").found);
    assert_eq!(
        named(&rows, "NVIDIA GPU").version.as_deref(),
        Some("NVIDIA H200 (141 GiB, compute capability 9.0)")
    );
    assert!(named(&last_steps(System::Debian, &found), "dfdx on CUDA").found);
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
    let rows = data_set(Some(folder.path()));
    assert!(!rows[0].found);
    assert!(rows[0].how_to_get.contains("has neither"), "{rows:?}");
}

#[test]
fn a_program_is_found_where_the_path_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("tool{}", env::consts::EXE_SUFFIX));
    fs::write(&file, "").unwrap();
    assert_eq!(on_path("tool", Some(folder.path().as_os_str())), Some(file));
    assert_eq!(on_path("other", Some(folder.path().as_os_str())), None);
    assert_eq!(on_path("tool", None), None);
}

#[test]
fn notebooks_of_our_own_come_before_those_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(notebooks(folder.path(), None), (None, None));
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let kernel = bin.join(format!("evcxr_jupyter{}", env::consts::EXE_SUFFIX));
    fs::write(&kernel, "").unwrap();
    let nowhere = folder.path().join("none");
    assert_eq!(
        notebooks(&nowhere, Some(bin.as_os_str())),
        (None, Some(kernel.display().to_string()))
    );
    let found = notebooks(folder.path(), Some(bin.as_os_str()));
    assert_eq!(found, (None, Some("in notebooks/.jupyter".to_owned())));
}

#[test]
fn what_chapter_2_loads_can_be_had_without_the_whole_toolkit() {
    let libraries = [
        (Library::Nvrtc, Some("13.0".to_owned())),
        (Library::Cublas, None),
        (Library::Driver, None),
    ];
    for system in [System::Debian, System::Fedora, System::OtherLinux] {
        let rows = library_rows(system, &libraries, None);
        let [nvrtc, cublas, driver] = &rows[..] else { panic!("{rows:?}") };
        assert!(nvrtc.found && nvrtc.version.as_deref() == Some("13.0"), "{nvrtc:?}");
        assert!(nvrtc.how_to_get.contains("pip install nvidia-cuda-nvrtc"), "{nvrtc:?}");
        assert!(!cublas.found && cublas.how_to_get.contains("pip install nvidia-cublas"));
        assert!(driver.what_for.contains("`cuda`") && !driver.required, "{driver:?}");
        assert!(rows.iter().all(|row| !row.how_to_get.contains("  ")), "{rows:?}");
    }
    assert_eq!(library_rows(System::Mac, &libraries, None)[1].how_to_get, NOT_ON_MAC);
}

#[test]
fn cudnn_is_for_frameworks_and_its_lack_asks_for_nothing() {
    for system in [System::Debian, System::Fedora, System::OtherLinux, System::Windows] {
        let rows = library_rows(system, &[(Library::Cudnn, None)], None);
        let [cudnn] = &rows[..] else { panic!("{rows:?}") };
        assert!(!cudnn.found && !cudnn.required && cudnn.step == TOOLKIT, "{cudnn:?}");
        assert!(cudnn.what_for.contains("does not use it"), "{cudnn:?}");
        assert!(cudnn.how_to_get.starts_with("not needed here; "), "{cudnn:?}");
    }
    // A driver that is older than the library does not make it unfit.
    let found = [(Library::Cudnn, Some("9.1.0".to_owned()))];
    let rows = library_rows(System::Debian, &found, Some(12_040));
    assert!(rows[0].found && rows[0].version.as_deref() == Some("9.1.0"), "{rows:?}");
}

#[test]
fn what_does_not_go_with_the_driver_is_told_with_both_versions() {
    let libraries = [
        (Library::Nvrtc, Some("13.0".to_owned())),
        (Library::Cublas, Some("12.9.1".to_owned())),
        (Library::Driver, Some("1 GPU answers, up to CUDA 12.4".to_owned())),
    ];
    let rows = library_rows(System::Debian, &libraries, Some(12_040));
    assert_eq!(rows.iter().map(|row| row.found).collect::<Vec<_>>(), [false, true, true]);
    let how = &rows[0].how_to_get;
    assert!(how.contains("13.0 is too new") && how.contains("speaks CUDA 12.4"), "{how}");
    assert!(how.contains("newer driver") && rows[0].version.as_deref() == Some("13.0"), "{how}");
    let rows = library_rows(System::Debian, &libraries[2..], Some(11_080));
    assert!(!rows[0].found && rows[0].how_to_get.contains("CUDA 11.8"), "{rows:?}");
    assert!(rows[0].how_to_get.contains("needs 12.0: install driver 525"), "{rows:?}");
}
