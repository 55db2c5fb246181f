use language_model::{Config, Model, generate::Decoder, measured::experiments::decoding::decoded};

#[test]
fn the_likeliest_tokens_are_those_of_full_passes() {
    let config = Config { vocabulary: 50, context: 16, width: 16, heads: 2, layers: 1, hidden: 24 };
    let model = Model::new(config, 1).unwrap();
    let decoder = Decoder::new(&config, &model.parameters).unwrap();
    let (found, seconds) = decoded(&decoder, &[1, 2, 3], 10).unwrap();
    assert_eq!((found.len(), seconds.len()), (10, 10));
    let mut text = vec![1, 2, 3];
    for token in found {
        let scores = model.logits(&text).unwrap();
        let last = &scores[scores.len() - 50..];
        let best = (0..50).max_by(|a, b| last[*a].total_cmp(&last[*b])).unwrap();
        assert_eq!(token, best as u32);
        text.push(token);
    }
}
