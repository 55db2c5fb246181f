//! What processes send to each other: frames, each a length and a header that serde writes. Behind the header of a
//! message come its numbers. Nothing that comes makes a rank take more memory than really comes.

use crate::{Error, Rank};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Read},
    net::SocketAddr,
};

/// The first bytes of every rank: a connection that begins differently is no rank.
pub const PROTOCOL: &str = "throughput 3";

/// The longest header, in bytes.
const MOST_HEADER: usize = 1 << 16;

/// The most numbers of a message, 16 GiB: all parameters of the largest model.
const MOST_NUMBERS: u64 = 1 << 32;

/// The memory that a message gets before its numbers come.
const ROOM: u64 = 1 << 20;

/// The most characters of a reason that others are told.
const MOST_WORDS: usize = 2000;

/// What ends a run for all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Failure {
    /// A rank is gone, for this reason.
    Lost(Rank, String),
    /// A rank has been silent for so many seconds.
    Silent(Rank, f64),
    /// The ranks do not fit together, for this reason.
    Refused(String),
}

impl Failure {
    /// What the others hear when `rank` ends with an error.
    pub fn of(rank: Rank, error: &Error) -> Self {
        match error {
            Error::Lost { rank, why } => Self::Lost(*rank, why.clone()),
            Error::Silent { rank, seconds } => Self::Silent(*rank, *seconds),
            other => {
                let why: String = other.to_string().chars().take(MOST_WORDS).collect();
                Self::Refused(format!("rank {rank} has failed: {why}"))
            }
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost(rank, why) => Self::Lost { rank, why },
            Failure::Silent(rank, seconds) => Self::Silent { rank, seconds },
            Failure::Refused(why) => Self::Config(why),
        }
    }
}

/// What processes send to each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Frame {
    /// Who I am, on a new connection.
    Hello(Hello),
    /// All have come; this is where each listens.
    Roster(Vec<SocketAddr>),
    /// I live.
    Alive,
    /// So many numbers follow.
    Numbers(u64),
    /// I am done; that I go now means nothing.
    Done,
    /// It is over for all.
    Over(Failure),
}

/// Who comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// Its rank.
    pub rank: Rank,
    /// How many there are, as it was told.
    pub size: usize,
    /// Where it listens for those after it.
    pub address: SocketAddr,
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Frame {
    /// The frame without what follows it.
    pub fn header(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default(); // no frame fails
        [&(json.len() as u32).to_le_bytes(), json.as_slice()].concat()
    }

    /// The next frame, and the numbers that follow it.
    ///
    /// # Errors
    /// The stream's, and `InvalidData` for what no rank says.
    pub fn read(from: &mut impl Read) -> io::Result<(Self, Vec<f32>)> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_HEADER {
            return Err(nonsense("a header that no rank sends"));
        }
        let mut json = vec![0; length];
        from.read_exact(&mut json)?;
        let frame = serde_json::from_slice(&json).map_err(|_| nonsense("no frame"))?;
        let numbers = match frame {
            Self::Numbers(count) => numbers(from, count)?,
            _ => Vec::new(),
        };
        Ok((frame, numbers))
    }
}

/// So many numbers. Memory grows with what comes, not with what was announced.
fn numbers(from: &mut impl Read, count: u64) -> io::Result<Vec<f32>> {
    if count > MOST_NUMBERS {
        return Err(nonsense("more numbers than ranks send"));
    }
    let mut bytes = Vec::with_capacity((4 * count).min(ROOM) as usize);
    from.take(4 * count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != 4 * count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
}
