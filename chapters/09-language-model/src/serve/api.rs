//! What clients ask for and what they get, as JSON.

use super::{batcher::Reason, options::Options};
use crate::generate::Sampling;
use lab::serve::Refused;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// The body of `POST /generate`.
///
/// ```
/// use language_model::serve::{Options, api::Generate};
/// let body = br#"{"prompt": "fn main() {", "tokens": 20, "seed": 1}"#;
/// let request = Generate::parse(body, &Options::default()).unwrap();
/// assert_eq!((request.tokens, request.sampling.seed), (20, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Generate {
    /// The text to continue.
    pub prompt: String,
    /// The most tokens of the answer.
    pub tokens: usize,
    /// How they are drawn.
    pub sampling: Sampling,
    /// Whether the answer comes as server-sent events, token by token, or whole.
    pub stream: bool,
}

/// [`Generate`] as it is written; all but the prompt may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    prompt: String,
    tokens: Option<usize>,
    temperature: Option<f64>,
    top_k: Option<usize>,
    top_p: Option<f64>,
    seed: Option<u64>,
    #[serde(default)]
    stream: bool,
}

impl Generate {
    /// Reads a body.
    ///
    /// # Errors
    /// A refusal with a sentence for the client.
    pub fn parse(body: &[u8], options: &Options) -> Result<Self, Refused> {
        let body: Body = serde_json::from_slice(body).map_err(|error| {
            Refused::bad(format!(
                "the body must be JSON such as {{\"prompt\": \"fn main() {{\"}}: {error}"
            ))
        })?;
        let tokens = body.tokens.unwrap_or(options.tokens.min(DEFAULT_TOKENS));
        if tokens == 0 || tokens > options.tokens {
            let why = format!("tokens is {tokens}; it must be 1 to {}", options.tokens);
            return Err(Refused::bad(why));
        }
        let usual = Sampling::default();
        let sampling = Sampling {
            temperature: body.temperature.unwrap_or(usual.temperature),
            top_k: body.top_k.unwrap_or(usual.top_k),
            top_p: body.top_p.unwrap_or(usual.top_p),
            seed: body.seed.unwrap_or_else(by_the_clock),
        };
        sampling.check().map_err(|error| Refused::bad(error.to_string()))?;
        Ok(Self { prompt: body.prompt, tokens, sampling, stream: body.stream })
    }
}

/// Tokens of an answer unless the client chooses.
const DEFAULT_TOKENS: usize = 128;

/// A seed for clients who want none; they are told which, so that the answer can be had again. It is exact in JSON's
/// numbers as JavaScript reads them.
fn by_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as u64 & ((1 << 53) - 1)
}

/// The end of an answer: all of it unless it was streamed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The text, unless it was streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its tokens.
    pub tokens: usize,
    /// Why it ended: `end`, `length`, `time` or `shutdown`.
    pub stop: Reason,
    /// Whether the model has lost sight of the prompt's beginning.
    pub forgotten: bool,
    /// The seed that gives it again.
    pub seed: u64,
}

/// The body of `GET /health`.
#[derive(Clone, Debug, Serialize)]
pub struct Health {
    /// `ok`: one that stops takes no requests.
    pub status: &'static str,
    /// The model's sizes.
    pub model: crate::Config,
    /// Bytes of weights that a step reads.
    pub bytes: usize,
    /// Requests that wait.
    pub waiting: usize,
    /// Requests that run.
    pub running: usize,
    /// Requests that were answered.
    pub answered: usize,
    /// Requests that were told that the server is busy.
    pub refused: usize,
}

/// As JSON. None of these values can fail to be written.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
