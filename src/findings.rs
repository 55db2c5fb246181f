//! What a chapter's records show about a machine, in a sentence for the waiting user. Each number is a record's; a
//! chapter whose records lack it has none.

use lab::{
    Records,
    record::{ParamList, Value},
    units::percent,
};

/// The finding of the chapter of this name.
pub fn of(chapter: &str, records: &Records) -> Option<String> {
    let one = |key, list: ParamList| records.find(key, list).ok();
    let first = |key, list: ParamList| records.all(key, list).first().copied();
    let text = |key, list: ParamList| Some(one(key, list)?.text());
    // `357` of a ratio that a page writes `357×`.
    let of_ratio = |value: &Value| value.text().trim_end_matches('×').to_owned();
    let times = |key, list: ParamList| one(key, list).map(of_ratio);
    Some(match chapter {
        "lab" => {
            let peak = text("lab.peaks", &[("threads", &"all"), ("unit", &"fma-f32")])?;
            let memory = text("lab.peaks.bandwidth", &[("threads", &"all"), ("kind", &"triad")])?;
            format!("your CPU: {peak} at most, {memory} to and from memory")
        }
        "matmul" => {
            let total = times("matmul.ladder.total", &[("inputs", &"f32")])?;
            let peak = percent(one("matmul.ladder", &[("rung", &"threads")])?.of_limit()?);
            format!("your CPU: {total} times from three loops to all threads, {peak} of its peak")
        }
        "cpu_gpu" => {
            let kernels = records.all("cpu_gpu.ladder.speedup", &[("rung", &"warp_tiles")]);
            if let Some(kernel) = kernels.last() {
                let (gain, device) = (of_ratio(kernel), &kernel.params["device"]);
                return Some(format!(
                    "{gain} times from the first kernel to warp tiles, on {device}"
                ));
            }
            let size = text("cpu_gpu.truck.threads", &[("work", &"product")])?;
            format!("all threads beat one core for products of {size}×{size} and above")
        }
        "backprop" => {
            let total = times("backprop.ladder.total", &[("batch", &32)])?;
            format!("a training step: {total} times from the textbook to the fast one")
        }
        "training" => {
            let read = first("training.mlp", &[])?;
            let (right, rate) = (read.text(), first("training.mlp.rate", &[])?.text());
            let digits = match read.param("data") {
                Some("mnist") => "MNIST's test digits",
                _ => "drawn test digits (MNIST is not here)",
            };
            format!("{right} of {digits} are classified correctly, after training at {rate}")
        }
        "performance" => {
            let total = of_ratio(first("performance.ladder.total", &[("batch", &128)])?);
            format!("a training step: {total} times from dfdx to the engine")
        }
        "mixed_precision" => {
            let params: ParamList = &[("how", &"integer"), ("to", &"bf16")];
            let gain = times("mixed_precision.convert.speedup", params)?;
            format!("f32 to bf16: {gain} times from the readable conversion to integers")
        }
        "multi_gpu" => {
            let message: ParamList = &[("engine", &"threads"), ("from", &"message")];
            let start = text("multi_gpu.alpha_beta.alpha", message)?;
            let rate = text("multi_gpu.alpha_beta.bandwidth", message)?;
            format!("a message between two threads: {start} to start, then {rate}")
        }
        "hardware" => {
            let costs = records.all("hardware.money.times_cheapest", &[]).into_iter();
            let most = of_ratio(costs.max_by(|a, b| a.median.total_cmp(&b.median))?);
            format!(
                "calculated: VGG16 costs {most} times as much on the most expensive card as on the cheapest"
            )
        }
        "language_model" => {
            let params: ParamList = &[("rung", &"naive"), ("tokens", &256)];
            let ratio = times("language_model.attention.ratio", params)?;
            format!("attention over 256 tokens: {ratio} times from all scores to tiles")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chapters, course};
    use std::collections::BTreeMap;

    #[test]
    fn each_chapter_has_a_finding_of_a_machine_and_none_without_records() {
        let of_machine = |name| Records::load(&course::records().unwrap().join(name)).unwrap();
        let mut records = of_machine("genoa-2core");
        let others = ["cascadelake-2core", "turin-2core"].map(of_machine);
        for chapter in chapters::all() {
            let other = || others.iter().find_map(|other| of(chapter.name, other));
            let found = of(chapter.name, &records).or_else(other);
            let said = found.unwrap_or_else(|| panic!("{}", chapter.name));
            assert!(said.chars().any(|c| c.is_ascii_digit()), "{said}");
            assert!(!said.contains("not a number") && said.len() < 90, "{said}");
        }
        let total = records.find("matmul.ladder.total", &[("inputs", &"f32")]).unwrap().text();
        let said = of("matmul", &records).unwrap();
        let gain = format!("{} times from three loops", total.trim_end_matches('×'));
        assert!(said.contains(&gain), "{said}");
        records.chapters = BTreeMap::new();
        assert!(chapters::all().iter().all(|chapter| of(chapter.name, &records).is_none()));
    }
}
