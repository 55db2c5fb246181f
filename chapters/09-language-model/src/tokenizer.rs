//! Byte-pair encoding: text as numbers.
//!
//! A tokenizer begins with one token for each of the 256 bytes, so that any bytes can be encoded and come back. Training
//! joins the two neighbours that occur together most often into a new token, again and again (Gage 1994; for language
//! models Sennrich, Haddow and Birch 2016). The list of these *merges* is all that it learns, and their order is their
//! rank: encoding joins pairs by rank, the earliest learned first.
//!
//! 1. [`mod@chunks`]: where a token may never reach across.
//! 2. [`training`]: counting pairs once, and keeping the counts as merges change them.
//! 3. [`Tokenizer::encode`]: merges by rank, with a cache of the chunks that were met before.
//!
//! The last token, [`Tokenizer::end`], stands for the end of a text and is never made from bytes.

pub mod chunks;
pub mod training;

use crate::{Error, Result};
use chunks::chunks;
use lab::{files::unmarked, run::write_whole};
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, path::Path};
pub use training::Pair;

/// The rank of each pair that is joined, and the token that it becomes.
type Joined = HashMap<Pair, (u32, u32), FxBuildHasher>;

/// The largest vocabulary: larger ones are a mistake, and no chunk has so many parts.
pub const LARGEST: usize = 1 << 20;
/// Chunks that an encoder remembers.
const REMEMBERED: usize = 1 << 16;

/// Merges in the order in which they were learned.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    merges: Vec<Pair>,
    /// The rank of a merge, and the token that it makes.
    joined: Joined,
    /// The bytes of all tokens one after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Tokenizer {
    /// The tokenizer with these merges. The first makes token 256, and each makes a new token unless its bytes are those
    /// of one before: two eights of spaces are the same token as a four and a twelve.
    ///
    /// # Errors
    /// If a merge joins tokens that do not come before it, or stands in the list twice; if there are too many.
    pub fn new(merges: Vec<Pair>) -> Result<Self> {
        let wrong = |why: String| Err(Error::Config(format!("this is no list of merges: {why}")));
        if merges.len() + 257 > LARGEST {
            return wrong(format!("it has {}, and {} is the most", merges.len(), LARGEST - 257));
        }
        let mut tokens = training::Tokens::default();
        let mut joined = Joined::default();
        for (&(a, b), rank) in merges.iter().zip(0..) {
            if a.max(b) as usize >= tokens.len() {
                return wrong(format!(
                    "merge {rank} joins {a} and {b}, and there are {} tokens by then",
                    tokens.len()
                ));
            }
            let Some(new) = tokens.join((a, b)) else {
                return wrong(format!(
                    "merge {rank} makes a token of more than {} bytes",
                    chunks::LONGEST
                ));
            };
            if joined.insert((a, b), (rank, new)).is_some() {
                return wrong(format!("{a} and {b} are joined twice"));
            }
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for token in tokens.all() {
            bytes.extend_from_slice(token);
            ends.push(bytes.len());
        }
        ends.push(bytes.len());
        Ok(Self { merges, joined, bytes, ends })
    }

    /// Learns a vocabulary of so many tokens from these texts: 256 bytes, merges and the end of a text. It is smaller if no
    /// pair is left that occurs twice. The same texts give the same merges, in any order and on any number of threads.
    ///
    /// # Errors
    /// If the vocabulary is below 257 or above [`LARGEST`].
    pub fn train<T: AsRef<[u8]> + Sync>(texts: &[T], vocabulary: usize) -> Result<Self> {
        if !(257..=LARGEST).contains(&vocabulary) {
            return Err(Error::Config(format!(
                "a vocabulary of {vocabulary}: it has 256 bytes and the end of a text at least, and {LARGEST} tokens at most"
            )));
        }
        Self::new(training::merges(training::count(texts), vocabulary - 1))
    }

    /// How many tokens there are.
    pub fn vocabulary(&self) -> usize {
        self.ends.len()
    }

    /// The token that ends a text: the last one.
    pub fn end(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// The merges, in the order in which they were learned.
    pub fn merges(&self) -> &[Pair] {
        &self.merges
    }

    /// The bytes that a token stands for: none for the end of a text, and none for a number that is no token.
    pub fn bytes(&self, token: u32) -> &[u8] {
        let token = token as usize;
        let Some(&end) = self.ends.get(token) else { return &[] };
        &self.bytes[if token == 0 { 0 } else { self.ends[token - 1] }..end]
    }

    /// The tokens of these bytes.
    pub fn encode(&self, bytes: &[u8]) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(bytes.len() / 3);
        self.encoder().append(bytes, &mut tokens);
        tokens
    }

    /// The tokens of each text, encoded on all threads of rayon.
    pub fn encode_all<T: AsRef<[u8]> + Sync>(&self, texts: &[T]) -> Vec<Vec<u32>> {
        let each = texts.par_iter().map_init(
            || self.encoder(),
            |encoder, text| {
                let mut tokens = Vec::new();
                encoder.append(text.as_ref(), &mut tokens);
                tokens
            },
        );
        each.collect()
    }

    /// All texts as one row of tokens, each with the end of a text behind it.
    pub fn stream<T: AsRef<[u8]> + Sync>(&self, texts: &[T]) -> Vec<u32> {
        let mut all = Vec::new();
        for tokens in self.encode_all(texts) {
            all.extend(tokens);
            all.push(self.end());
        }
        all
    }

    /// An encoder, which remembers the chunks that it has met.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder { tokenizer: self, known: HashMap::default(), tokens: Vec::new() }
    }

    /// The bytes of these tokens, one after the other.
    pub fn decode(&self, tokens: &[u32]) -> Vec<u8> {
        tokens.iter().flat_map(|&token| self.bytes(token)).copied().collect()
    }

    /// The SHA-256 of the merges: two tokenizers with the same digest encode alike.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (a, b) in &self.merges {
            hash.update(a.to_le_bytes());
            hash.update(b.to_le_bytes());
        }
        format!("{:x}", hash.finalize())
    }

    /// Writes the merges as JSON.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let file = File { format: FORMAT.to_owned(), merges: self.merges.clone() };
        let text =
            serde_json::to_string(&file).map_err(|why| Error::file(path, why.to_string()))?;
        Ok(write_whole(path, text.as_bytes())?)
    }

    /// Reads what [`Tokenizer::save`] wrote.
    ///
    /// # Errors
    /// If the file can't be read or is no such file.
    pub fn load(path: &Path) -> Result<Self> {
        let wrong = |why: String| {
            Error::file(path, format!("no tokenizer ({why}); copy that of the model's run here"))
        };
        let text = lab::files::read_regular(path).map_err(|why| wrong(why.to_string()))?;
        let text = String::from_utf8_lossy(&text); // what is no text is refused as no JSON, or as another format
        let file: File =
            serde_json::from_str(unmarked(&text)).map_err(|why| wrong(why.to_string()))?;
        if file.format != FORMAT {
            return Err(wrong(format!("its format is `{}`", file.format)));
        }
        Self::new(file.merges).map_err(|why| wrong(why.to_string()))
    }
}

