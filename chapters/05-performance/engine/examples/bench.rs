use engine::{
    cpu::Ways,
    model,
    program::Numbers,
    step::{Step, adam},
};
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let batch: usize = args.get(1).map_or(128, |a| a.parse().unwrap());
    let threads = args.get(2).map_or(2, |a| a.parse().unwrap());
    let model = match args[0].as_str() {
        "linear" => model::linear(1),
        "mlp" => model::mlp(1, 0.2),
        "transformer" => model::transformer(1),
        "rnn" => model::rnn(1),
        "resnet" => model::resnet(1),
        _ => model::cnn(1, 0.5),
    };
    let mut step = Step::new(model, threads, Ways::default(), 1, adam);
    step.cpu.clock = std::env::var_os("PROFILE").is_some();
    let data: Vec<f32> = (0..60000 * 784).map(|i| (i * 7919 % 256) as f32 / 255.0).collect();
    let mut rates = vec![];
    let steps = args.get(3).map_or(200, |a| a.parse().unwrap());
    for _ in 0..5 {
        let start = Instant::now();
        for s in 0..steps {
            let (x, l) = step.batch(batch);
            for (row, x) in x.chunks_exact_mut(784).enumerate() {
                let at = (s * batch + row) * 7919 % 60000;
                x.copy_from_slice(&data[at * 784..][..784]);
            }
            l.iter_mut().enumerate().for_each(|(i, l)| *l = i as u32 % 10);
            step.gradient(batch, Numbers::F32);
            step.update(1e-3);
        }
        rates.push((steps * batch) as f64 / start.elapsed().as_secs_f64());
    }
    println!("{rates:.0?}");
    if step.cpu.clock {
        for loaded in step.passes.values() {
            println!(
                "{} groups, {} arena, {} scratch",
                loaded.plan.groups.len(),
                loaded.plan.arena,
                loaded.plan.scratch
            );
        }
        for program in step.passes.values().chain([&step.update]) {
            for (call, seconds) in program.profile() {
                let each = seconds / (5 * steps) as f64;
                println!(
                    "{:8.1} µs {:8.1} GFLOP/s {:7.1} GB/s {}: {}",
                    each * 1e6,
                    call.flops / each * 1e-9,
                    call.bytes() as f64 / each * 1e-9,
                    call.op,
                    call.name
                );
            }
        }
    }
}
