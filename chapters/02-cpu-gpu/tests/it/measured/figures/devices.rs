use cpu_gpu::measured::figures::devices::whole_vectors;

#[test]
fn a_core_has_whole_vectors() {
    for (measured, cores, lanes) in
        [(31.2, 2.0, 32.0), (15.4, 1.0, 16.0), (61.0, 4.0, 64.0), (3.9, 1.0, 4.0), (0.3, 2.0, 8.0)]
    {
        let found: f64 = whole_vectors(measured, cores);
        assert!((found - lanes).abs() < 1e-9, "{measured} over {cores}: {found}");
    }
}
