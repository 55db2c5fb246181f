//! Byte-pair encoding against its definition, and with bytes that nobody would write.

use lab::testing::refused;
use language_model::{
    corpus::folder,
    tokenizer::{
        LARGEST, Pair, Tokenizer,
        chunks::{LONGEST, chunks},
    },
};
use proptest::prelude::*;
use std::{collections::BTreeMap, fs, path::Path};

/// This chapter's own sources.
fn rust() -> Vec<Vec<u8>> {
    let files = folder::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    files.into_iter().map(|(_, text)| text).collect()
}

/// The definition, which counts everything again for each merge.
fn reference(texts: &[Vec<u8>], vocabulary: usize) -> Vec<Pair> {
    let mut words = BTreeMap::<Vec<u8>, i64>::new();
    for chunk in texts.iter().flat_map(|text| chunks(text)) {
        *words.entry(chunk.to_vec()).or_default() += 1;
    }
    let mut words: Vec<(Vec<u32>, i64)> =
        words.into_iter().map(|(w, n)| (w.into_iter().map(u32::from).collect(), n)).collect();
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut merges = Vec::new();
    while tokens.len() < vocabulary - 1 {
        let mut counts = BTreeMap::<Pair, i64>::new();
        for (word, count) in &words {
            for pair in word.windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += count;
            }
        }
        // Of equal counts the first pair.
        let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        let Some((pair, _)) = best.filter(|(_, count)| *count > 1) else { break };
        let bytes = [&*tokens[pair.0 as usize], &*tokens[pair.1 as usize]].concat();
        let new = tokens.iter().position(|other| *other == bytes).unwrap_or_else(|| {
            tokens.push(bytes);
            tokens.len() - 1
        });
        if !merges.contains(&pair) {
            merges.push(pair);
        }
        for (word, _) in &mut words {
            *word = joined(word, pair, new as u32);
        }
    }
    merges
}

fn joined(word: &[u32], pair: Pair, new: u32) -> Vec<u32> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < word.len() {
        if word[at..].starts_with(&[pair.0, pair.1]) {
            out.push(new);
            at += 2;
        } else {
            out.push(word[at]);
            at += 1;
        }
    }
    out
}

#[test]
fn merges_are_those_of_the_definition() {
    let mut texts = rust();
    texts.truncate(6);
    let tokenizer = Tokenizer::train(&texts, 400).unwrap();
    assert_eq!(tokenizer.merges(), reference(&texts, 400));
    assert_eq!((tokenizer.vocabulary(), tokenizer.end()), (400, 399));
}

#[test]
fn neither_order_nor_threads_change_the_merges() {
    let mut texts = rust();
    let one = Tokenizer::train(&texts, 600).unwrap();
    texts.reverse();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let other = pool.install(|| Tokenizer::train(&texts, 600)).unwrap();
    assert_eq!(one.merges(), other.merges());
    assert_eq!(one.digest(), other.digest());
    assert_ne!(one.digest(), Tokenizer::train(&texts, 599).unwrap().digest());
}

#[test]
fn rust_takes_fewer_tokens_than_bytes_and_comes_back() {
    let texts = rust();
    let tokenizer = Tokenizer::train(&texts, 1000).unwrap();
    let encoded = tokenizer.encode_all(&texts);
    let (bytes, tokens) =
        (texts.iter().map(Vec::len).sum::<usize>(), encoded.iter().map(Vec::len).sum::<usize>());
    assert!(bytes > 2 * tokens, "{bytes} bytes, {tokens} tokens");
    for (text, tokens) in texts.iter().zip(&encoded) {
        assert!(tokenizer.decode(tokens) == *text);
        assert!(tokenizer.encode(text) == *tokens, "the cache changes nothing");
    }
    let stream = tokenizer.stream(&texts);
    let ends = stream.iter().filter(|token| **token == tokenizer.end()).count();
    assert_eq!((stream.len(), ends), (tokens + texts.len(), texts.len()));
    assert!(tokenizer.decode(&stream) == texts.concat());
}

#[test]
fn a_merge_that_makes_the_bytes_of_a_token_makes_that_token() {
    let (a, space) = (u32::from(b'a'), u32::from(b' '));
    // "aa" is 256, "aaa" is 257 by two ways.
    let tokenizer = Tokenizer::new(vec![(a, a), (256, a), (a, 256), (space, a)]).unwrap();
    assert_eq!(tokenizer.vocabulary(), 256 + 3 + 1);
    assert_eq!((tokenizer.bytes(257), tokenizer.bytes(258)), (&b"aaa"[..], &b" a"[..]));
    assert_eq!(tokenizer.encode(b"aaaaa"), [256, 257]);
    assert_eq!(tokenizer.bytes(tokenizer.end()), b"");
    assert_eq!(tokenizer.bytes(u32::MAX), b"");
    assert_eq!(tokenizer.decode(&[a, tokenizer.end(), 9999, a]), b"aa");
}

