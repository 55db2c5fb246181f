//! A step on a device, as a figure: what the CPU asks for, above what the device does.

use super::lanes::{self, Bar};
use crate::measured::experiments::timeline::{ASKED, BATCHES, BEGAN, BUSY, CALLED, RAN};
use cpu_gpu::measured::experiments::devices::DEVICES;
use lab::{Drawing, Figure, Key, Records, Result, Unit, record::Value};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: RAN.name, draw }]
}

/// What a reader calls a device.
fn device_name(id: &str) -> &str {
    match id {
        "opencl-cpu" => "this CPU through OpenCL",
        "opencl-gpu" => "GPU through OpenCL",
        _ => "GPU through CUDA",
    }
}

/// The calls of a step on the device that comes first in chapter 2's list, of those recorded: a GPU before a CPU.
fn calls(records: &Records) -> Result<Vec<&Value>> {
    let of = |device: &str| records.every(RAN.at(&[("device", &device), ("batch", &BATCHES[0])]));
    match DEVICES.into_iter().rev().find_map(|device| of(device).ok()) {
        Some(calls) => Ok(calls),
        None => records.every(RAN.at(&[])),
    }
}

fn draw(records: &Records) -> Result<Drawing> {
    let mut calls = calls(records)?;
    calls.sort_by_key(|call| call.param("at").unwrap_or_default().to_owned());
    let of = |key: Key, call: &Value| records.get(key.beside(call)).map(|value| value.median);
    let mut bars = Vec::new();
    for (lane, start, took, color) in
        [(0, ASKED, CALLED, "var(--series-5,#b07c00)"), (1, BEGAN, RAN, "var(--series-1,#0072b2)")]
    {
        for call in &calls {
            let name = call.param("call").unwrap_or_default().to_owned();
            let (start, seconds) = (of(start, call)?, of(took, call)?);
            bars.push(Bar { lane, start, seconds, color, name });
        }
    }
    let whole = bars.iter().map(|bar| bar.start + bar.seconds).fold(0.0, f64::max);
    let share = |lane: usize| {
        let of = bars.iter().filter(|bar| bar.lane == lane);
        100.0 * of.map(|bar| bar.seconds).sum::<f64>() / whole
    };
    let param = |name: &str| calls[0].param(name).unwrap_or_default();
    let (device, batch) = (device_name(param("device")), param("batch"));
    let titles = [
        format!("the CPU calls: {:.1}% of the step", share(0)),
        format!("{device} works: {:.0}%", share(1)),
    ];
    let long = bars.iter().filter(|bar| bar.lane == 1 && bar.is_long(whole));
    let long = long.map(|bar| format!("{} {}", bar.name, Unit::Seconds.format(bar.seconds)));
    let long: Vec<String> = long.collect();
    let longest = calls.iter().max_by(|a, b| a.median.total_cmp(&b.median));
    let longest = longest.map_or_else(String::new, |call| {
        let name = call.param("call").unwrap_or_default();
        format!("The longest is {name} with {}.", call.text())
    });
    Ok(Drawing {
        svg: lanes::svg(&titles, &bars, whole),
        caption: format!(
            "{} kernels are at work {} of the time. One step of 784-128-10 on {batch} images, {}, from left to right. {longest}",
            calls.len(),
            records.text(BUSY.beside(calls[0]))?,
            Unit::Seconds.format(whole),
        ),
        alt: format!(
            "A timeline with two lanes, the calls above the kernels. Longer than 3% of the step: {}.",
            long.join("; ")
        ),
        ..Drawing::default()
    })
}
