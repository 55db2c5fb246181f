//! The test of the exercise `byte-stream`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Inbox, MOST};
use lab::check::{SplitMix64, numbers, same_bits};

/// The bytes of a message.
fn written(message: &[f32]) -> Vec<u8> {
    let values = message.iter().flat_map(|value| value.to_le_bytes());
    (message.len() as u32).to_le_bytes().into_iter().chain(values).collect()
}

/// Messages of several lengths, an empty one among them, and values that are no numbers.
fn messages() -> Vec<Vec<f32>> {
    let drawn = [1, 0, 3, 100, 0, 0, 7].map(|len| numbers(len, 1));
    drawn.into_iter().chain([vec![f32::NAN, -0.0, f32::INFINITY]]).collect()
}

/// What comes out of the stream if these are the lengths of its reads; the last read brings the rest.
#[track_caller]
fn holds(lengths: impl IntoIterator<Item = usize>) {
    let stream: Vec<u8> = messages().iter().flat_map(|message| written(message)).collect();
    let (mut inbox, mut found, mut rest) = (Inbox::default(), Vec::new(), &stream[..]);
    for length in lengths.into_iter().chain([usize::MAX]) {
        let (read, others) = rest.split_at(length.min(rest.len()));
        rest = others;
        found.extend(inbox.take(read).expect("all messages are short enough"));
        // A message is not held back once it is whole.
        let complete = stream.len() - rest.len();
        let mut end = 0;
        let whole = |message: &&Vec<f32>| {
            end += written(message).len();
            end <= complete
        };
        let wanted = messages().iter().take_while(whole).count();
        assert_eq!(found.len(), wanted, "messages after {complete} bytes");
    }
    same_bits(found.concat(), messages().concat(), "the values of all messages");
    assert!(found.iter().map(Vec::len).eq(messages().iter().map(Vec::len)), "the lengths differ");
    assert!(inbox.waiting.is_empty(), "{} bytes are still kept", inbox.waiting.len());
}

#[test]
fn a_read_may_bring_a_part_of_a_message() {
    for length in 1..=40 {
        holds(vec![length; 600 / length]);
    }
}

#[test]
fn a_read_may_bring_several_messages() {
    holds([]);
    holds([0, 0, 30]);
    holds([500, 20]);
}

#[test]
fn reads_of_any_length() {
    let mut random = SplitMix64::new(2);
    for _ in 0..200 {
        holds((0..30).map(|_| random.below(60)).collect::<Vec<_>>());
    }
}

#[test]
fn what_no_rank_sends_is_an_error_before_it_comes() {
    for count in [MOST + 1, u32::MAX as usize] {
        let header = (count as u32).to_le_bytes();
        let mut inbox = Inbox::default();
        assert!(inbox.take(&[written(&[1.0]).as_slice(), &header[..3]].concat()).is_ok());
        assert!(inbox.take(&header[3..]).is_err(), "a message of {count} values");
    }
    let longest = vec![0.5; MOST];
    let found = Inbox::default().take(&written(&longest)).expect("as long as it may be");
    assert_eq!(found, [longest]);
}
