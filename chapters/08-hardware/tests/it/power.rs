use hardware::power::{Rapl, counted, joules_of, trapezoids, untold, watts_in};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// A folder that looks like the kernel's.
fn fake(packages: &[(&str, u64, u64)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (folder, energy, range) in packages {
        let (folder, name) = folder.split_once('=').unwrap_or((folder, "package-0"));
        let folder = root.path().join(folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("name"), format!("{name}\n")).unwrap();
        fs::write(folder.join("energy_uj"), format!("{energy}\n")).unwrap();
        fs::write(folder.join("max_energy_range_uj"), format!("{range}\n")).unwrap();
    }
    root
}

fn set(root: &tempfile::TempDir, name: &str, energy: u64) {
    fs::write(root.path().join(name).join("energy_uj"), format!("{energy}\n")).unwrap();
}

#[test]
fn packages_are_added_up_over_the_end_of_a_counter() {
    let root = fake(&[
        ("intel-rapl:0", 9_000_000, 10_000_000),
        ("intel-rapl:1", 1_000_000, 10_000_000),
        ("intel-rapl:0:0=core", 5, 10_000_000), // a part of package 0
        ("intel-rapl:2=psys", 5, 10_000_000),   // all of the machine
        ("dtpm", 5, 5),
    ]);
    let rapl = Rapl::at(root.path()).unwrap();
    assert_eq!(rapl.counters.len(), 2);
    let mut meter = rapl.start().unwrap();
    set(&root, "intel-rapl:0", 2_000_000); // 1 J to the end, 2 J after it
    set(&root, "intel-rapl:1", 1_500_000);
    assert!((meter.joules().unwrap() - 3.5).abs() < 1e-9);
    set(&root, "intel-rapl:0", 4_000_000);
    assert!((meter.joules().unwrap() - 5.5).abs() < 1e-9);
    assert!((meter.joules().unwrap() - 5.5).abs() < 1e-9);
}

#[test]
fn a_counter_that_has_turned_over_counts_on() {
    assert_eq!(counted(5, 7, 100), 2);
    assert_eq!(counted(99, 3, 100), 4);
    assert_eq!(counted(7, 7, 100), 0);
    assert_eq!(counted(200, 3, 100), 3); // a range that lies
}

#[test]
fn what_is_not_there_is_said_with_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    for path in [root.path().to_owned(), root.path().join("none")] {
        let error = Rapl::at(&path).unwrap_err().to_string();
        assert!(error.contains("virtual machine") && error.contains("modprobe"), "{error}");
    }
    let root = fake(&[("intel-rapl:0", 1, 10)]);
    fs::write(root.path().join("intel-rapl:0/energy_uj"), "many").unwrap();
    assert!(Rapl::at(root.path()).unwrap_err().to_string().contains("no number: `many`"));
    fs::remove_file(root.path().join("intel-rapl:0/energy_uj")).unwrap();
    assert!(Rapl::at(root.path()).unwrap_err().to_string().contains("intel_rapl_common"));
}

#[test]
fn watts_are_added_up_while_work_runs() {
    let (joules, result) = joules_of(
        || Ok(50.0),
        Duration::from_millis(5),
        || {
            let began = Instant::now();
            thread::sleep(Duration::from_millis(60));
            began.elapsed().as_secs_f64()
        },
    )
    .unwrap();
    // From just before the work to just after it; what is read later does not count.
    assert!(joules >= 50.0 * result && joules < 50.0 * (result + 0.1), "{joules} in {result} s");
    let samples = [(0.0, 10.0), (2.0, 20.0), (3.0, 0.0)];
    for (end, joules) in [(9.0, 40.0), (3.0, 40.0), (2.0, 30.0), (1.0, 12.5), (0.0, 0.0)] {
        assert!((trapezoids(&samples, end) - joules).abs() < 1e-12, "to {end} s");
    }
}

#[test]
fn no_work_is_done_where_no_power_is_told() {
    let mut done = false;
    let none = || Err(untold("none"));
    assert!(joules_of(none, Duration::from_millis(1), || done = true).is_err());
    assert!(!done);
    for text in ["", "[N/A]", "0", "nan", "12 W"] {
        assert!(watts_in(text).unwrap_err().to_string().contains("nvidia-smi"), "{text}");
    }
    assert!((watts_in(" 71.25\n").unwrap() - 71.25).abs() < 1e-12);
}
