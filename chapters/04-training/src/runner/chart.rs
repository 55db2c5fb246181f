//! The curves as a terminal shows them: a column for each epoch, in eighths of a character.

use crate::learning::metrics::Epoch;

/// Lines of a panel's columns.
const ROWS: usize = 4;
/// Heights of a column: none, or as many eighths of a line.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What is left of a panel's columns: a label and the axis.
const LABEL: usize = 9;
/// What is between two panels.
const GAP: usize = 3;
/// The fewest columns: those of a title.
const FEWEST: usize = 20;

/// Training loss, with equal ratios equally high, and test accuracy over the epochs, `width` characters wide
/// at most: next to each other, or one above the other where that is too narrow. Empty before the second
/// epoch, which makes the first curve, and where not even one panel fits.
pub fn chart(history: &[Epoch], width: usize) -> String {
    if history.len() < 2 || width < LABEL + FEWEST {
        return String::new();
    }
    let two = width >= 2 * (LABEL + FEWEST) + GAP;
    let columns = if two { (width - GAP) / 2 } else { width } - LABEL;
    let columns = columns.min(40);
    let shown = thin(history, columns);
    let epochs = format!("epochs {} to {}", history[0].epoch, history[history.len() - 1].epoch);
    let panel = |title, of: fn(&Epoch) -> f64, height: fn(f64) -> f64, label: fn(f64) -> String| {
        let values: Vec<f64> = shown.iter().map(|epoch| of(epoch)).collect();
        panel([title, &epochs], &values, columns, height, label)
    };
    let loss = panel(
        "training loss, log",
        |e| e.train_loss,
        f64::ln,
        |loss| format!("{loss:.0$}", if loss < 100.0 { 4 } else { 1 }),
    );
    let accuracy = panel(
        "test accuracy",
        |e| 100.0 * e.test_accuracy,
        |share| share,
        |share| format!("{share:.2}%"),
    );
    if !two {
        return [loss, accuracy].concat().join("\n");
    }
    let left = loss.iter().map(|line| line.chars().count()).max().unwrap_or(0) + GAP;
    let beside = loss.iter().zip(&accuracy).map(|(a, b)| format!("{a:left$}{b}"));
    beside.collect::<Vec<_>>().join("\n")
}

/// At most `columns` of the epochs, evenly spaced, the first and the last among them.
pub fn thin(history: &[Epoch], columns: usize) -> Vec<&Epoch> {
    let (last, gaps) = (history.len() - 1, columns.min(history.len()) - 1);
    (0..=gaps).map(|column| &history[column * last / gaps]).collect()
}

/// The lines of one curve in so many `columns`: the first title, what `height` says of the values, the last.
fn panel(
    titles: [&str; 2],
    values: &[f64],
    columns: usize,
    height: fn(f64) -> f64,
    label: fn(f64) -> String,
) -> Vec<String> {
    let finite = || values.iter().copied().filter(|value| height(*value).is_finite());
    let (low, high) = (finite().fold(f64::NAN, f64::min), finite().fold(f64::NAN, f64::max));
    let range = height(high) - height(low);
    // The lowest value is an eighth high and the highest full; what is no number is not there.
    let eighths = |value: &f64| {
        let share = if range > 0.0 { (height(*value) - height(low)) / range } else { 0.5 };
        let full = (8 * ROWS - 1) as f64;
        if height(*value).is_finite() { 1 + (full * share).round() as usize } else { 0 }
    };
    let wide = (columns / values.len()).clamp(1, 3);
    let row = |row: usize| {
        let label = match row {
            0 => label(low),
            _ if row == ROWS - 1 => label(high),
            _ => String::new(),
        };
        let block = |value| BLOCKS[eighths(value).saturating_sub(8 * row).min(8)];
        let columns: String = values.iter().flat_map(|value| vec![block(value); wide]).collect();
        format!("{label:>0$}┤{columns}", LABEL - 1)
    };
    let [first, last] = titles.map(|title| format!("{:LABEL$}{title}", ""));
    let rows = (0..ROWS).rev().map(row);
    std::iter::once(first).chain(rows).chain([last]).collect()
}
