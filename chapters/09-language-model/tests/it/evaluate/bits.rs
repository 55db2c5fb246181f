use lab::random::numbers;
use language_model::Tokenizer;
use language_model::evaluate::bits::{bits, cost};

#[test]
fn a_cost_is_that_of_the_softmax() {
    for len in [1, 5, 16, 300] {
        let scores: Vec<f32> = numbers(len, 1).iter().map(|x| 20.0 * x).collect();
        let sum: f64 = scores.iter().map(|s| f64::from(*s).exp()).sum();
        for token in 0..len {
            let wanted = -(f64::from(scores[token]).exp() / sum).log2();
            let found = cost(&scores, token as u32);
            assert!((found - wanted).abs() < 1e-4 * wanted.abs().max(1.0), "{found} {wanted}");
        }
    }
}

#[test]
fn every_token_is_paid_for_once_and_sees_half_a_context() {
    let tokenizer = Tokenizer::train(&[b""], 257).unwrap();
    for (context, len) in [(2, 9), (4, 1), (4, 4), (4, 5), (5, 23), (8, 100)] {
        let text: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let mut windows = Vec::new();
        let found = bits(
            |tokens| {
                assert!((1..=context).contains(&tokens.len()));
                windows.push(tokens.to_vec());
                Ok(vec![0.0; tokens.len() * 257])
            },
            context,
            &tokenizer,
            [&text, &Vec::new()],
        )
        .unwrap();
        assert_eq!((found.bytes, found.tokens), (len, len));
        let uniform = found.uniform(257);
        assert!((found.bits - uniform.bits).abs() < 1e-3 && uniform.bits > 0.0);
        assert_eq!(windows[0][0], tokenizer.end(), "a text begins after the end of another");
        assert_eq!(
            windows.last().unwrap().last(),
            text.len().checked_sub(2).map(|at| text[at].into()).or(Some(256)).as_ref()
        );
    }
    let none = bits(|_| panic!("there is nothing"), 4, &tokenizer, [b""]).unwrap();
    assert!(none.per_byte().is_nan());
}
