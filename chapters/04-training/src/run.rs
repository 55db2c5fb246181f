//! What a run leaves in its folder:
//!
//! | file | what |
//! | --- | --- |
//! | `checkpoint` | the whole state, see [`crate::checkpoint`] |
//! | `metrics.jsonl` | a line about the run, then a line for each epoch |
//! | `curves.svg` | loss and accuracy over the epochs |
//! | `model.safetensors` | the weights, see [`crate::serve`] |
//! | `events.out.tfevents.…` | the curves for TensorBoard, see [`crate::events`] |

use crate::{
    Classifier, Error, Result,
    checkpoint::{self, Header},
    config::Start,
    events,
    fit::Outcome,
    watch::{Begin, Epoch},
};
use lab::{
    machine::{Machine, Provenance},
    plot::{Axis, LinePlot, Scale, Series},
};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The weights' file.
pub const MODEL: &str = "model.safetensors";
/// The metrics' file.
pub const METRICS: &str = "metrics.jsonl";
/// The picture's file.
pub const CURVES: &str = "curves.svg";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder, and sees whether it fits what is to be done with it.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a new run finds another one there, [`Error::Lab`] if the folder can't be made or
    /// written.
    pub fn open(path: &Path, start: Start) -> Result<Self> {
        let mut held = events::files(path);
        held.extend([checkpoint::FILE, METRICS, MODEL, CURVES].map(|name| path.join(name)));
        match start {
            Start::New if held.iter().any(|file| file.exists()) => {
                return Err(Error::Damaged {
                    path: path.to_owned(),
                    why: "this folder holds a run already; go on with it by --resume, or choose another folder with --run"
                        .into(),
                });
            }
            Start::Replace => {
                for file in held.iter().filter(|file| file.exists()) {
                    fs::remove_file(file).map_err(|e| lab::Error::io(file, e))?;
                }
            }
            Start::New | Start::Resume => {}
        }
        if start != Start::Resume {
            fs::create_dir_all(path).map_err(|e| lab::Error::io(path, e))?;
            // Found out now, not after the first epoch.
            let probe = path.join("checkpoint.part");
            File::create(&probe)
                .and_then(|_| fs::remove_file(&probe))
                .map_err(|e| lab::Error::io(&probe, e))?;
        }
        Ok(Self(path.to_owned()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `metrics.jsonl`: `about` (from [`about`]), then a line for each epoch.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it can't be written.
    pub fn metrics(&self, about: &str, history: &[Epoch]) -> Result<()> {
        let mut text = format!("{about}\n");
        for epoch in history {
            let line = serde_json::to_string(epoch)
                .map_err(|e| Error::Config(format!("the metrics can't be written: {e}")))?;
            text.push_str(&line);
            text.push('\n');
        }
        write_whole(&self.0.join(METRICS), text.as_bytes())
    }

    /// Writes the weights and the curves.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they can't be written.
    pub fn finish(&self, outcome: &Outcome) -> Result<()> {
        Classifier::from_weights(outcome.model, &outcome.weights)?.save(&self.0.join(MODEL))?;
        if outcome.history.is_empty() {
            return Ok(());
        }
        write_whole(&self.0.join(CURVES), curves(&outcome.history).as_bytes())
    }
}

/// The line about a run of a model with so many `parameters`, JSON: what it computes, on what, from what, and where it comes from.
pub fn about(begin: &Begin, at: &Header, parameters: usize) -> String {
    let (machine, from) = (Machine::detect(), Provenance::now());
    serde_json::json!({
        "settings": begin.settings,
        "parameters": parameters,
        "device": begin.device.to_string(),
        "data": begin.data,
        "data_sha256": at.data,
        "train_pictures": begin.pictures.0,
        "test_pictures": begin.pictures.1,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "gpus": machine.gpus,
        "started": at.started,
        "command": from.command,
        "commit": from.commit,
        "rustc": from.rustc,
        "flags": from.flags,
    })
    .to_string()
}

/// Loss and accuracy over the epochs of one run, one above the other.
pub fn curves(history: &[Epoch]) -> String {
    let epochs: Vec<f64> = history.iter().map(|epoch| epoch.epoch as f64).collect();
    let plot = |label: &str, of: [fn(&Epoch) -> f64; 2]| {
        let series = |name: &str, of: fn(&Epoch) -> f64| Series {
            name: name.into(),
            points: history.iter().map(|epoch| (epoch.epoch as f64, of(epoch))).collect(),
            band: Vec::new(),
            joined: true,
        };
        LinePlot {
            x: Axis::new("epoch", Scale::Linear).ticks(few(&epochs)),
            y: Axis::new(label, Scale::Linear),
            series: vec![series("training", of[0]), series("test", of[1])],
            limits: Vec::new(),
        }
        .svg()
    };
    let loss = plot("loss", [|e| e.train_loss, |e| e.test_loss]);
    let accuracy =
        plot("accuracy (%)", [|e| 100.0 * e.train_accuracy, |e| 100.0 * e.test_accuracy]);
    above(&loss, &accuracy)
}

/// At most about ten of the epochs, evenly spaced, for the ticks of an axis.
pub fn few(epochs: &[f64]) -> Vec<f64> {
    epochs.iter().copied().step_by(epochs.len().div_ceil(10).max(1)).collect()
}

/// Two pictures of equal size in one.
fn above(top: &str, bottom: &str) -> String {
    let (width, height) = size(top).unwrap_or((720.0, 440.0));
    let full = 2.0 * height;
    // lab's pictures have a view box and no size: alone they fill their page, here each fills its half.
    let inner = |svg: &str, y: f64| {
        let place = format!("<svg x=\"0\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        svg.replacen("<svg", &place, 1)
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {full}\" width=\"720\" height=\"{:.0}\">\n{}\n{}\n</svg>\n",
        720.0 * full / width,
        inner(top.trim(), 0.0),
        inner(bottom.trim(), height)
    )
}

/// Width and height from a picture's `viewBox`.
fn size(svg: &str) -> Option<(f64, f64)> {
    let (_, rest) = svg.split_once("viewBox=\"")?;
    let (numbers, _) = rest.split_once('"')?;
    let mut numbers = numbers.split_whitespace().skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Writes a file that is whole at every moment: beside its place, flushed, then renamed.
///
/// # Errors
/// [`Error::Damaged`] if the folder can't be written or the disk is full; what was there before stays.
// ANCHOR: write_whole
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_added_extension("part");
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?; // on the disk, not only in the system's memory
        fs::rename(&part, path) // all at once
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&part); // half a file helps nobody
        not_written(path, &error)
    })?;
    // The new name is an entry of the folder, which must reach the disk too.
    if let Some(folder) = path.parent().and_then(|p| File::open(p).ok()) {
        let _ = folder.sync_all(); // not every file system can
    }
    Ok(())
}
// ANCHOR_END: write_whole