/// The form of the file. Another splitting rule would need another name: merges are of use only with the rule by which
/// they were learned.
const FORMAT: &str = "throughput byte pairs 1";

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    merges: Vec<Pair>,
}

/// A tokenizer with a memory: most chunks of a text have been met before.
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    /// Where a chunk's tokens lie in `tokens`.
    known: HashMap<Box<[u8]>, (u32, u32), FxBuildHasher>,
    tokens: Vec<u32>,
}

impl Encoder<'_> {
    /// Appends the tokens of these bytes.
    pub fn append(&mut self, bytes: &[u8], to: &mut Vec<u32>) {
        for chunk in chunks(bytes) {
            if let [byte] = chunk {
                to.push(u32::from(*byte));
            } else if let Some(&(start, end)) = self.known.get(chunk) {
                to.extend_from_slice(&self.tokens[start as usize..end as usize]);
            } else {
                let start = to.len();
                to.extend(chunk.iter().map(|byte| u32::from(*byte)));
                let len = merge(&mut to[start..], &self.tokenizer.joined);
                to.truncate(start + len);
                if self.known.len() < REMEMBERED {
                    let at = self.tokens.len() as u32;
                    self.tokens.extend_from_slice(&to[start..]);
                    self.known.insert(chunk.into(), (at, at + len as u32));
                }
            }
        }
    }
}

/// Joins the neighbours that were learned first, until no two are in the list. Returns how many tokens are left.
// ANCHOR: merge
fn merge(tokens: &mut [u32], joined: &Joined) -> usize {
    let mut len = tokens.len();
    loop {
        let pairs = tokens[..len].windows(2).zip(0..);
        let known = pairs.filter_map(|(pair, at)| {
            let &(rank, new) = joined.get(&(pair[0], pair[1]))?;
            Some((rank, at, new))
        });
        let Some((_, at, new)) = known.min() else { return len };
        tokens[at] = new;
        tokens.copy_within(at + 2..len, at + 1);
        len -= 1;
    }
}
// ANCHOR_END: merge
