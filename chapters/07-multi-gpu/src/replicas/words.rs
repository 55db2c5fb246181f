//! Text between ranks: a communicator carries numbers, and two bytes fit into one without loss.

use crate::{Communicator, Rank, Result};

/// Everybody gets the root's bytes, however many they are.
///
/// # Errors
/// The communicator's own.
pub fn broadcast(comm: &mut dyn Communicator, root: Rank, bytes: &mut Vec<u8>) -> Result<()> {
    // A length in three numbers of 24 bits, each exact in an f32.
    let mut length = [0, 24, 48].map(|shift| ((bytes.len() as u64 >> shift) & 0xff_ffff) as f32);
    comm.broadcast(root, &mut length)?;
    let length = length.iter().rev().fold(0, |sum, part| (sum << 24) | *part as u64) as usize;
    bytes.resize(length, 0);
    let pair = |two: &[u8]| u16::from_le_bytes([two[0], *two.get(1).unwrap_or(&0)]);
    let mut numbers: Vec<f32> = bytes.chunks(2).map(|two| f32::from(pair(two))).collect();
    comm.broadcast(root, &mut numbers)?;
    let got = numbers.iter().flat_map(|number| (*number as u16).to_le_bytes());
    bytes.iter_mut().zip(got).for_each(|(byte, got)| *byte = got);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn every_byte_arrives_everywhere() {
        let words = |rank: usize| -> Vec<u8> {
            (0..rank * 257).map(|i| (i * 7 + rank) as u8).collect() // odd lengths, and none at all
        };
        let got = threads::run(3, |mut comm| {
            let mine = words(comm.rank().0);
            (0..3)
                .map(|root| {
                    let mut bytes = mine.clone();
                    broadcast(&mut comm, Rank(root), &mut bytes)?;
                    Ok(bytes)
                })
                .collect::<Result<Vec<_>>>()
        });
        for all in got.unwrap() {
            assert_eq!(all, (0..3).map(words).collect::<Vec<_>>());
        }
    }
}