/// The sentence for a file that can't be written.
pub(crate) fn not_written(path: &Path, error: &io::Error) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        why: format!(
            "it can't be written ({error}); make room, or choose another folder with --run, then go on with \
             --resume"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a part is left");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        let error = Folder::open(&file.join("run"), Start::New).unwrap_err().to_string();
        assert!(error.contains("file"), "{error}");
        assert!(write_whole(&file.join("x"), b"").is_err());
        // A folder in the file's place: the rename fails, and no part stays behind.
        let place = folder.path().join("place");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("full"), b"").unwrap();
        assert!(write_whole(&place, b"x").is_err());
        assert!(!folder.path().join("place.part").exists());
    }

    #[test]
    fn a_new_run_does_not_touch_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        Folder::open(&path, Start::New).unwrap();
        Folder::open(&path, Start::New).unwrap(); // still empty
        fs::write(path.join(checkpoint::FILE), b"precious").unwrap();
        let error = Folder::open(&path, Start::New).unwrap_err().to_string();
        assert!(error.contains("--resume") && error.contains("--run"), "{error}");
        Folder::open(&path, Start::Resume).unwrap();
        assert!(path.join(checkpoint::FILE).exists());
        Folder::open(&path, Start::Replace).unwrap();
        assert!(!path.join(checkpoint::FILE).exists());
    }

    #[test]
    fn two_pictures_become_one() {
        let one = "<svg viewBox=\"0 0 300 200\">a</svg>";
        let both = above(one, one);
        assert_eq!(size(&both), Some((300.0, 400.0)));
        for y in [0, 200] {
            let place = format!("<svg x=\"0\" y=\"{y}\" width=\"300\" height=\"200\" viewBox");
            assert!(both.contains(&place), "{both}");
        }
    }
}
