//! With a card: rates of the products, each a line of JSON on stdout.
//!
//! Each has `key`, `device`, `kernel`, `element`, `tile`, `n`, `unit`, the `median` and all `samples`. Contenders take turns,
//! as in the course's own races: what the card's clock does, it does to all of them.

use crate::{
    catalog::{Kernel, tile_for},
    check::numbers,
    library::{self, Card, OnCard, Result, To, bf16},
};

/// A sample's launches take this many seconds at least.
const SAMPLE: f64 = 0.02;
const SAMPLES: usize = 11;

/// Products of bf16 in all layouts, and of f32.
const CONTENDERS: [(&str, &str); 5] = [
    ("product", "bf16"),
    ("product_nt", "bf16"),
    ("product_tn", "bf16"),
    ("product_tt", "bf16"),
    ("product", "f32"),
];

/// Refuses to time a wrong product: some numbers of it against `f64`, all over the matrix.
fn right(kernel: &Kernel, c: &[f32], [a, b]: [&[f32]; 2], n: usize) -> Result<()> {
    let turned = [kernel.name.ends_with("_tn"), kernel.name.ends_with("_nt")];
    let turned = if kernel.name.ends_with("_tt") { [true; 2] } else { turned };
    for trial in 0..64 {
        let (row, column) = ((trial * 7919 + 13) % n, (trial * 104_729 + n - 1) % n);
        let (mut sum, mut size) = (0.0, 0.0);
        for i in 0..n {
            let a = a[if turned[0] { i * n + row } else { row * n + i }];
            let b = b[if turned[1] { column * n + i } else { i * n + column }];
            let term = f64::from(a) * f64::from(b);
            (sum, size) = (sum + term, size + term.abs());
        }
        let got = f64::from(c[row * n + column]);
        let near = (got - sum).abs() <= n as f64 * f64::from(f32::EPSILON) * size;
        if !near {
            return Err(format!(
                "{kernel}, n = {n}: row {row}, column {column} is {got}, not {sum}"
            ));
        }
    }
    Ok(())
}

/// Races all products of n×n matrices.
///
/// # Errors
/// If the card fails. A product that is wrong is told on stderr, and costs no other.
pub fn size(card: &Card, n: usize) -> Result<()> {
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
    let short = |x: &[f32]| -> Result<OnCard<bf16>> {
        card.put(x.iter().map(|x| bf16::from_f32(*x)).collect(), &[n, n])
    };
    let (a_short, b_short) = (short(&a)?, short(&b)?);
    let (a_card, b_card) = (card.put(a.clone(), &[n, n])?, card.put(b.clone(), &[n, n])?);
    let mut racing = Vec::new();
    for (name, element) in CONTENDERS {
        let tile = tile_for(&card.target, element).map(|size| size.to_string());
        let kernel = Kernel::new(name, &[element, &tile[0], &tile[1], &tile[2]], [n; 3])?;
        let mut c = card.put(vec![f32::NAN; n * n], &[n, n])?;
        let mut launch = |to: To<'_>| match element {
            "f32" => library::product(to, &kernel, &mut c, &a_card, &b_card),
            _ => library::product(to, &kernel, &mut c, &a_short, &b_short),
        };
        launch(To::Run(card))?; // it is compiled here, and not while a graph is made
        let once = card.seconds(1, &mut launch)?()?;
        let times = (SAMPLE / once).ceil().clamp(1.0, 2000.0) as usize;
        let turn = card.seconds(times, &mut launch)?;
        match right(&kernel, &card.get(&c)?, [&a, &b], n) {
            // The graph writes to c, which lives as long.
            Ok(()) => racing.push((kernel, turn, c, Vec::new())),
            Err(why) => eprintln!("not timed: {why}"),
        }
    }
    for _ in 0..SAMPLES {
        for (_, turn, _, samples) in &mut racing {
            samples.push(2.0 * (n as f64).powi(3) / turn()?);
        }
    }
    for (kernel, _, _, samples) in racing {
        println!("{}", line(&card.name, &kernel, n, samples));
    }
    Ok(())
}

/// A record of a product's rates: a line of JSON.
pub fn line(device: &str, kernel: &Kernel, n: usize, mut samples: Vec<f64>) -> String {
    samples.sort_by(f64::total_cmp);
    let all: Vec<String> = samples.iter().map(|rate| format!("{rate:.4e}")).collect();
    format!(
        "{{\"key\":\"tile.rate\",\"device\":\"{device}\",\"kernel\":\"{}\",\"element\":\"{}\",\
         \"tile\":\"{}\",\"n\":{n},\"unit\":\"FLOP/s\",\"median\":{},\"samples\":[{}]}}",
        kernel.name,
        kernel.generics[0],
        kernel.generics[1..].join("x"),
        all[all.len() / 2],
        all.join(",")
    )
}
