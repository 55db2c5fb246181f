//! Messages out of a stream of bytes.

use multi_gpu::{Error, Result};

/// The most values of a message.
pub const MOST: usize = 1 << 20;

/// What came from one rank and is not a whole message yet.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Bytes, in the order in which they came.
    pub waiting: Vec<u8>,
}

impl Inbox {
    /// Takes what one read has brought, and returns the messages that are complete, in order.
    ///
    /// # Errors
    /// If a message announces more than [`MOST`] values.
    pub fn take(&mut self, read: &[u8]) -> Result<Vec<Vec<f32>>> {
        let too_long =
            |count: usize| Error::Config(format!("a message of {count} values is from no rank"));
        let values = |bytes: &[u8]| {
            let (values, _) = bytes.as_chunks::<4>();
            values.iter().map(|four| f32::from_le_bytes(*four)).collect::<Vec<f32>>()
        };
        // EXERCISE: begin
        self.waiting.extend_from_slice(read);
        let (mut messages, mut taken) = (Vec::new(), 0);
        while let Some((header, rest)) = self.waiting[taken..].split_first_chunk::<4>() {
            let count = u32::from_le_bytes(*header) as usize;
            if count > MOST {
                return Err(too_long(count));
            }
            let Some(bytes) = rest.get(..4 * count) else { break };
            messages.push(values(bytes));
            taken += 4 + 4 * count;
        }
        self.waiting.drain(..taken);
        Ok(messages)
        // EXERCISE: instead
        // let Some((header, rest)) = read.split_first_chunk::<4>() else { return Ok(vec![]) };
        // let count = u32::from_le_bytes(*header) as usize;
        // if count > MOST {
        //     return Err(too_long(count));
        // }
        // Ok(vec![values(rest)])
        // EXERCISE: end
    }
}
