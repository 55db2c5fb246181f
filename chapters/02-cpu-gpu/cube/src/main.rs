//! Runs the kernels on every device, prints what CubeCL writes of them, or shows what a missing barrier does.

use cube::{
    check::{Random, wrong},
    product::{Kernel, NO_DEVICE, Product, devices, is_software, product},
    text,
};
use cubecl::prelude::*;
use std::{error::Error, process::ExitCode};

const USAGE: &str = "Usage: cargo run -- run [N]...        check both products, and time those of N×N matrices (256)
       cargo run -- text [wgsl|cuda]  print the kernels as CubeCL writes them (wgsl)
       cargo run -- race [RUNS]       run the product without its first barrier so often (20)
       cargo run -- turns KERNEL N    a product, for a race of another program: each line of the input is a
                                      number of products, and is answered by the seconds of one";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse().ok().filter(|number| *number > 0);
    let done = match words[..] {
        ["run"] => Some(run(&[256])),
        ["run", ref sizes @ ..] => {
            sizes.iter().map(|n| number(n)).collect::<Option<Vec<_>>>().map(|sizes| run(&sizes))
        }
        ["text"] => Some(print_text("wgsl")),
        ["text", language @ ("wgsl" | "cuda")] => Some(print_text(language)),
        ["race"] => Some(race(20)),
        ["race", runs] => number(runs).map(race),
        ["turns", name, n] => {
            let kernel = Kernel::RIGHT.into_iter().find(|kernel| kernel.name() == name);
            kernel.zip(number(n)).map(|(kernel, n)| turns(kernel, n))
        }
        _ => None,
    };
    match done {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Each device's name, in a sentence, with its client.
fn clients() -> Result<Vec<(String, Client)>, &'static str> {
    let devices = devices();
    let open = |device: &cubecl::Device| {
        let client = device.client();
        let software =
            if is_software(device) { ", a software device: its rates are not a GPU's" } else { "" };
        (format!("{}{software}", client.properties().identity.name), client)
    };
    if devices.is_empty() { Err(NO_DEVICE) } else { Ok(devices.iter().map(open).collect()) }
}

/// Refuses a kernel whose product of odd sizes is not that of `f64`.
fn must_be_right(client: &Client, kernel: Kernel) -> Result<(), Box<dyn Error>> {
    let odd = [129, 65, 127];
    let [a, b] = Random(1).matrices(odd);
    let c = product(client, kernel, [&a, &b], odd)?;
    match wrong(&c, &a, &b, odd) {
        0 => Ok(()),
        wrong => {
            let name = kernel.name();
            Err(format!("{name}: {wrong} of {} elements are wrong", c.len()).into())
        }
    }
}

fn turns(kernel: Kernel, n: usize) -> Result<(), Box<dyn Error>> {
    let (_, client) = clients()?.swap_remove(0);
    must_be_right(&client, kernel)?;
    let [a, b] = Random(2).matrices([n; 3]);
    let product = Product::new(&client, [&a, &b], [n; 3]);
    println!("ready");
    for line in std::io::stdin().lines() {
        println!("{}", product.seconds(kernel, line?.trim().parse()?)?);
    }
    Ok(())
}

fn run(sizes: &[usize]) -> Result<(), Box<dyn Error>> {
    for (device, client) in clients()? {
        println!("{device}");
        for kernel in Kernel::RIGHT {
            must_be_right(&client, kernel)?;
            println!("  {} is right", kernel.name());
        }
        for n in sizes {
            let [a, b] = Random(2).matrices([*n; 3]);
            let product = Product::new(&client, [&a, &b], [*n; 3]);
            for kernel in Kernel::RIGHT {
                println!(
                    "  {}, n = {n}: {:.3} GFLOP/s",
                    kernel.name(),
                    product.rate(kernel)? / 1e9
                );
            }
        }
    }
    Ok(())
}

fn print_text(language: &str) -> Result<(), Box<dyn Error>> {
    let (_, client) = clients()?.swap_remove(0);
    for kernel in [Kernel::Naive, Kernel::Tiled, Kernel::NoBarrierBefore] {
        let text = match language {
            #[cfg(feature = "cuda-text")]
            "cuda" => text::cuda(&client, kernel)?,
            #[cfg(not(feature = "cuda-text"))]
            "cuda" => {
                return Err("CUDA C++ takes `cargo run --features cuda-text -- text cuda`".into());
            }
            _ => text::wgsl(&client, kernel)?,
        };
        println!("// {}\n{text}", kernel.name());
    }
    Ok(())
}

fn race(runs: usize) -> Result<(), Box<dyn Error>> {
    let shape = [64; 3];
    println!("no_barrier_before has compiled: neither Rust, CubeCL nor wgpu refuses it.");
    for (device, client) in clients()? {
        let (mut elements, mut products) = (0, 0);
        for run in 0..runs {
            let [a, b] = Random(run as u64).matrices(shape);
            let c = product(&client, Kernel::NoBarrierBefore, [&a, &b], shape)?;
            let wrong = wrong(&c, &a, &b, shape);
            elements += wrong;
            products += usize::from(wrong > 0);
        }
        println!("{device}");
        println!(
            "  {products} of {runs} products are wrong, in {elements} of {} elements",
            runs * 64 * 64
        );
    }
    println!(
        "How many is the device's luck; the simulated GPU of chapter 2 needs none, and names the two lines:\n\
         `wrong::simulate(Some(Mistake::NoBarrierBefore), &problem)` in chapters/02-cpu-gpu/src/wrong.rs."
    );
    Ok(())
}
