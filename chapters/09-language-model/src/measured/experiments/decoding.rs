//! Tokens of one sequence with a KV cache, beside the same model in PyTorch from the same weights.

use super::{
    serving::{MODELS, some},
    step::asked,
};
use crate::{
    Model, Result,
    generate::{Decoder, Sampler, Sampling, Span},
};
use lab::{Budget, Experiment, Race, Recorder, Samples, record::ParamList};
use matmul::parallel::available;
use serde::{Deserialize, Serialize};
use std::{
    env,
    path::{Path, PathBuf},
    time::Instant,
};

lab::keys! {
    /// Tokens a second of one sequence.
    pub RATE: measured "language_model.decoding", TokensPerSecond, ["size", "who", "version", "threads"];
    /// Over the time of this course's tokens.
    pub RATIO: measured "language_model.decoding.ratio", Ratio, ["size", "who"];
    /// How many tokens both choose alike before they differ, from the same prompt.
    pub ALIKE: counted "language_model.decoding.alike", Count, ["size", "tokens"];
}

/// This course's name in the records, and the peer's.
const WHO: [&str; 2] = ["ours", "pytorch"];

/// The experiment of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full RATE.name => &[RATE, RATIO, ALIKE], |rec| Ok(run(rec)?),
            "decoding one sequence with a cache, beside PyTorch from the same weights (with `measure --peers`)";
    }
}

/// What the peer is told.
#[derive(Serialize)]
struct Job {
    model: PathBuf,
    prompt: Vec<u32>,
    tokens: usize,
}

/// What it replies.
#[derive(Deserialize)]
struct Answer {
    tokens: Vec<u32>,
    seconds: Vec<f64>,
    framework: String,
}

fn run(rec: &mut Recorder) -> Result<()> {
    for (size, config) in MODELS {
        let config = config();
        let list: ParamList = &[("size", &size)];
        rec.note_at(RATE.at(list));
        let mut model = Model::new(config, 1)?;
        // First weights are small, and all scores nearly alike; larger ones choose their tokens clearly.
        model.parameters.iter_mut().filter(|p| **p < 1.0).for_each(|p| *p *= 4.0);
        let folder = tempfile::tempdir().map_err(|e| lab::Error::io(&env::temp_dir(), e))?;
        race(rec, &model, list, folder.path())?;
    }
    Ok(())
}

/// The likeliest tokens after a prompt, and the seconds of each but the first.
///
/// # Errors
/// The decoder's.
pub fn decoded(decoder: &Decoder, prompt: &[u32], tokens: usize) -> Result<(Vec<u32>, Vec<f64>)> {
    let mut cache = decoder.cache();
    let mut likeliest = Sampler::new(Sampling::greedy())?;
    let scores = decoder.step(&mut [Span { cache: &mut cache, tokens: prompt }])?;
    let mut token = likeliest.next(&scores)?;
    let (mut all, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..tokens {
        all.push(token);
        let began = Instant::now();
        let scores = decoder.step(&mut [Span { cache: &mut cache, tokens: &[token] }])?;
        token = likeliest.next(&scores)?;
        seconds.push(began.elapsed().as_secs_f64());
    }
    Ok((all, seconds))
}

fn race(rec: &mut Recorder, model: &Model, list: ParamList, folder: &Path) -> Result<()> {
    let half = model.config.context / 2;
    let prompt = some(half, &model.config);
    let job = Job { model: folder.join("model.safetensors"), prompt, tokens: half / 2 };
    model.save(&job.model)?;
    let decoder = Decoder::new(&model.config, &model.parameters)?;
    let rounds = if rec.budget == Budget::Full { 11 } else { 3 };
    let (mut ours, mut theirs, mut version) = (Vec::new(), Vec::new(), String::new());
    let mut peer = asked("pytorch_generate.py", &[]);
    let mut race = Race::default();
    race.turn(WHO[0], |_| {
        let (tokens, seconds) = decoded(&decoder, &job.prompt, job.tokens)?;
        ours = tokens;
        Ok(Samples(seconds).median())
    });
    let started = peer.as_mut().map_err(|why| lab::Error::message(why.clone()));
    race.peer(
        WHO[1],
        started.map(|peer| {
            |_| {
                let answer: Answer = peer.ask(&job)?;
                theirs = answer.tokens;
                version = answer.framework;
                Ok(Samples(answer.seconds).median())
            }
        }),
    );
    let results = race.rounds(rounds)?;
    let threads = available();
    let at = |who: &str, version: &str| {
        RATE.at(list).with("who", who).with("version", version).with("threads", threads)
    };
    rec.record(at(WHO[0], "this course"), results.rate(WHO[0], 1.0)?);
    rec.record_or_skip(at(WHO[1], &version), results.rate(WHO[1], 1.0))?;
    let ratio = RATIO.at(list).with("who", WHO[1]);
    rec.record_or_skip(ratio, results.ratio(WHO[1], WHO[0]))?;
    let alike = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let quantity = ALIKE.at(list).with("tokens", job.tokens);
    match peer {
        Ok(_) => {
            rec.one(quantity, alike as f64);
        }
        Err(why) => rec.skip_at(quantity, why),
    }
    Ok(())
}
