//! The public product and the libraries on all threads, and on one. `cargo bench -p matmul --bench peers`; with
//! `MATMUL_NUM_THREADS=1`, matrixmultiply takes part in the comparison on one thread instead of the other.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use matmul::{MatMut, MatRef, Options, Shape, Threads, peers, sgemm};

const SHAPES: [Shape; 6] = [
    Shape::square(512),
    Shape::square(1024),
    Shape::square(2048),
    Shape::new(32, 784, 128),
    Shape::new(128, 784, 512),
    Shape::new(128, 512, 128),
];

fn products(c: &mut Criterion) {
    for (all, threads) in [(false, Threads::One), (true, Threads::All)] {
        for shape in SHAPES {
            let Shape { m, k, n } = shape;
            let (a, b) = (vec![0.5; m * k], vec![0.25; k * n]);
            let a = MatRef::new(&a, m, k).expect("made for it");
            let b = MatRef::new(&b, k, n).expect("made for it");
            let mut product = vec![0.0; m * n];
            let mut group = c.benchmark_group(format!("{threads:?}/{m}x{k}x{n}"));
            group.sample_size(20);
            group.throughput(Throughput::Elements(shape.operations() as u64));
            let options = Options { threads, ..Options::default() };
            group.bench_function(BenchmarkId::from_parameter("ours"), |bench| {
                bench.iter(|| {
                    let c = MatMut::new(&mut product, m, n).expect("made for it");
                    sgemm(c, a, b, options).expect("the shapes fit");
                });
            });
            for (name, multiply) in peers::peers(all) {
                group.bench_function(BenchmarkId::from_parameter(name), |bench| {
                    bench.iter(|| {
                        let c = MatMut::new(&mut product, m, n).expect("made for it");
                        multiply(c, a, b).expect("the shapes fit");
                    });
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, products);
criterion_main!(benches);
