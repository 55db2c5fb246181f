//! Every rung that this CPU has, at one size. `cargo bench -p matmul --bench ladder`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use matmul::{Shape, ladder};

fn rungs(c: &mut Criterion) {
    for n in [256, 1024] {
        let shape = Shape::square(n);
        let mut group = c.benchmark_group(format!("ladder/{n}"));
        group.sample_size(10);
        group.throughput(Throughput::Elements(shape.operations() as u64));
        let (a, b) = (vec![0.5; n * n], vec![0.25; n * n]);
        let mut product = vec![0.0; n * n];
        for rung in ladder().into_iter().filter(|rung| (rung.available)()) {
            group.bench_function(BenchmarkId::from_parameter(rung.key), |bench| {
                bench.iter(|| (rung.multiply)(&mut product, &a, &b, shape));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, rungs);
criterion_main!(benches);
