//! What generation and serving cost: a token with and without a cache, a step for several sequences, answers over HTTP under
//! load, and weights in 8 bits.
//!
//! How fast a token comes does not depend on what the model has learned, so the speeds are those of untrained models. What 8 bits
//! lose does, and is measured on the latest model in `runs`.

use super::quality::{self, INT8_LOSS};
use crate::{
    Config, Error, Model, Result, Tokenizer,
    count::{Operations, cache},
    generate::{Cache, Decoder, Span},
    serve::{Options, Server},
};
use lab::{Budget, Experiment, Plan, Race, Recorder, Samples, peak, record::ParamList};
use matmul::{parallel::available, roofline::read_bandwidth};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

lab::keys! {
    /// Seconds of one more token when half of the context is read.
    pub TOKEN: measured "language_model.generate", Seconds, ["size", "cache"];
    /// Seconds of the first token, of a prompt of half a context.
    pub FIRST: measured "language_model.generate.first", Seconds, ["size"];
    /// How many times as fast a token comes with the cache.
    pub GAIN: measured "language_model.generate.gain", Ratio, ["size"];
    /// Bytes that a token reads: the weights, and the cache's filled half.
    pub BYTES: counted "language_model.generate.bytes", Bytes, ["size", "what"];
    /// At what rate all threads together read as many bytes as the weights have.
    pub BANDWIDTH: measured "language_model.generate.bandwidth", BytesPerSecond, ["size"];
    /// The least seconds of a token, by its bytes.
    pub PREDICTED: calculated "language_model.generate.predicted", Seconds, ["size"];
    /// Seconds of a step of several sequences.
    pub STEP: measured "language_model.batch", Seconds, ["size", "batch"];
    /// The least seconds of a step, by its bytes and operations.
    pub STEP_PREDICTED: calculated "language_model.batch.predicted", Seconds, ["size", "batch"];
    /// Tokens in a second, of all sequences together.
    pub STEP_RATE: measured "language_model.batch.rate", TokensPerSecond, ["size", "batch"];
    /// Tokens in a second, of all clients together.
    pub SERVED: measured "language_model.serve", TokensPerSecond, ["size", "clients"];
    /// From the request to its first token.
    pub SERVED_FIRST: measured "language_model.serve.first", Seconds, ["size", "clients"];
    /// From one token to the next.
    pub SERVED_FURTHER: measured "language_model.serve.further", Seconds, ["size", "clients"];
    /// What the steps without the server predict for all clients together.
    pub SERVED_PREDICTED: calculated "language_model.serve.predicted", TokensPerSecond, ["size", "clients"];
    /// Seconds of a token by the weights' numbers.
    pub INT8: measured "language_model.int8", Seconds, ["size", "numbers"];
    /// Bytes of the weights.
    pub INT8_BYTES: counted "language_model.int8.bytes", Bytes, ["size", "numbers"];
    /// How many times as fast a token comes with weights in 8 bits.
    pub INT8_GAIN: measured "language_model.int8.gain", Ratio, ["size"];
}

/// In the order in which `measure` runs them.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick TOKEN.name =>
            &[TOKEN, FIRST, GAIN, BYTES, BANDWIDTH, PREDICTED],
            |rec| Ok(tokens(rec)?),
            "the first and each further token, with and without a cache, against the bytes that it reads";
        quick STEP.name => &[STEP, STEP_PREDICTED, STEP_RATE], |rec| Ok(steps(rec)?),
            "a step of 1 to 16 sequences, which reads the weights once for all of them";
        quick SERVED.name => &[SERVED, SERVED_FIRST, SERVED_FURTHER, SERVED_PREDICTED], |rec| Ok(served(rec)?),
            "1 to 16 clients over HTTP: tokens a second of all, and what each of them waits";
        quick INT8.name => &[INT8, INT8_BYTES, INT8_GAIN, INT8_LOSS], |rec| Ok(in_8_bits(rec)?),
            "weights in 8 bits: what a token gains and what the text loses";
    }
}

pub use super::count::SIZES as MODELS;

/// Numbers of sequences, and of clients.
pub const BATCHES: [usize; 5] = [1, 2, 4, 8, 16];

/// Some tokens.
pub(super) fn some(count: usize, config: &Config) -> Vec<u32> {
    (0..count).map(|i| (i * 7919 % config.vocabulary) as u32).collect()
}

/// A cache that has read so many tokens.
fn filled(decoder: &Decoder, tokens: usize) -> Result<Cache> {
    let mut cache = decoder.cache();
    let tokens = some(tokens, decoder.config());
    decoder.step(&mut [Span { cache: &mut cache, tokens: &tokens }])?;
    Ok(cache)
}

