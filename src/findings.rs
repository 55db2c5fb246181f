//! What a chapter's records show about a machine, in a sentence for the waiting user. Each number is a record's; a
//! chapter whose records lack it has none.

use lab::{Records, record::Value, units::percent};

/// The finding of the chapter of this name.
pub fn of(chapter: &str, records: &Records) -> Option<String> {
    match chapter {
        "lab" => lab(records),
        "matmul" => matmul(records),
        "cpu_gpu" => cpu_gpu(records),
        "backprop" => backprop(records),
        "training" => training(records),
        "performance" => performance(records),
        "mixed_precision" => mixed_precision(records),
        "multi_gpu" => multi_gpu(records),
        "hardware" => hardware(records),
        "language_model" => language_model(records),
        _ => None,
    }
}

fn lab(records: &Records) -> Option<String> {
    let peak = records.find("lab.peaks", &[("threads", &"all"), ("unit", &"fma-f32")]).ok()?.text();
    let memory = records.find("lab.peaks.bandwidth", &[("threads", &"all"), ("kind", &"triad")]);
    Some(format!("your CPU: {peak} at most, {} to and from memory", memory.ok()?.text()))
}

fn matmul(records: &Records) -> Option<String> {
    let total = records.find("matmul.ladder.total", &[("inputs", &"f32")]).ok()?;
    let top = records.find("matmul.ladder", &[("rung", &"threads")]).ok()?;
    let peak = percent(top.of_limit()?);
    Some(format!(
        "your CPU: {} times from three loops to all threads, {peak} of its peak",
        times(total)
    ))
}

fn cpu_gpu(records: &Records) -> Option<String> {
    let kernel = records.all("cpu_gpu.ladder.speedup", &[("rung", &"warp_tiles")]);
    if let Some(kernel) = kernel.last() {
        let device = &kernel.params["device"];
        return Some(format!(
            "{} times from the first kernel to warp tiles, on {device}",
            times(kernel)
        ));
    }
    let size = records.find("cpu_gpu.truck.threads", &[("work", &"product")]).ok()?.text();
    Some(format!("all threads beat one core for products of {size}×{size} and above"))
}

fn backprop(records: &Records) -> Option<String> {
    let total = records.find("backprop.ladder.total", &[("batch", &32)]).ok()?;
    Some(format!("a training step: {} times from the textbook to the fast one", times(total)))
}

fn training(records: &Records) -> Option<String> {
    let read = *records.all("training.mlp", &[]).first()?;
    let rate = records.all("training.mlp.rate", &[]).first()?.text();
    let digits = if read.params.get("data").is_some_and(|data| data == "mnist") {
        "MNIST's test digits"
    } else {
        "drawn test digits (MNIST is not here)"
    };
    Some(format!("{} of {digits} are classified correctly, after training at {rate}", read.text()))
}

fn performance(records: &Records) -> Option<String> {
    let total = records.all("performance.ladder.total", &[("batch", &128)]);
    Some(format!("dfdx's training step: {} times as fast as it comes", times(total.first()?)))
}

fn mixed_precision(records: &Records) -> Option<String> {
    let list: [(&str, &dyn std::fmt::Display); 2] = [("how", &"integer"), ("to", &"bf16")];
    let gain = records.find("mixed_precision.convert.speedup", &list).ok()?;
    Some(format!("f32 to bf16: {} times from the readable conversion to integers", times(gain)))
}

fn multi_gpu(records: &Records) -> Option<String> {
    let list: [(&str, &dyn std::fmt::Display); 2] = [("engine", &"threads"), ("from", &"message")];
    let start = records.find("multi_gpu.alpha_beta.alpha", &list).ok()?.text();
    let rate = records.find("multi_gpu.alpha_beta.bandwidth", &list).ok()?.text();
    Some(format!("a message between two threads: {start} to start, then {rate}"))
}

fn hardware(records: &Records) -> Option<String> {
    let costs = records.all("hardware.money.times_cheapest", &[]);
    let most = costs.into_iter().max_by(|a, b| a.median.total_cmp(&b.median))?;
    Some(format!(
        "calculated: VGG16 costs {} times as much on the most expensive card as on the cheapest",
        times(most)
    ))
}

fn language_model(records: &Records) -> Option<String> {
    let list: [(&str, &dyn std::fmt::Display); 2] = [("rung", &"naive"), ("tokens", &256)];
    let ratio = records.find("language_model.attention.ratio", &list).ok()?;
    Some(format!("attention over 256 tokens: {} times from all scores to tiles", times(ratio)))
}

/// `357` of a ratio that a page writes `357×`.
fn times(value: &Value) -> String {
    value.text().trim_end_matches('×').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chapters, course};
    use std::collections::BTreeMap;

    #[test]
    fn each_chapter_has_a_finding_of_a_machine_and_none_without_records() {
        let of_machine = |name| Records::load(&course::records().unwrap().join(name)).unwrap();
        let (mut records, other) = (of_machine("genoa-2core"), of_machine("cascadelake-2core"));
        for chapter in chapters::all() {
            let found = of(chapter.name, &records).or_else(|| of(chapter.name, &other));
            let said = found.unwrap_or_else(|| panic!("{}", chapter.name));
            assert!(said.chars().any(|c| c.is_ascii_digit()), "{said}");
            assert!(!said.contains("not a number") && said.len() < 90, "{said}");
        }
        let total = records.find("matmul.ladder.total", &[("inputs", &"f32")]).unwrap().text();
        let said = of("matmul", &records).unwrap();
        assert!(
            said.contains(&format!("{} times from three loops", &total[..total.len() - 2])),
            "{said}"
        );
        records.chapters = BTreeMap::new();
        assert!(chapters::all().iter().all(|chapter| of(chapter.name, &records).is_none()));
    }
}
