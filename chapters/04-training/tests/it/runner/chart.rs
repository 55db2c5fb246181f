use training::{
    learning::metrics::Epoch,
    runner::chart::{chart, thin},
};

/// A run whose loss halves and whose accuracy grows by a point in each epoch.
fn history(epochs: usize) -> Vec<Epoch> {
    let epoch = |epoch: usize| Epoch {
        epoch,
        train_loss: 0.5f64.powi(epoch as i32),
        test_accuracy: 0.9 + 0.01 * epoch as f64,
        ..Epoch::default()
    };
    (1..=epochs).map(epoch).collect()
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

#[test]
fn equal_ratios_of_the_loss_are_equal_steps() {
    let text = chart(&history(4), 80);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let wanted = [
        "         training loss, log            test accuracy",
        "  0.5000┤███                    94.00%┤         ███",
        "        ┤███▆▆▆                       ┤      ▆▆▆███",
        "        ┤██████▃▃▃                    ┤   ▃▃▃██████",
        "  0.0625┤█████████▁▁▁           91.00%┤▁▁▁█████████",
        "         epochs 1 to 4                 epochs 1 to 4",
    ];
    assert_eq!(lines, wanted, "\n{text}");
}

#[test]
fn it_fits_every_width() {
    for epochs in [2, 3, 10, 50, 1000] {
        let history = history(epochs);
        for width in 0..200 {
            let text = chart(&history, width);
            assert!(widest(&text) <= width, "{epochs} epochs, {width} columns:\n{text}");
            let lines = match width {
                0..29 => 0,
                29..61 => 12,
                _ => 6,
            };
            assert_eq!(text.lines().count(), lines, "{width}");
        }
    }
}

#[test]
fn the_first_and_the_last_epoch_are_shown() {
    let history = history(1000);
    let shown = thin(&history, 40);
    assert_eq!(shown.len(), 40);
    assert_eq!((shown[0].epoch, shown[39].epoch), (1, 1000));
    assert!(shown.windows(2).all(|pair| pair[0].epoch < pair[1].epoch));
    assert_eq!(thin(&history[..3], 40).len(), 3);
}

#[test]
fn no_curve_no_chart_and_no_number_no_column() {
    assert_eq!(chart(&[], 80), "");
    assert_eq!(chart(&history(1), 80), "");
    let mut history = history(3);
    history[1].train_loss = f64::NAN;
    history[2].train_loss = 0.0; // its logarithm is no number
    let text = chart(&history, 40);
    assert_eq!(text.lines().nth(4), Some("  0.5000┤███      "), "\n{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    for epoch in &mut history {
        epoch.train_loss = f64::NAN;
    }
    assert_eq!(chart(&history, 80).lines().count(), 6);
}