/// Seconds of a token of one sequence in the middle of its context: `tokens` of them are decoded in each sample, from the same
/// cache.
fn token(decoder: &Decoder, tokens: usize) -> Result<impl FnMut() -> lab::Result<f64>> {
    let middle = filled(decoder, decoder.config().context / 2)?;
    let decoder = decoder.clone();
    Ok(move || {
        let mut cache = middle.clone();
        let began = Instant::now();
        for token in some(tokens, decoder.config()) {
            decoder.step(&mut [Span { cache: &mut cache, tokens: &[token] }])?;
        }
        Ok(began.elapsed().as_secs_f64() / tokens as f64)
    })
}

/// Bytes a second at which all threads, each with its part, read `bytes` over and over.
fn together(plan: Plan, bytes: usize) -> Samples {
    let threads = available();
    let each = thread::scope(|scope| {
        let readers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| read_bandwidth(plan, bytes / threads))).collect();
        readers.into_iter().filter_map(|reader| reader.join().ok()).collect::<Vec<_>>()
    });
    let sum = |one: Samples, other: Samples| one.paired(&other, |a, b| a + b);
    each.into_iter().reduce(sum).unwrap_or_default()
}

fn tokens(rec: &mut Recorder) -> Result<()> {
    for (name, config) in MODELS {
        let config = config();
        let (half, list): (usize, ParamList) = (config.context / 2, &[("size", &name)]);
        let model = Model::new(config, 1)?;
        let decoder = Decoder::new(&config, &model.parameters)?;
        rec.note_at(TOKEN.at(list));
        let prompt = some(half, &config);
        let mut with = token(&decoder, half.min(32))?;
        let mut race = Race::default();
        race.turn("with", move |_| with());
        race.turn("without", |_| {
            // The whole text once more: its last row is all that is used.
            let (mut cache, began) = (decoder.cache(), Instant::now());
            decoder.step(&mut [Span { cache: &mut cache, tokens: &prompt }])?;
            Ok(began.elapsed().as_secs_f64())
        });
        let results = race.run(rec.budget.plan())?;
        rec.record(GAIN.at(list), results.ratio("without", "with")?);
        for cache in ["with", "without"] {
            rec.record(TOKEN.at(list).with("cache", cache), results.samples(cache)?);
        }
        // The first token of a prompt is what a token without a cache costs.
        rec.record(FIRST.at(list), results.samples("without")?);
        let (weights, cache) = (decoder.bytes() as f64, cache(&config, half) as f64);
        for (what, bytes) in [("weights", weights), ("cache", cache)] {
            rec.one(BYTES.at(list).with("what", what), bytes);
        }
        let bandwidth = together(Plan::QUICK, weights as usize);
        let best = rec.record(BANDWIDTH.at(list), bandwidth);
        rec.one(PREDICTED.at(list), (weights + cache) / best);
    }
    Ok(())
}

/// Seconds of a step of each number of sequences, in turns.
fn by_batch(rec: &Recorder, decoder: &Decoder) -> Result<lab::race::Results> {
    let config = *decoder.config();
    let middle = filled(decoder, config.context / 2)?;
    let mut race = Race::new();
    for batch in BATCHES {
        let (mut caches, middle) = (vec![middle.clone(); batch], &middle);
        let tokens = some(batch, &config);
        race.add(batch.to_string(), move || {
            for cache in &mut caches {
                if cache.room() < 2 {
                    cache.clone_from(middle); // once in half a context
                }
            }
            let spans = caches.iter_mut().zip(tokens.chunks(1));
            let mut spans: Vec<Span> =
                spans.map(|(cache, tokens)| Span { cache, tokens }).collect();
            decoder.step(&mut spans)?;
            Ok(())
        });
    }
    Ok(race.run(rec.budget.plan())?)
}

fn steps(rec: &mut Recorder) -> Result<()> {
    let peak = peak::fma_f32(available());
    for (name, config) in MODELS {
        let config = config();
        let decoder = Decoder::new(&config, &Model::new(config, 1)?.parameters)?;
        rec.note_at(STEP.at(&[("size", &name)]));
        let results = by_batch(rec, &decoder)?;
        let bandwidth = together(Plan::QUICK, decoder.bytes()).median();
        for batch in BATCHES {
            let list: ParamList = &[("size", &name), ("batch", &batch)];
            let who = batch.to_string();
            rec.record(STEP.at(list), results.samples(&who)?);
            rec.record(STEP_RATE.at(list), results.rate(&who, batch as f64)?);
            let half = config.context / 2;
            let bytes = decoder.bytes() as f64 + batch as f64 * cache(&config, half) as f64;
            // In a sequence that is nearly twice as long a token sees half of the context in the mean.
            let work = batch as f64 * Operations::of(&config, 2 * half - 1).forward();
            rec.one(STEP_PREDICTED.at(list), (bytes / bandwidth).max(work / peak.value));
        }
    }
    Ok(())
}

/// Tokens of each answer under load.
const ANSWER: usize = 48;

/// What a client saw: the seconds to the first token, and those of each further one.
struct Seen {
    first: f64,
    further: Vec<f64>,
    tokens: usize,
}

