//! With a card: a product that takes its turns in a race of another program, the course's command, which times chapter 2's
//! own kernels and cuBLAS beside it.

use crate::{
    catalog::{Kernel, tile_for},
    check::numbers,
    library::{self, Card, DType, OnCard, Result, To, bf16},
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
    if element == "f32" {
        let inputs = [card.put(a.clone(), &[n, n])?, card.put(b.clone(), &[n, n])?];
        return answer(card, &kernel, &inputs, [&a, &b], n);
    }
    let short = |x: &[f32]| card.put(x.iter().map(|x| bf16::from_f32(*x)).collect(), &[n, n]);
    answer(card, &kernel, &[short(&a)?, short(&b)?], [&a, &b], n)
}

fn answer<E: DType>(
    card: &Card,
    kernel: &Kernel,
    [a, b]: &[OnCard<E>; 2],
    numbers: [&[f32]; 2],
    n: usize,
) -> Result<()> {
    let mut c = card.put(vec![f32::NAN; n * n], &[n, n])?;
    library::product(To::Run(card), kernel, &mut c, a, b)?;
    right(kernel, &card.get(&c)?, numbers, n)?;
    println!("ready");
    // So many launches as one graph, made anew when another number is asked for.
    let mut graph = None;
    for line in io::stdin().lines() {
        let line = line.map_err(|why| why.to_string())?;
        let times =
            line.trim().parse().map_err(|_| format!("`{line}` is no number of products"))?;
        let mut turn = match graph.take() {
            Some((of, turn)) if of == times => turn,
            _ => card.seconds(times, &mut |to| library::product(to, kernel, &mut c, a, b))?,
        };
        println!("{}", turn()?);
        graph = Some((times, turn));
    }
    Ok(())
}
