use crate::measured::measured;
use cpu_gpu::measured::figures::truck::{
    draw_rates, table_crossover, table_speedup, table_threads, work_name,
};
use cpu_gpu::{measured::experiments::truck::Work, measured::figures::words::device_name};

#[test]
fn captions_and_tables_tell_who_wins() {
    let records = measured();
    let drawing = draw_rates(&records, Work::Product).unwrap();
    assert!(drawing.caption.contains("that of “cuBLAS, data there”"), "{}", drawing.caption);
    for work in Work::ALL {
        let caption = draw_rates(&records, work).unwrap().caption;
        let of_cpu = ["core", "cpu"].map(device_name);
        let first = of_cpu.map(|name| format!("At n = 1 the fastest is “{name}”"));
        assert!(first.iter().any(|first| caption.contains(first)), "{caption}");
    }
    let data = table_crossover(&records).unwrap();
    let won = data.rows.iter().filter(|row| row[3].starts_with("from n = ")).count();
    let words = format!("in {won} of {} cases", data.rows.len());
    assert!(won > 0 && data.caption.contains(&words), "{}", data.caption);
    let wins = table_threads(&records).unwrap().rows.into_iter().map(|row| row[1].clone());
    for cell in data.rows.iter().flat_map(|row| &row[3..]).cloned().chain(wins) {
        let known = ["never", "always", "–"].contains(&cell.as_str());
        assert!(known || cell.starts_with("from n = "), "{cell}");
    }
    let data = table_speedup(&records).unwrap();
    let highest = data.caption.split("The highest is ").nth(1).unwrap().split(", over").next();
    assert!(data.rows.iter().any(|row| Some(row[1].as_str()) == highest), "{}", data.caption);
    let cuda = data.rows.iter().find(|row| row[0].starts_with("CUDA")).unwrap();
    assert!(cuda[2].ends_with('×') && cuda[4].ends_with('×'), "{cuda:?}");
}

#[test]
fn cublas_is_shown_for_products_alone() {
    let records = measured();
    let alt = |work| draw_rates(&records, work).unwrap().alt;
    assert!(!alt(Work::Map(1)).contains("cuBLAS"));
    // With more lines than colours the CPU through OpenCL goes first.
    let of_products = alt(Work::Product);
    for name in ["cuBLAS, data there", "OpenCL on the GPU"] {
        assert!(of_products.contains(name), "{of_products}");
    }
    assert!(!of_products.contains("OpenCL on the CPU"), "{of_products}");
    let rows = table_crossover(&records).unwrap().rows;
    let with: Vec<_> = rows.iter().filter(|row| row[1] == "cuBLAS").collect();
    assert!(with.len() == 2 && with.iter().all(|row| row[0] == work_name(Work::Product)));
    let rows = table_speedup(&records).unwrap().rows;
    assert_eq!(rows.iter().filter(|row| row[0].starts_with("cuBLAS")).count(), 2);
}
