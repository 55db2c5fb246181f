use lab::serve::Refused;
use language_model::{generate::Sampling, serve::api::Generate, serve::options::Options};

fn parse(body: &str) -> Result<Generate, Refused> {
    Generate::parse(body.as_bytes(), &Options { tokens: 500, ..Options::default() })
}

#[test]
fn what_is_left_out_is_as_usual() {
    let request = parse(r#"{"prompt": "größe 🦀"}"#).unwrap();
    assert_eq!((request.prompt.as_str(), request.tokens), ("größe 🦀", 128));
    let usual = Sampling { seed: request.sampling.seed, ..Sampling::default() };
    assert_eq!(request.sampling, usual);
    let all = r#"{"prompt": "", "tokens": 500, "temperature": 0, "top_k": 5, "top_p": 0.5, "seed": 18446744073709551615, "stream": true}"#;
    let request = parse(all).unwrap();
    let wanted = Sampling { temperature: 0.0, top_k: 5, top_p: 0.5, seed: u64::MAX };
    assert_eq!((request.sampling, request.stream), (wanted, true));
}

#[test]
fn a_wrong_body_gets_a_sentence() {
    for (body, word) in [
        ("", "JSON"),
        ("[]", "JSON"),
        ("{}", "prompt"),
        (r#"{"prompt": 1}"#, "string"),
        (r#"{"prompt": "\ud800"}"#, "JSON"),
        (r#"{"prompt": "a", "tokens": 0}"#, "1 to 500"),
        (r#"{"prompt": "a", "tokens": 501}"#, "1 to 500"),
        (r#"{"prompt": "a", "tokens": -1}"#, "integer `-1`"),
        (r#"{"prompt": "a", "temperature": -0.5}"#, "temperature"),
        (r#"{"prompt": "a", "temperature": 1e999}"#, "JSON"),
        (r#"{"prompt": "a", "top_p": 0}"#, "top-p"),
        (r#"{"prompt": "a", "max_tokens": 5}"#, "max_tokens"),
        (&"[".repeat(1000), "JSON"),
    ] {
        let refused = parse(body).unwrap_err();
        assert!(refused.status.starts_with("400") && refused.why.contains(word), "{refused:?}");
    }
    assert!(Generate::parse(b"\"\xff\"", &Options::default()).is_err());
}
