//! A run's whole state in one file, so that a run that was stopped, or killed, goes on with the very same numbers.
//!
//! Its layout is that of chapter 4's checkpoints: a magic word, the length of a header in JSON, the header, all values, and
//! a SHA-256 over what is before it. The file is written beside its place and renamed.

use crate::{
    Config, Error, Layout, Model, Result,
    train::{Settings, Trainer, adamw::Moments, trainer::digest},
};
use lab::files::open_regular;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{io::Read, path::Path};
use training::runner::files::write_whole;

const MAGIC: &[u8; 8] = b"TPGPT001";
const DIGEST: usize = 32;

/// What a checkpoint says before its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    config: Config,
    settings: Settings,
    step: u64,
    /// Digests of the tokenizer and of the stream of tokens.
    tokenizer: String,
    data: String,
}

impl Trainer {
    /// Writes the whole state: header, parameters, both means.
    ///
    /// # Errors
    /// [`Error::Run`] if it can't be written; what was there before is still whole.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = Header {
            config: self.model.config,
            settings: self.settings,
            step: self.step,
            tokenizer: self.model.tokenizer.clone(),
            data: self.data.clone(),
        };
        let header = serde_json::to_vec(&header).map_err(|e| Error::file(path, e.to_string()))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header);
        for values in [&self.model.parameters, &self.moments.m, &self.moments.v] {
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        let sum = Sha256::digest(&bytes);
        bytes.extend(sum);
        Ok(write_whole(path, &bytes)?)
    }

    /// A run that goes on from its checkpoint, on the same stream, on so many threads (0 for all).
    ///
    /// # Errors
    /// [`Error::File`] if there is no such file, it is damaged, or it belongs to another stream of tokens.
    pub fn resume(path: &Path, stream: &[u32], threads: usize) -> Result<Self> {
        let refuse = |why: &str| Error::file(path, why);
        let mut bytes = Vec::new();
        open_regular(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| refuse(&format!("it can't be read ({error})")))?;
        let (header, values) = read(&bytes).map_err(refuse)?;
        if header.data != digest(stream) {
            return Err(refuse(
                "this run learned from another text or with another tokenizer; begin a new one",
            ));
        }
        let layout = Layout::new(&header.config);
        let mut parts = values.chunks_exact(layout.len.max(1)).map(<[f32]>::to_vec);
        let mut next = || parts.next().unwrap_or_default();
        let parameters = next();
        let moments = Moments { m: next(), v: next() };
        let Header { config, settings, step, tokenizer, .. } = header;
        let model = Model { config, layout, parameters, tokenizer };
        let mut trainer = Self::new(model, settings, stream, threads)?;
        (trainer.step, trainer.moments) = (step, moments);
        Ok(trainer)
    }
}

/// Header and numbers of a file's bytes, or what is wrong with them.
fn read(bytes: &[u8]) -> Result<(Header, Vec<f32>), &'static str> {
    const DAMAGED: &str = "it is damaged or cut short; begin a new run";
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no checkpoint of a language model")?;
    let whole = bytes.len().checked_sub(DIGEST).ok_or(DAMAGED)?;
    if Sha256::digest(&bytes[..whole])[..] != bytes[whole..] {
        return Err(DAMAGED);
    }
    let body = rest.get(..rest.len() - DIGEST).ok_or(DAMAGED)?;
    let (length, body) = body.split_first_chunk::<8>().ok_or(DAMAGED)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| DAMAGED)?;
    let (header, values) = body.split_at_checked(length).ok_or(DAMAGED)?;
    let header: Header = serde_json::from_slice(header)
        .map_err(|_| "it was written by another version of this program; begin a new run")?;
    header.config.check().map_err(|_| DAMAGED)?;
    let (values, odd) = values.as_chunks::<4>();
    if !odd.is_empty() || values.len() != 3 * Layout::new(&header.config).len {
        return Err(DAMAGED);
    }
    Ok((header, values.iter().map(|value| f32::from_le_bytes(*value)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        product::Numbers,
        train::{Silent, run},
    };
    use std::fs;

    const SIZES: Config =
        Config { vocabulary: 12, context: 8, width: 8, heads: 2, layers: 1, hidden: 8 };

    fn begun() -> (Trainer, Vec<u32>) {
        let stream: Vec<u32> = (0..90_u32).map(|i| i * i % 12).collect();
        let settings = Settings { batch: 2, length: 8, steps: 12, ..Settings::default() };
        let mut model = Model::new(SIZES, 1).unwrap();
        model.tokenizer = "bytes".to_owned();
        (Trainer::new(model, settings, &stream, 1).unwrap(), stream)
    }

    #[test]
    fn a_run_goes_on_with_the_same_numbers() {
        for numbers in [Numbers::F32, Numbers::Bf16] {
            goes_on(numbers);
        }
    }

    fn goes_on(numbers: Numbers) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let (begun, stream) = begun();
        let settings = Settings { numbers, ..begun.settings };
        let mut whole = Trainer::new(begun.model, settings, &stream, 1).unwrap();
        for _ in 0..5 {
            whole.step(&stream).unwrap();
        }
        whole.save(&path).unwrap();
        run(&mut whole, &stream, &mut Silent).unwrap();
        let mut resumed = Trainer::resume(&path, &stream, 2).unwrap();
        assert_eq!((resumed.step, resumed.settings), (5, whole.settings));
        run(&mut resumed, &stream, &mut Silent).unwrap();
        assert_eq!(resumed.model, whole.model);
        assert_eq!(resumed.moments, whole.moments);
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let (trainer, stream) = begun();
        let said = |bytes: &[u8], stream: &[u32]| {
            fs::write(&path, bytes).unwrap();
            Trainer::resume(&path, stream, 1).err().unwrap().to_string()
        };
        assert!(Trainer::resume(&path, &stream, 1).is_err());
        assert!(said(b"", &stream).contains("no checkpoint"));
        trainer.save(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        assert!(said(&bytes, &stream[1..]).contains("another text"));
        assert!(said(&bytes[..bytes.len() - 1], &stream).contains("cut short"));
        assert!(said(&bytes[..9], &stream).contains("cut short"));
        bytes[300] ^= 1;
        assert!(said(&bytes, &stream).contains("damaged"));
    }
}