fn served(rec: &mut Recorder) -> Result<()> {
    let name = "small";
    let seconds = if rec.budget == Budget::Full { 6.0 } else { 1.0 };
    let config = Config::small();
    // A tokenizer of the right size; what its tokens stand for does not matter here.
    let tokenizer = any_tokenizer(config.vocabulary)?;
    let decoder = Decoder::new(&config, &Model::new(config, 1)?.parameters)?;
    let steps = by_batch(rec, &decoder)?;
    let mut options = Options::default();
    options.http.port = 0;
    let server = Server::start(decoder, tokenizer, options)?;
    for clients in BATCHES {
        let list: ParamList = &[("size", &name), ("clients", &clients)];
        rec.note_at(SERVED.at(list));
        let began = Instant::now();
        let until = began + Duration::from_secs_f64(seconds);
        let address = server.address();
        let asks = |client: usize| {
            let mut seen = Vec::new();
            while Instant::now() < until {
                seen.push(ask(address, client)?);
            }
            std::io::Result::Ok(seen)
        };
        let all = thread::scope(|scope| {
            let clients: Vec<_> =
                (0..clients).map(|client| scope.spawn(move || asks(client))).collect();
            clients
                .into_iter()
                .filter_map(|client| client.join().ok())
                .collect::<Result<Vec<_>, _>>()
        });
        let spent = began.elapsed().as_secs_f64();
        let seen: Vec<Seen> = match all {
            Ok(all) => all.into_iter().flatten().collect(),
            Err(error) => return Err(Error::Config(format!("a client of the server: {error}"))),
        };
        let tokens: usize = seen.iter().map(|one| one.tokens).sum();
        rec.one(SERVED.at(list), tokens as f64 / spent);
        rec.record(SERVED_FIRST.at(list), Samples(seen.iter().map(|one| one.first).collect()));
        let further = seen.iter().flat_map(|one| one.further.iter().copied()).collect();
        rec.record(SERVED_FURTHER.at(list), Samples(further));
        let step = steps.samples(&clients.to_string())?.median();
        rec.one(SERVED_PREDICTED.at(list), clients as f64 / step);
    }
    Ok(())
}

/// A tokenizer with so many tokens.
///
/// # Errors
/// As [`Tokenizer::new`].
pub fn any_tokenizer(vocabulary: usize) -> Result<Tokenizer> {
    let pair = |i: u32| (32 + i / 90, 32 + i % 90); // two printable characters
    Tokenizer::new((0..vocabulary as u32 - 257).map(pair).collect())
}

/// One request, streamed: the likeliest tokens, and as many as were asked for.
fn ask(address: SocketAddr, client: usize) -> std::io::Result<Seen> {
    let body = format!(
        r#"{{"prompt": "fn number_{client}() {{", "tokens": {ANSWER}, "temperature": 0, "stream": true}}"#
    );
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let head = format!("POST /generate HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut last = Instant::now();
    stream.write_all((head + &body).as_bytes())?;
    let mut seen = Seen { first: f64::NAN, further: Vec::new(), tokens: 0 };
    for line in BufReader::new(stream).lines() {
        let line = line?;
        if line.starts_with("HTTP/") && !line.contains(" 200 ") {
            return Err(std::io::Error::other(line));
        }
        if let Some(end) = line.strip_prefix("data: ").filter(|data| data.contains("\"stop\"")) {
            let end: serde_json::Value = serde_json::from_str(end)?;
            seen.tokens = end["tokens"].as_u64().unwrap_or(0) as usize;
            return Ok(seen);
        }
        if line.starts_with("data: ") {
            let seconds = last.elapsed().as_secs_f64();
            last = Instant::now();
            if seen.first.is_nan() {
                seen.first = seconds;
            } else {
                seen.further.push(seconds);
            }
        }
    }
    Err(std::io::Error::other("the answer ended early"))
}

fn in_8_bits(rec: &mut Recorder) -> Result<()> {
    for (name, config) in MODELS {
        let config = config();
        let list: ParamList = &[("size", &name)];
        rec.note_at(INT8.at(list));
        let parameters = Model::new(config, 1)?.parameters;
        let wide = Decoder::new(&config, &parameters)?;
        let narrow = Decoder::in_8_bits(&config, &parameters)?;
        let mut race = Race::default();
        for (numbers, decoder) in [("f32", &wide), ("int8", &narrow)] {
            rec.one(INT8_BYTES.at(list).with("numbers", numbers), decoder.bytes() as f64);
            let mut token = token(decoder, 32.min(config.context / 2))?;
            race.turn(numbers, move |_| token());
        }
        let results = race.run(rec.budget.plan())?;
        for numbers in ["f32", "int8"] {
            rec.record(INT8.at(list).with("numbers", numbers), results.samples(numbers)?);
        }
        rec.record(INT8_GAIN.at(list), results.ratio("f32", "int8")?);
    }
    quality::lost_in_8_bits(rec)
}
