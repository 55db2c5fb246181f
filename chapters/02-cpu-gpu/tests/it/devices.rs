use cpu_gpu::{
    devices::{KNOWN, Precision, chain, clock, known, lanes_of, lanes_of_cpu, peak_of, row},
    gpu::{About, Api, Kind, testing},
};
use lab::Plan;
use lab::testing::{Tool, need};

fn about(units: u32, capability: Option<(u32, u32)>) -> About {
    let gpu = testing::about(Api::Cuda, Kind::Gpu);
    About { compute_units: units, compute_capability: capability, ..gpu }
}

#[test]
fn a_core_has_a_clock_and_lanes() {
    let samples = clock(Plan::QUICK).ok_or("there is no chain for this architecture");
    let Some(samples) = need(Tool::System, samples) else { return };
    let clock = samples.quantile(1.0);
    assert!((3e8..8e9).contains(&clock), "{clock}");
    // Between a scalar unit and four AVX-512 ones; a machine that others use may fall short of its peak.
    let lanes = lanes_of_cpu(1, clock);
    assert!((0.5..70.0).contains(&lanes), "{lanes}");
}

#[test]
fn the_chain_is_as_long_as_it_says() {
    if let Some(x) = chain(16) {
        assert_eq!(x, 1 << 16, "sixteen doublings");
        assert_eq!(chain(48), Some(1 << 48));
        assert_eq!(chain(0), Some(1 << 16), "one round at least");
    }
}

#[test]
fn lanes_follow_from_the_generation() {
    assert_eq!(lanes_of(&about(132, Some((9, 0)))), Some(16_896.0));
    assert_eq!(lanes_of(&about(108, Some((8, 0)))), Some(6912.0));
    assert_eq!(lanes_of(&about(128, Some((8, 9)))), Some(16_384.0));
    assert_eq!(lanes_of(&about(80, Some((7, 0)))), Some(5120.0));
    assert_eq!(lanes_of(&about(56, Some((6, 0)))), Some(3584.0));
    assert_eq!(lanes_of(&about(20, Some((6, 1)))), Some(2560.0));
    assert_eq!(lanes_of(&about(20, Some((11, 0)))), Some(2560.0));
    assert_eq!(lanes_of(&about(20, Some((3, 5)))), None);
    assert_eq!(lanes_of(&about(20, None)), None);
}

#[test]
fn peaks_are_those_of_the_data_sheets() {
    let tera = |units, clock, capability, precision| {
        let gpu = About { clock_hz: Some(clock), ..about(units, Some(capability)) };
        peak_of(&gpu, precision).map(|limit| limit.value / 1e12)
    };
    for (units, clock, capability, f32, bf16) in [
        (108, 1.41e9, (8, 0), 19.5, Some(312.0)),  // A100
        (132, 1.98e9, (9, 0), 67.0, Some(989.0)),  // H200: its tensor cores stay at 1.83 GHz
        (114, 1.755e9, (9, 0), 51.2, Some(819.0)), // a slower one keeps its own clock
        (84, 1.8e9, (8, 6), 38.7, None),           // RTX A6000
    ] {
        let found = tera(units, clock, capability, Precision::F32).unwrap();
        assert!((found - f32).abs() < 0.1, "{capability:?}: {found} is not {f32}");
        let found = tera(units, clock, capability, Precision::Bf16);
        assert_eq!(found.is_some(), bf16.is_some(), "{capability:?}");
        if let Some((found, bf16)) = found.zip(bf16) {
            assert!((found - bf16).abs() < 1.0, "{capability:?}: {found} is not {bf16}");
        }
    }
    assert_eq!(tera(1, 1e9, (3, 5), Precision::F32), None);
    let cpu = testing::about(Api::OpenCl, Kind::Cpu);
    assert!(peak_of(&cpu, Precision::F32).is_some() && peak_of(&cpu, Precision::Bf16).is_none());
}

#[test]
fn every_row_of_the_table_is_read_and_cited() {
    let known = known();
    let rows = KNOWN.lines().filter(|line| line.contains("PU |"));
    assert_eq!(known.len(), rows.clone().count());
    assert!(rows.clone().all(|row| row.contains("[^")), "a row without a source");
    assert!(known.iter().any(|device| device.gpu) && known.iter().any(|device| !device.gpu));
    for device in &known {
        assert!(device.lanes.is_multiple_of(device.units), "{device:?}");
        assert!((1e9..7e9).contains(&device.clock) && device.year > 2000, "{device:?}");
    }
    // The maker's 67 TFLOP/s of an H200 are its lanes, twice, at its clock.
    let h200 = known.iter().find(|device| device.name.contains("H200")).unwrap();
    let tera = 2.0 * f64::from(h200.lanes) * h200.clock / 1e12;
    assert!((tera - 67.0).abs() < 0.2, "{tera}");
    assert_eq!(row("| device | kind | year |"), None);
}
