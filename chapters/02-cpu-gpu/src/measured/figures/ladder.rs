//! The ladder on each device, as bars, on a roofline and in tables; and which check finds which mistake.

use crate::{
    ladder::LADDER,
    measured::experiments::{counts::SIZE as COUNTED, ladder::rung_names},
    wrong::{Check, Mistake},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
};

const KEY: &str = "cpu_gpu.ladder";
const GIGA: f64 = 1e9;

/// The figures of this file.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "cpu_gpu.ladder.opencl-cpu", draw: |r| draw_ladder(r, "opencl-cpu") },
        Figure { key: "cpu_gpu.ladder.opencl-gpu", draw: |r| draw_ladder(r, "opencl-gpu") },
        Figure { key: "cpu_gpu.ladder.cuda", draw: |r| draw_ladder(r, "cuda") },
        Figure { key: "cpu_gpu.ladder.of_cublas", draw: draw_share },
        Figure {
            key: "cpu_gpu.ladder.roofline.opencl-cpu",
            draw: |r| draw_roofline(r, "opencl-cpu"),
        },
        Figure {
            key: "cpu_gpu.ladder.roofline.opencl-gpu",
            draw: |r| draw_roofline(r, "opencl-gpu"),
        },
        Figure { key: "cpu_gpu.ladder.roofline.cuda", draw: |r| draw_roofline(r, "cuda") },
    ]
}

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "cpu_gpu.ladder.opencl-cpu", make: |r| table_ladder(r, "opencl-cpu") },
        Table { key: "cpu_gpu.ladder.opencl-gpu", make: |r| table_ladder(r, "opencl-gpu") },
        Table { key: "cpu_gpu.ladder.cuda", make: |r| table_ladder(r, "cuda") },
        Table { key: "cpu_gpu.ladder.tiles", make: table_tiles },
        Table { key: "cpu_gpu.ladder.published", make: table_published },
        Table { key: "cpu_gpu.wrong", make: table_wrong },
    ]
}

/// The rung's name in pictures.
fn title(rung: &str) -> &str {
    match rung {
        "async_copy" => "asynchronous copies",
        "wmma" => "WMMA, bf16",
        "wgmma" => "wgmma, bf16",
        "cublas" => "cuBLAS",
        "cublas_bf16" => "cuBLAS, bf16",
        "sgemm" => "chapter 1 on the CPU",
        _ => LADDER.iter().find(|known| known.name == rung).map_or(rung, |known| known.title),
    }
}

/// The device, as a person would say it.
fn device_words(records: &Records, device: &str) -> String {
    let cpu = &records.machine.cpu;
    match device {
        "opencl-cpu" => format!("the CPU through OpenCL ({cpu}, {} cores)", records.machine.cores),
        "opencl-gpu" => "the GPU through OpenCL".to_owned(),
        _ => "the GPU through CUDA".to_owned(),
    }
}

fn number(value: &Value, name: &str) -> Option<usize> {
    value.params.get(name)?.parse().ok()
}

/// The sizes that were measured on a device, or the error that says why there is none.
fn sizes(records: &Records, device: &str) -> Result<Vec<usize>> {
    let mut sizes: Vec<usize> =
        records.all(KEY, &[("device", &device)]).iter().filter_map(|v| number(v, "n")).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        records.find(KEY, &[("device", &device)])?;
    }
    Ok(sizes)
}

/// The size that pictures show: 4096 where it was measured, else the largest.
fn shown(sizes: &[usize]) -> usize {
    if sizes.contains(&4096) { 4096 } else { sizes.last().copied().unwrap_or(0) }
}

/// A rung's value on a device.
fn at<'r>(
    records: &'r Records,
    key: &str,
    device: &str,
    rung: &str,
    n: usize,
) -> Result<&'r Value> {
    records.find(key, &[("device", &device), ("rung", &rung), ("n", &n)])
}

