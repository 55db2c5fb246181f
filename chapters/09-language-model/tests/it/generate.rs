//! Decoding with a cache, against full passes.

mod panels;
mod sampling;
mod utf8;

use crate::talker::{self, talker};
use language_model::{
    Config, Error, Model,
    generate::{Cache, Decoder, Sampling, Sequence, Span, Stop, generate, speculative, step},
    reference,
};
use std::{ops::ControlFlow, time::Instant};

fn tokens(len: usize, model: &Model) -> Vec<u32> {
    let mut random = lab::random::SplitMix64::new(5);
    (0..len).map(|_| random.below(model.config.vocabulary) as u32).collect()
}

fn difference(one: &[f32], two: &[f32]) -> f32 {
    assert_eq!(one.len(), two.len());
    one.iter().zip(two).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn the_decoder_is_the_model() {
    let (decoder, _, model) = talker::decoder();
    let parameters: Vec<f64> = model.parameters.iter().map(|p| f64::from(*p)).collect();
    for len in [1, 2, 17, model.config.context] {
        let tokens = tokens(len, &model);
        let found = decoder.logits(&tokens).unwrap();
        assert!(difference(&found, &model.logits(&tokens).unwrap()) < 1e-4);
        let wanted = reference::scores(&model.config, &parameters, &tokens).concat();
        let wanted: Vec<f32> = wanted.iter().map(|score| *score as f32).collect();
        assert!(difference(&found, &wanted) < 1e-4);
    }
}

#[test]
fn a_draft_changes_the_passes_and_not_the_text() {
    let (decoder, _, model) = talker::decoder();
    let narrow = Decoder::in_8_bits(&model.config, &model.parameters).unwrap();
    let other = Model::new(model.config, 77).unwrap();
    let other = Decoder::new(&other.config, &other.parameters).unwrap();
    let (prompt, len) = (tokens(5, &model), 20);
    let mut alone = prompt.clone();
    while alone.len() < prompt.len() + len {
        let scores = decoder.logits(&alone).unwrap();
        let last = scores.chunks(model.config.vocabulary).next_back().unwrap();
        let likeliest = (0..last.len()).reduce(|a, b| if last[b] > last[a] { b } else { a });
        alone.push(likeliest.unwrap() as u32);
    }
    for (draft, right) in [(&decoder, true), (&narrow, false), (&other, false)] {
        for ahead in 0..6 {
            let found = speculative([&decoder, draft], &prompt, len, ahead).unwrap();
            assert_eq!(found.tokens, alone[prompt.len()..]);
            let least = len.div_ceil(ahead + 1);
            assert!(if right { found.passes == least } else { found.passes >= least });
        }
    }
    assert!(speculative([&decoder, &other], &[], len, 2).is_err());
    assert!(speculative([&decoder, &other], &prompt, model.config.context, 2).is_err());
}

#[test]
fn decoding_with_a_cache_has_the_bits_of_a_full_pass() {
    let (decoder, _, model) = talker::decoder();
    let tokens = tokens(model.config.context, &model);
    let wanted = decoder.logits(&tokens).unwrap();
    for pieces in [vec![1; tokens.len()], vec![5, 1, 1, 13, tokens.len() - 20]] {
        let (mut cache, mut at) = (decoder.cache(), 0);
        for piece in pieces {
            let span = Span { cache: &mut cache, tokens: &tokens[at..at + piece] };
            let scores = decoder.step(&mut [span]).unwrap();
            at += piece;
            let row = &wanted[(at - 1) * model.config.vocabulary..][..model.config.vocabulary];
            assert_eq!(scores, row, "after {at} tokens");
            assert_eq!((cache.len(), cache.room()), (at, tokens.len() - at));
        }
    }
}

#[test]
fn a_sequence_has_the_same_bits_alone_and_in_a_batch() {
    let (decoder, tokenizer, _) = talker::decoder();
    let how = |seed| Sampling { temperature: 1.0, top_p: 1.0, seed, ..Sampling::default() };
    let prompts = ["", "fn", "let x = 5;\n", "use std::fmt;\n\npub struct A", "}"];
    let alone: Vec<String> = (0..)
        .zip(prompts)
        .map(|(seed, prompt)| talker::text(&decoder, &tokenizer, prompt, 60, how(seed)))
        .collect();
    // The others join one by one, and each leaves when it has ended.
    let mut all: Vec<Sequence> = (0..)
        .zip(prompts)
        .map(|(seed, p)| Sequence::new(&decoder, &tokenizer, p.as_bytes(), 60, how(seed)).unwrap())
        .collect();
    let mut texts = vec![String::new(); prompts.len()];
    let mut steps = 0;
    while all.iter().any(|sequence| sequence.stop().is_none()) {
        let mut some: Vec<&mut Sequence> = all.iter_mut().take(1 + steps / 7).collect();
        let news = step(&decoder, &tokenizer, &mut some).unwrap();
        texts.iter_mut().zip(news).for_each(|(text, more)| *text += &more);
        steps += 1;
    }
    assert_eq!(texts, alone);
    assert!(step(&decoder, &tokenizer, &mut []).unwrap().is_empty());
}

#[test]
fn a_seed_gives_the_same_text_and_another_seed_another() {
    let (decoder, tokenizer, _) = talker::decoder();
    let text = |seed| {
        let how = Sampling { temperature: 1.2, seed, ..Sampling::default() };
        talker::text(&decoder, &tokenizer, "fn main() {", 50, how)
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}

#[test]
fn a_text_beyond_the_context_goes_on_with_its_last_half() {
    let (decoder, tokenizer, model) = talker::decoder();
    let context = model.config.context;
    let mut sequence =
        Sequence::new(&decoder, &tokenizer, b"ab", 3 * context, Sampling::greedy()).unwrap();
    let mut slides = 0;
    while sequence.stop().is_none() {
        let window = sequence.window().to_vec();
        assert!((1..=context).contains(&window.len()));
        step(&decoder, &tokenizer, &mut [&mut sequence]).unwrap();
        // Each token is the likeliest of a full pass over what the window holds.
        let scores = model.logits(&window).unwrap();
        let last = &scores[scores.len() - model.config.vocabulary..];
        let best = (0..last.len()).max_by(|a, b| last[*a].total_cmp(&last[*b])).unwrap();
        assert_eq!(sequence.window().last(), Some(&(best as u32)));
        if sequence.window().len() < window.len() {
            slides += 1;
            assert_eq!(sequence.window().len(), context / 2);
        }
        assert_eq!(sequence.forgotten(), slides > 0);
    }
    assert_eq!((sequence.stop(), sequence.made()), (Some(Stop::Length), 3 * context));
    assert!(slides >= 4, "{slides}");
}

#[test]
fn any_prompt_gets_an_answer() {
    let (decoder, tokenizer, _) = talker::decoder();
    let mut random = lab::random::SplitMix64::new(1);
    let noise: Vec<u8> = (0..777).map(|_| random.below(256) as u8).collect();
    let began = Instant::now();
    let huge = b"let x = 1;\n".repeat(1_000_000);
    for prompt in [&b""[..], b"\0", b"\xff\xfe", "größe 🦀".as_bytes(), &noise, &huge] {
        let mut heard = String::new();
        let answer = generate(&decoder, &tokenizer, prompt, 9, Sampling::greedy(), |text| {
            heard += text;
            ControlFlow::Continue(())
        });
        let answer = answer.unwrap();
        assert_eq!((answer.tokens, answer.stop), (9, Some(Stop::Length)));
        assert_eq!(answer.text, heard);
        assert_eq!(answer.forgotten, prompt.len() > 600);
    }
    assert!(began.elapsed().as_secs() < 60, "a long prompt is not read as a whole");
    let answer = generate(&decoder, &tokenizer, b"a", 0, Sampling::greedy(), |_| {
        panic!("no token was asked for")
    });
    assert_eq!(answer.unwrap().text, "");
}

#[test]
fn a_caller_may_break_off() {
    let (decoder, tokenizer, _) = talker::decoder();
    let answer =
        generate(&decoder, &tokenizer, b"a", 1000, Sampling::greedy(), |_| ControlFlow::Break(()));
    let answer = answer.unwrap();
    assert!(answer.stop.is_none() && answer.tokens < 9, "{answer:?}");
}

#[test]
fn the_end_of_a_text_ends_it() {
    let (mut model, tokenizer) = talker();
    // Every other token scores exactly zero, so that this one or none of them is the likeliest.
    let rows = model.layout.embedding.clone();
    let width = model.config.width;
    model.parameters[rows.clone()].fill(0.0);
    let end = rows.start + tokenizer.end() as usize * width;
    model.parameters[end..end + width].fill(1.0);
    model.parameters[rows.start + 97 * width..][..width].fill(1.0); // the prompt's byte, a
    let decoder = Decoder::new(&model.config, &model.parameters).unwrap();
    let mut ended = 0;
    for seed in 0..20 {
        let how = Sampling { temperature: 1.0, top_k: 2, top_p: 1.0, seed };
        let answer = generate(&decoder, &tokenizer, b"a", 50, how, |_| ControlFlow::Continue(()));
        let answer = answer.unwrap();
        if answer.stop == Some(Stop::End) {
            ended += 1;
            assert_eq!(answer.text.len(), answer.tokens);
        }
    }
    assert!(ended > 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (model, tokenizer) = talker();
    let config = model.config;
    let decoder = Decoder::new(&config, &model.parameters).unwrap();
    assert!(matches!(
        Decoder::new(&config, &model.parameters[1..]),
        Err(Error::Backprop(backprop::Error::Count { what: "parameters", .. }))
    ));
    let mut cache = decoder.cache();
    let read = |cache: &mut Cache, tokens: &[u32]| decoder.step(&mut [Span { cache, tokens }]);
    assert!(matches!(read(&mut cache, &[]), Err(Error::Length { found: 0, .. })));
    let long = vec![0; config.context + 1];
    assert!(matches!(read(&mut cache, &long), Err(Error::Length { .. })));
    let unknown = config.vocabulary as u32;
    assert!(matches!(read(&mut cache, &[1, unknown]), Err(Error::Token { .. })));
    assert!(cache.is_empty());
    let foreign = Config { layers: config.layers + 1, ..config };
    assert!(matches!(read(&mut Cache::new(&foreign), &[1]), Err(Error::Config(_))));

    let larger = Config { vocabulary: config.vocabulary + 1, ..config };
    let other = Model::new(larger, 1).unwrap();
    let other = Decoder::new(&larger, &other.parameters).unwrap();
    let error = Sequence::new(&other, &tokenizer, b"", 1, Sampling::greedy()).unwrap_err();
    assert!(error.to_string().contains("take the tokenizer"), "{error}");
    let short = Config { context: 1, ..config };
    let short = Decoder::new(&short, &model.parameters).unwrap();
    assert!(Sequence::new(&short, &tokenizer, b"", 1, Sampling::greedy()).is_err());
    let how = Sampling { top_p: 2.0, ..Sampling::default() };
    assert!(Sequence::new(&decoder, &tokenizer, b"", 1, how).is_err());
}

#[test]
fn a_broken_model_is_an_error_and_no_text() {
    let (mut model, tokenizer) = talker();
    let at = model.layout.norm.start;
    model.parameters[at] = f32::NAN;
    let decoder = Decoder::new(&model.config, &model.parameters).unwrap();
    let answer =
        generate(&decoder, &tokenizer, b"a", 5, Sampling::default(), |_| ControlFlow::Continue(()));
    assert!(answer.unwrap_err().to_string().contains("train it again"));
}
