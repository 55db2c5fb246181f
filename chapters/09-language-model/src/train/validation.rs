//! The loss on text that the model does not learn from: windows side by side, so that each token is predicted once.

use crate::{Error, Model, Result, passes::Passes};

/// The mean loss, in nats a token, over up to `most` windows of `length` tokens, evenly spread over the stream and `batch`
/// at a time, on so many threads (0 for all).
///
/// # Errors
/// [`Error::TooShort`] if the stream has no window; as [`Passes::loss`].
pub fn loss(
    model: &Model,
    stream: &[u32],
    (batch, length): (usize, usize),
    most: usize,
    threads: usize,
) -> Result<f64> {
    let windows = stream.len().saturating_sub(1) / length.max(1);
    if windows == 0 {
        return Err(Error::TooShort { found: stream.len(), context: length });
    }
    let count = windows.min(most.max(1));
    let firsts: Vec<usize> = (0..count).map(|i| i * windows / count * length).collect();
    let (mut sum, mut passes) = (0.0, None);
    let (mut tokens, mut targets) = (Vec::new(), Vec::new());
    for firsts in firsts.chunks(batch.max(1)) {
        tokens.clear();
        targets.clear();
        for &first in firsts {
            tokens.extend_from_slice(&stream[first..first + length]);
            targets.extend_from_slice(&stream[first + 1..=first + length]);
        }
        let fits = |passes: &&mut Passes| passes.rows() == tokens.len();
        let passes = match passes.as_mut().filter(fits) {
            Some(passes) => passes,
            None => {
                passes.insert(Passes::forward_only(model.config, firsts.len(), length, threads)?)
            }
        };
        sum += passes.loss(model, &tokens, &targets)? * firsts.len() as f64;
    }
    Ok(sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn it_is_the_mean_over_the_windows_whatever_the_batch() {
        let config = Config { vocabulary: 9, context: 8, width: 8, heads: 2, layers: 1, hidden: 8 };
        let model = Model::new(config, 4).unwrap();
        let stream: Vec<u32> = (0..70_u32).map(|i| i * i % 9).collect();
        let each = (0..8).map(|window| {
            let first = window * 8;
            model.loss(&stream[first..first + 8], &stream[first + 1..first + 9], 1).unwrap()
        });
        let wanted = each.sum::<f64>() / 8.0;
        for batch in [1, 3, 8, 100] {
            let found = loss(&model, &stream, (batch, 8), 100, 1).unwrap();
            assert!((found - wanted).abs() < 1e-6, "{batch}: {found} {wanted}");
        }
        let first = model.loss(&stream[..8], &stream[1..9], 1).unwrap();
        assert!((loss(&model, &stream, (4, 8), 1, 1).unwrap() - first).abs() < 1e-12);
        assert!(matches!(loss(&model, &stream[..8], (4, 8), 9, 1), Err(Error::TooShort { .. })));
    }
}