/// A bar as long as the value; an empty one that says why there is none; nothing for what was not looked for.
fn bar(name: &str, found: Result<&Value>, scale: f64) -> Result<Option<Bar>> {
    let name = name.to_owned();
    match found {
        Ok(value) => {
            let spread = (value.median / scale, value.low / scale, value.high / scale);
            Ok(Some(Bar { name, value: Some(spread), text: value.text() }))
        }
        Err(Error::Skipped { why, .. }) => Ok(Some(Bar { name, value: None, text: why })),
        Err(Error::Key(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Rungs that are worth a bar: on a device without CUDA, its rungs would be three times the same reason.
fn rungs_on(device: &str) -> Vec<&'static str> {
    if device == "cuda" {
        rung_names().collect()
    } else {
        LADDER.iter().map(|rung| rung.name).collect()
    }
}

fn draw_ladder(records: &Records, device: &str) -> Result<Drawing> {
    let n = shown(&sizes(records, device)?);
    let mut bars = Vec::new();
    let mut limits: Vec<(String, f64)> = Vec::new();
    let mut fastest: Option<(&str, &Value)> = None;
    for rung in rungs_on(device) {
        let found = at(records, KEY, device, rung, n);
        if let Ok(value) = &found {
            if let Some(limit) = &value.limit
                && !limits.iter().any(|(name, _)| *name == limit.name)
            {
                limits.push((limit.name.clone(), limit.value / GIGA));
            }
            let portable = LADDER.iter().any(|known| known.name == rung);
            if portable && fastest.is_none_or(|(_, best)| value.median > best.median) {
                fastest = Some((rung, *value));
            }
        }
        bars.extend(bar(title(rung), found, GIGA)?);
    }
    bars.extend(bar(title("sgemm"), at(records, KEY, "cpu", "sgemm", n), GIGA)?);
    let naive = at(records, KEY, device, "naive", n)?;
    let Some((rung, best)) = fastest else { return Err(Error::message("the ladder has no rung")) };
    let caption = format!(
        "One product of {n}×{n} matrices on {}: {} for the naive kernel, {} for the fastest portable one ({}), {} as fast.",
        device_words(records, device),
        naive.text(),
        best.text(),
        title(rung),
        Unit::Ratio.format(best.median / naive.median),
    );
    let alt = format!("Bars on a logarithmic scale. {}.", Bar::in_words(&bars));
    let axis = Axis::new("rate (GFLOP/s)", Scale::Log);
    Ok(Drawing { svg: BarPlot { axis, bars, limits }.svg(), caption, alt })
}

fn draw_share(records: &Records) -> Result<Drawing> {
    const SHARE: &str = "cpu_gpu.ladder.of_cublas";
    let n = shown(&sizes(records, "cuda")?);
    let mut bars = Vec::new();
    let mut best: Option<&Value> = None;
    for rung in rung_names().filter(|rung| !rung.starts_with("cublas")) {
        // A rung that was left out has no share either: its reason is that of its rate.
        let rate = at(records, KEY, "cuda", rung, n);
        let found = if rate.is_ok() { at(records, SHARE, "cuda", rung, n) } else { rate };
        if let Ok(value) = &found {
            let portable = LADDER.iter().any(|known| known.name == rung);
            if portable && best.is_none_or(|best| value.median > best.median) {
                best = Some(value);
            }
        }
        bars.extend(bar(title(rung), found, 0.01)?);
    }
    let Some(best) = best else {
        at(records, SHARE, "cuda", "naive", n)?;
        return Err(Error::message("no rung has a share of cuBLAS"));
    };
    let caption = format!(
        "Each rung's share of what cuBLAS reaches with the same inputs, in the same rounds, at n = {n}: the best portable \
         one has {}.",
        best.text()
    );
    let alt = format!("Bars. {}.", Bar::in_words(&bars));
    let axis = Axis::new("share of cuBLAS (%)", Scale::Linear);
    let limits = vec![("cuBLAS".to_owned(), 100.0)];
    Ok(Drawing { svg: BarPlot { axis, bars, limits }.svg(), caption, alt })
}

/// Neighbouring rungs with the same operations for a byte.
struct Group {
    first: &'static str,
    last: &'static str,
    line: Series,
}

fn draw_roofline(records: &Records, device: &str) -> Result<Drawing> {
    let n = shown(&sizes(records, device)?);
    let bandwidth = records.find("cpu_gpu.ladder.bandwidth", &[("device", &device)])?;
    let (low, high) = (1.0 / 8.0, 256.0);
    let mut series: Vec<Group> = Vec::new();
    let mut words = Vec::new();
    let mut peak = None;
    for rung in &LADDER {
        let list: ParamList = &[("rung", &rung.name), ("n", &COUNTED)];
        let x = records.find("cpu_gpu.counts.intensity", list)?;
        let rate = match at(records, KEY, device, rung.name, n) {
            Err(Error::Skipped { .. }) => continue,
            found => found?,
        };
        peak = peak.or(rate.limit.as_ref());
        let (point, band) = ((x.median, rate.median / GIGA), (rate.low / GIGA, rate.high / GIGA));
        // Rungs that ask memory for the same bytes stand above each other: one name for all of them.
        match series.last_mut() {
            Some(Group { first, last, line })
                if (line.points[0].0 / x.median - 1.0).abs() < 0.01 =>
            {
                *last = rung.title;
                line.name = format!("{first} to {last}");
                line.points.push(point);
                line.band.push(band);
            }
            _ => series.push(Group {
                first: rung.title,
                last: rung.title,
                line: Series {
                    name: rung.title.to_owned(),
                    points: vec![point],
                    band: vec![band],
                    joined: false,
                },
            }),
        }
        words.push(format!("{}: {} at {} operations per byte", rung.title, rate.text(), x.text()));
    }
    let meet = peak.map_or(high, |peak| (peak.value / bandwidth.median).min(high));
    let mut limits = vec![LimitLine {
        name: format!("from memory: {}", bandwidth.text()),
        points: vec![(low, low * bandwidth.median / GIGA), (meet, meet * bandwidth.median / GIGA)],
    }];
    limits.extend(peak.map(|peak| LimitLine {
        name: format!("peak: {}", Unit::FlopsPerSecond.format(peak.value)),
        points: vec![(low, peak.value / GIGA), (high, peak.value / GIGA)],
    }));
    let caption = format!(
        "Rates at n = {n} on {} over the operations for each byte that a rung asks memory for, as the simulator counts \
         them at n = {COUNTED}. A point above the slope gets some of its bytes from a cache.",
        device_words(records, device),
    );
    let alt = format!(
        "A roofline on two logarithmic axes, with {} from memory. {}.",
        bandwidth.text(),
        words.join("; ")
    );
    let plot = LinePlot {
        x: Axis::new("operations per byte", Scale::Log).range(low, high),
        y: Axis::new("rate (GFLOP/s)", Scale::Log),
        series: series.into_iter().map(|group| group.line).collect(),
        limits,
    };
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

/// A cell: the value, or a dash.
fn cell(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { .. } | Error::Key(_)) => Ok("–".to_owned()),
        Err(error) => Err(error),
    }
}

fn table_ladder(records: &Records, device: &str) -> Result<TableData> {
    let sizes = sizes(records, device)?;
    let n = shown(&sizes);
    let on_cuda = device == "cuda";
    let mut head = vec!["rung".to_owned()];
    head.extend(sizes.iter().map(|n| format!("n = {n}")));
    head.push("of the peak".to_owned());
    if on_cuda {
        head.push("of cuBLAS".to_owned());
    }
    head.extend(["against naive", "until the first product"].map(str::to_owned));
    let mut rows = Vec::new();
    for rung in rungs_on(device) {
        let mut row = vec![title(rung).to_owned()];
        for n in &sizes {
            row.push(cell(at(records, KEY, device, rung, *n))?);
        }
        let share = at(records, KEY, device, rung, n).ok().and_then(Value::of_limit);
        row.push(share.map_or("–".to_owned(), |share| Unit::Share.format(share)));
        if on_cuda {
            row.push(cell(at(records, "cpu_gpu.ladder.of_cublas", device, rung, n))?);
        }
        row.push(cell(at(records, "cpu_gpu.ladder.speedup", device, rung, n))?);
        let list: ParamList = &[("device", &device), ("rung", &rung)];
        row.push(cell(records.find("cpu_gpu.ladder.compile", list))?);
        rows.push(row);
    }
    let naive = at(records, KEY, device, "naive", n)?;
    let caption = format!(
        "Every rung on {}; shares and ratios at n = {n}, where the naive kernel reaches {}. The median of rounds in which \
         all took their turn. The last column is the compiler's time, unless the driver had kept its result.",
        device_words(records, device),
        naive.text(),
    );
    Ok(TableData { caption, head, rows })
}

fn table_tiles(records: &Records) -> Result<TableData> {
    const TILES: &str = "cpu_gpu.ladder.tiles";
    let found = records.all(TILES, &[]);
    if found.is_empty() {
        records.find(TILES, &[])?;
    }
    let of = |value: &Value, name: &str| value.params.get(name).cloned().unwrap_or_default();
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|value| {
            vec![
                of(value, "tiles"),
                of(value, "rung"),
                of(value, "device"),
                of(value, "n"),
                value.text(),
            ]
        })
        .collect();
    let Some(fastest) = found.iter().max_by(|a, b| a.median.total_cmp(&b.median)) else {
        return Err(Error::message("no tiles were tried"));
    };
    let caption = format!(
        "The tiles that were tried, the fastest of each size first; the best of all, {}, reaches {}.",
        of(fastest, "tiles"),
        fastest.text()
    );
    let head = ["tiles", "rung", "device", "n", "rate"].map(str::to_owned).to_vec();
    Ok(TableData { caption, head, rows })
}

/// Boehm's table: GFLOP/s at 4096³ on an RTX A6000, and the share of cuBLAS, 23249.6 GFLOP/s (the README of
/// `siboehm/SGEMM_CUDA`). In the order of his kernels: his table is sorted by rate, but double buffering is kernel 11,
/// built on kernel 10, the warp tiles.
const PUBLISHED: [(&str, f64); 9] = [
    ("naive", 309.0),
    ("coalesced", 1986.5),
    ("shared tiles", 2980.3),
    ("1D register tiles", 8474.7),
    ("2D register tiles", 15971.7),
    ("four at a time", 18237.3),
    ("tuned tiles", 19721.0),
    ("warp tiles", 21779.3),
    ("warp tiles with double buffering", 17278.3),
];
const PUBLISHED_CUBLAS: f64 = 23_249.6;

#[allow(clippy::unnecessary_wraps)] // Tables have one signature.
fn table_published(_: &Records) -> Result<TableData> {
    let row = |name: &str, rate: f64| {
        vec![
            name.to_owned(),
            Unit::FlopsPerSecond.format(rate * GIGA),
            Unit::Share.format(rate / PUBLISHED_CUBLAS),
        ]
    };
    let mut rows: Vec<Vec<String>> = PUBLISHED.map(|(name, rate)| row(name, rate)).to_vec();
    rows.push(row("cuBLAS", PUBLISHED_CUBLAS));
    Ok(TableData {
        caption: "Not measured here: what Simon Boehm published for his own kernels at n = 4096 on an NVIDIA RTX A6000 \
                  (the README of SGEMM_CUDA, 2022 and 2023). Double buffering came last, and was a fifth slower than what it \
                  was built on."
            .to_owned(),
        head: ["rung", "rate", "of cuBLAS"].map(str::to_owned).to_vec(),
        rows,
    })
}

fn table_wrong(records: &Records) -> Result<TableData> {
    const WRONG: &str = "cpu_gpu.wrong";
    let mut rows = Vec::new();
    let mut caught = [0; Check::ALL.len()];
    for mistake in Mistake::ALL {
        let mut row = vec![mistake.title().to_owned()];
        for (check, caught) in Check::ALL.into_iter().zip(&mut caught) {
            let list: ParamList = &[("mistake", &mistake.name()), ("check", &check.name())];
            row.push(match records.find(WRONG, list) {
                Ok(value) => {
                    *caught += usize::from(value.median > 0.5);
                    value.params.get("found").cloned().unwrap_or_default()
                }
                Err(Error::Skipped { .. }) => "–".to_owned(),
                Err(error) => return Err(error),
            });
        }
        rows.push(row);
    }
    let [careless, _, odd, simulator] = caught;
    let mut head = vec!["mistake".to_owned()];
    head.extend(Check::ALL.map(|check| check.title().to_owned()));
    Ok(TableData {
        caption: format!(
            "What each check says of {} wrong kernels: the careless one finds {careless}, ours with odd sizes {odd}, the \
             simulator {simulator}.",
            rows.len()
        ),
        head,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{measured::experiments::devices::DEVICES, tensor_cores::CudaRung};
    use lab::{
        Samples,
        record::{Limit, Skipped, params},
        testing,
    };

    /// Made-up values: a ladder that doubles at each rung, on a CPU and on a GPU without Hopper's unit.
    #[derive(Default)]
    struct MadeUp {
        values: Vec<Value>,
        skipped: Vec<Skipped>,
    }

    impl MadeUp {
        fn add(&mut self, key: &str, list: ParamList, unit: Unit, median: f64) {
            let samples = Samples(vec![0.9 * median, median, 1.1 * median]);
            let limit = (unit == Unit::FlopsPerSecond)
                .then(|| Limit { name: "a made-up peak".to_owned(), value: 6e13 });
            self.values.push(Value { limit, ..Value::new(key, list, unit, samples) });
        }

        fn skip(&mut self, key: &str, list: ParamList, why: &str) {
            let (key, why) = (key.to_owned(), why.to_owned());
            self.skipped.push(Skipped { key, params: params(list), why });
        }

        fn whole() -> Self {
            let mut all = Self::default();
            for (device, start, sizes) in
                [("opencl-cpu", 3e8, &[256, 512][..]), ("cuda", 5e11, &[1024, 4096, 8192])]
            {
                for n in sizes {
                    for (at, rung) in rungs_on(device).into_iter().enumerate() {
                        let list: ParamList = &[("device", &device), ("rung", &rung), ("n", n)];
                        if rung == "wgmma" {
                            all.skip(KEY, list, "this GPU is no Hopper");
                            continue;
                        }
                        let rate = start * 1.5_f64.powi(at as i32);
                        all.add(KEY, list, Unit::FlopsPerSecond, rate);
                        if rung != "naive" {
                            all.add("cpu_gpu.ladder.speedup", list, Unit::Ratio, rate / start);
                        }
                        if device == "cuda" && !rung.starts_with("cublas") {
                            all.add(
                                "cpu_gpu.ladder.of_cublas",
                                list,
                                Unit::Share,
                                0.05 * at as f64,
                            );
                        }
                    }
                    let list: ParamList = &[("device", &"cpu"), ("rung", &"sgemm"), ("n", n)];
                    all.add(KEY, list, Unit::FlopsPerSecond, 1e11);
                }
                for rung in rungs_on(device) {
                    let list: ParamList = &[("device", &device), ("rung", &rung)];
                    all.add("cpu_gpu.ladder.compile", list, Unit::Seconds, 0.2);
                }
                let list: ParamList = &[("device", &device)];
                all.add("cpu_gpu.ladder.bandwidth", list, Unit::BytesPerSecond, start * 10.0);
            }
            all.skip(KEY, &[("device", &"opencl-gpu")], "this machine has no GPU with OpenCL");
            let list: ParamList = &[
                ("device", &"cuda"),
                ("rung", &"warp_tiles"),
                ("n", &4096),
                ("tiles", &"128x128x8"),
            ];
            all.add("cpu_gpu.ladder.tiles", list, Unit::FlopsPerSecond, 4e13);
            for (at, rung) in LADDER.iter().enumerate() {
                let list: ParamList = &[("rung", &rung.name), ("n", &COUNTED)];
                all.add("cpu_gpu.counts.intensity", list, Unit::Number, 0.25 + 2.0 * at as f64);
            }
            for check in Check::ALL {
                for mistake in Mistake::ALL {
                    let list: ParamList = &[
                        ("mistake", &mistake.name()),
                        ("check", &check.name()),
                        ("found", &"wrong sums"),
                    ];
                    all.add("cpu_gpu.wrong", list, Unit::Count, 1.0);
                }
            }
            all
        }

        fn records(self) -> Records {
            testing::records(&crate::chapter(), &self.values, &self.skipped)
        }
    }

    fn missing_here(key: &str) -> bool {
        key.ends_with("opencl-gpu")
    }

    #[test]
    fn figures_draw_from_records_or_say_what_is_missing() {
        let records = MadeUp::whole().records();
        for figure in figures() {
            let drawn = (figure.draw)(&records);
            if missing_here(figure.key) {
                let error = drawn.unwrap_err().to_string();
                assert!(error.contains("this machine has no GPU with OpenCL"), "{error}");
                continue;
            }
            let drawing = drawn.unwrap_or_else(|error| panic!("{}: {error}", figure.key));
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(drawing.caption.ends_with('.'), "{}: {}", figure.key, drawing.caption);
            assert!(drawing.caption.chars().any(|c| c.is_ascii_digit()), "{}", drawing.caption);
            assert!(drawing.alt.len() > 40, "{}: {}", figure.key, drawing.alt);
        }
    }

    #[test]
    fn tables_have_rows_as_wide_as_their_heads() {
        let records = MadeUp::whole().records();
        for table in tables() {
            let made = (table.make)(&records);
            if missing_here(table.key) {
                assert!(matches!(made, Err(Error::Skipped { .. })), "{}", table.key);
                continue;
            }
            let data = made.unwrap_or_else(|error| panic!("{}: {error}", table.key));
            assert!(!data.rows.is_empty() && data.caption.ends_with('.'), "{}", table.key);
            for row in &data.rows {
                assert_eq!(row.len(), data.head.len(), "{}: {row:?}", table.key);
                assert!(row.iter().all(|cell| !cell.is_empty()), "{}: {row:?}", table.key);
            }
        }
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let unmeasured = testing::unmeasured();
        for figure in figures() {
            let result = (figure.draw)(&unmeasured);
            assert!(matches!(result, Err(Error::NotMeasured { .. })), "{}: {result:?}", figure.key);
        }
        for table in tables().iter().filter(|table| table.key != "cpu_gpu.ladder.published") {
            let result = (table.make)(&unmeasured);
            assert!(matches!(result, Err(Error::NotMeasured { .. })), "{}: {result:?}", table.key);
        }
    }

    #[test]
    fn pictures_show_4096_where_it_was_measured() -> Result<()> {
        let records = MadeUp::whole().records();
        assert!(draw_ladder(&records, "cuda")?.caption.contains("4096×4096"));
        assert!(draw_ladder(&records, "opencl-cpu")?.caption.contains("512×512"));
        let share = draw_share(&records)?;
        assert!(share.alt.contains("wgmma, bf16: this GPU is no Hopper"), "{}", share.alt);
        // The eighth portable rung has the share 0.05 · 7.
        assert!(share.caption.contains("35.0%"), "{}", share.caption);
        Ok(())
    }

    #[test]
    fn every_rung_has_a_title() {
        for rung in rung_names().chain(["sgemm"]) {
            let own = LADDER.iter().any(|known| known.name == rung);
            assert!(own || title(rung) != rung, "{rung}");
        }
        assert_eq!(rungs_on("cuda").len(), LADDER.len() + CudaRung::ALL.len() + 2);
        assert_eq!(DEVICES.map(|device| rungs_on(device).len()), [8, 8, 13]);
    }

    /// The shares in the published table are those of its last row.
    #[test]
    fn published_shares_are_of_the_published_cublas() -> Result<()> {
        let table = table_published(&MadeUp::default().records())?;
        let shares: Vec<&str> = table.rows.iter().map(|row| row[2].as_str()).collect();
        assert_eq!(shares[0], "1.33%");
        assert_eq!(shares[7], "93.68%");
        assert_eq!(shares[8], "74.3%");
        assert_eq!(shares[9], "100%");
        // As the caption says.
        let [.., (warp_tiles, before), (buffered, after)] = PUBLISHED;
        assert!(warp_tiles == "warp tiles" && buffered.starts_with("warp tiles"));
        assert!((after / before - 0.8).abs() < 0.01);
        Ok(())
    }
}