#[test]
fn lists_that_are_no_merges_are_refused() {
    for (merges, why) in [
        (vec![(256, 1)], "there are 256 tokens by then"),
        (vec![(1, 2), (1, 2)], "joined twice"),
        (
            (0..10).map(|n| if n == 0 { (1, 1) } else { (255 + n, 255 + n) }).collect(),
            "more than 64 bytes",
        ),
        (vec![(1, 2); LARGEST], "is the most"),
    ] {
        refused(Tokenizer::new(merges), [why]);
    }
    for vocabulary in [0, 256, LARGEST + 1] {
        refused(Tokenizer::train(&[b"fn main() {}"], vocabulary), [&vocabulary.to_string()]);
    }
}

#[test]
fn bytes_that_are_no_text_are_learned_and_come_back() {
    let line = vec![b'x'; 2 << 20];
    let signs = vec![b'/'; 1 << 20];
    let spaces = vec![b' '; 1 << 20];
    let zeros = vec![0; 1 << 20];
    let mixed: Vec<u8> =
        (0..1u32 << 18).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    let texts = [line, signs, spaces, zeros, mixed, b"\xff\xfe\n\r\n\t ".to_vec(), Vec::new()];
    let tokenizer = Tokenizer::train(&texts, 300).unwrap();
    assert_eq!(tokenizer.vocabulary(), 300);
    for (text, tokens) in texts.iter().zip(tokenizer.encode_all(&texts)) {
        assert!(tokenizer.decode(&tokens) == *text);
    }
    // Nothing to learn from is no error: bytes alone are a tokenizer.
    for texts in [&[][..], &[&b""[..]], &[b"abcdefg"]] {
        let tokenizer = Tokenizer::train(texts, 4096).unwrap();
        assert_eq!((tokenizer.vocabulary(), tokenizer.end()), (257, 256));
        assert_eq!(tokenizer.encode(b"fn"), [102, 110]);
    }
}

#[test]
fn a_file_gives_the_tokenizer_back_and_another_file_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let tokenizer = Tokenizer::train(&rust(), 500).unwrap();
    tokenizer.save(&path).unwrap();
    // Also where an editor has put a byte order mark before it.
    for mark in ["", "\u{feff}"] {
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{mark}{text}")).unwrap();
        let read = Tokenizer::load(&path).unwrap();
        assert_eq!((read.merges(), read.digest()), (tokenizer.merges(), tokenizer.digest()));
    }
    for text in [
        &b""[..],
        b"\xff\0",
        b"{}",
        b"[[1, 2]]",
        br#"{"format": "another", "merges": []}"#,
        br#"{"format": "throughput byte pairs 1", "merges": [[300, 1]]}"#,
        br#"{"format": "throughput byte pairs 1", "merges": [[-1, 1]]}"#,
    ] {
        fs::write(&path, text).unwrap();
        refused(Tokenizer::load(&path), ["tokenizer.json", "copy that of"]);
    }
    refused(Tokenizer::load(&folder.path().join("none.json")), ["none.json", "copy that of"]);
}

#[test]
fn chunks_follow_their_rule() {
    let text = "pub fn f_mut(&self, x: u32) -> Vec<f32> {\n        let größe = 12345; // \"no\"\n\n}\n  \n\tx    y";
    let found: Vec<&str> = chunks(text.as_bytes()).map(|c| str::from_utf8(c).unwrap()).collect();
    assert_eq!(
        found.join("|"),
        "pub| fn| f|_mut|(&|self|,| x|:| u32|)| ->| Vec|<f32|>| {\n        |let| größe| =| |123|45|;| //| \"|no|\"\n\n|}\n  \n\t|x|   | y"
    );
}

proptest! {
    #[test]
    fn any_bytes_come_back(
        bytes in prop::collection::vec(any::<u8>(), 0..400), learned in "[ a-c{}\n]{0,300}", vocabulary in 257_usize..320,
    ) {
        let tokenizer = Tokenizer::train(&[learned.as_bytes(), &bytes], vocabulary).unwrap();
        for text in [&bytes[..], learned.as_bytes()] {
            let tokens = tokenizer.encode(text);
            prop_assert!(tokens.iter().all(|token| *token < tokenizer.end()));
            prop_assert_eq!(tokenizer.decode(&tokens), text);
        }
    }

    #[test]
    fn chunks_are_short_and_together_the_text(text in "(?s)[ \t\r\n_a-z0-9{}().é\\x00]{0,300}") {
        let bytes = text.as_bytes();
        prop_assert!(chunks(bytes).all(|chunk| !chunk.is_empty() && chunk.len() <= LONGEST));
        prop_assert_eq!(chunks(bytes).collect::<Vec<_>>().concat(), bytes);
    }

    #[test]
    fn training_on_few_letters_is_as_the_definition_says(
        texts in prop::collection::vec("[ab ]{0,60}", 1..6), vocabulary in 258_usize..300,
    ) {
        let texts: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
        let tokenizer = Tokenizer::train(&texts, vocabulary).unwrap();
        prop_assert_eq!(tokenizer.merges(), reference(&texts, vocabulary));
    }
}
