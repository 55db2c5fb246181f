//! With a card: a product that takes its turns in a race of another program, the course's command, which times chapter 2's
//! own kernels and cuBLAS beside it.

use crate::{
    catalog::{Kernel, tile_for},
    check::numbers,
    library::{self, Card, Result, To, bf16},
};
use std::io;

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

/// A product of n×n matrices of `element`: says that it is ready, and answers each line of the input, a number of
/// products, by the seconds of one of so many.
///
/// # Errors
/// If there is no such product, the card fails, or the product is wrong.
pub fn take(card: &Card, name: &str, element: &str, n: usize) -> Result<()> {
    let tile = tile_for(&card.target, element).map(|size| size.to_string());
    let kernel = Kernel::new(name, &[element, &tile[0], &tile[1], &tile[2]], [n; 3])?;
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
    let mut c = card.put(vec![f32::NAN; n * n], &[n, n])?;
    if element == "f32" {
        let [a_card, b_card] = [card.put(a.clone(), &[n, n])?, card.put(b.clone(), &[n, n])?];
        library::product(To::Run(card), &kernel, &mut c, &a_card, &b_card)?;
        right(&kernel, &card.get(&c)?, [&a, &b], n)?;
        return answer(card, &mut |to| library::product(to, &kernel, &mut c, &a_card, &b_card));
    }
    let short = |x: &[f32]| card.put(x.iter().map(|x| bf16::from_f32(*x)).collect(), &[n, n]);
    let [a_card, b_card] = [short(&a)?, short(&b)?];
    library::product(To::Run(card), &kernel, &mut c, &a_card, &b_card)?;
    right(&kernel, &card.get(&c)?, [&a, &b], n)?;
    answer(card, &mut |to| library::product(to, &kernel, &mut c, &a_card, &b_card))
}

fn answer(card: &Card, launch: &mut dyn FnMut(To<'_>) -> Result<()>) -> Result<()> {
    println!("ready");
    for line in io::stdin().lines() {
        let line = line.map_err(|why| why.to_string())?;
        let times =
            line.trim().parse().map_err(|_| format!("`{line}` is no number of products"))?;
        println!("{}", card.seconds(times, launch)?()?);
    }
    Ok(())
}
