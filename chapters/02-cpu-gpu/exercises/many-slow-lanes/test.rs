//! The test of the exercise `many-slow-lanes`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Chip, clock, peak, power};
use lab::check::close;

/// A thousand lanes take the whole budget at 4 GHz; the voltage may fall without end.
const IDEAL: Chip = Chip { top: 4e9, floor: 0.0, lane: 0.2, budget: 200.0 };
/// The same, but its transistors need half of the voltage.
const REAL: Chip = Chip { floor: 0.5, ..IDEAL };

#[test]
fn the_power_of_a_lane_goes_with_the_cube_of_the_clock() {
    close(power(IDEAL, 4e9), 0.2, 1e-9, "at the highest clock");
    close(power(IDEAL, 2e9), 0.2 / 8.0, 1e-9, "at half of it");
    close(power(REAL, 2e9), 0.2 / 8.0, 1e-9, "at half of it, where the voltage is at its floor");
    close(power(REAL, 1e9), 0.2 / 16.0, 1e-9, "at a quarter, with half of the voltage");
}

#[test]
fn the_clock_keeps_to_the_budget_and_no_higher_one_does() {
    for floor in [0.0, 0.3, 0.5, 0.8, 1.0] {
        let chip = Chip { floor, ..IDEAL };
        for lanes in [1, 500, 1000, 1001, 2000, 5000, 8000, 20_000, 100_000] {
            let found = clock(chip, lanes);
            let taken = |clock: f64| {
                let speed = clock / chip.top;
                let voltage = if speed < floor { floor } else { speed };
                lanes as f64 * chip.lane * speed * voltage * voltage
            };
            let watts = taken(found);
            assert!(watts < 200.000_1, "{lanes} lanes, floor {floor}: {watts} W at {found:e} Hz");
            assert!(found <= chip.top, "{lanes} lanes run at {found:e} Hz");
            let higher = taken(1.001 * found) > 200.0 || found >= chip.top;
            assert!(higher, "{lanes} lanes, floor {floor}: they can run faster than {found:e} Hz");
        }
    }
}

#[test]
fn more_lanes_raise_the_peak_until_the_voltage_is_at_its_floor() {
    for lanes in [1000, 2000, 4000, 8000, 16_000, 32_000] {
        let [ideal, real] = [IDEAL, REAL].map(|chip| peak(chip, lanes) / 1e12);
        println!(
            "{lanes:5} lanes: {ideal:4.1} TFLOP/s, and {real:4.1} with a voltage of half at least"
        );
    }
    close(peak(IDEAL, 8000), 4.0 * peak(IDEAL, 1000), 1e-9, "eight times the lanes");
    close(peak(REAL, 8000), peak(IDEAL, 8000), 1e-9, "the same down to the floor");
    close(peak(REAL, 32_000), peak(REAL, 8000), 1e-9, "below it no lane gains anything");
}
