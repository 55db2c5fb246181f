use cpu_gpu::gpu::device::{Arg, Gpu, Launch};
use cpu_gpu::gpu::trace::{Traced, What};
use cpu_gpu::gpu::{read_all, testing, upload, write_all};
use cpu_gpu::{Error, truck::MAP};

#[test]
fn every_call_has_its_times_in_the_order_of_the_work() {
    let Some(gpu) = testing::opencl() else { return };
    let traced = Traced::new(&*gpu);
    let options = [("STEPS", "2000".to_owned())];
    let map = traced.compile(MAP, &options, "map").unwrap();
    let count = 1 << 14;
    let x = upload(&traced, &vec![1.0_f32; count]).unwrap(); // not recorded
    let y = traced.alloc(4 * count).unwrap();
    let launch = |from, to| {
        let how = Launch::new([count / 256, 1], [256, 1]);
        let args = [Arg::Buffer(from), Arg::Buffer(to), Arg::U32(count as u32)];
        traced.launch(&map, how, &args)
    };
    let spans = traced.record(&mut || {
        launch(&x, &y)?;
        traced.copy(&y, &x, 4 * count)?;
        launch(&x, &y)?;
        read_all::<f32>(&traced, &y, count).map(drop)
    });
    let spans = spans.unwrap();
    let names: Vec<_> = spans.iter().map(|span| (span.name.as_str(), span.what)).collect();
    let kernel = ("map", What::Kernel);
    let copies = ["copy on the device", "copy to the host"].map(|name| (name, What::Copy));
    assert_eq!(names, [kernel, copies[0], kernel, copies[1]]);
    for span in &spans {
        assert!(span.called[0] <= span.called[1] && span.ran[0] <= span.ran[1], "{span:?}");
    }
    for pair in spans.windows(2) {
        assert!(pair[0].ran[1] <= pair[1].ran[0], "the queue keeps the order: {pair:?}");
        assert!(pair[0].called[1] <= pair[1].called[0]);
    }
    // Both kernels take time on the device (30 million steps each), and a launch returns before.
    assert!(spans[0].ran[1] - spans[0].ran[0] > 1e-4, "{spans:?}");
    assert!(spans[3].called[1] >= spans[2].ran[1] - spans[2].ran[0], "a read waits: {spans:?}");
    // A second recording begins anew.
    assert_eq!(traced.record(&mut || launch(&x, &y)).unwrap().len(), 1);
}

#[test]
fn work_that_fails_ends_the_recording() {
    let Some(gpu) = testing::opencl() else { return };
    let traced = Traced::new(&*gpu);
    let x = traced.alloc(4).unwrap();
    let failed = traced.record(&mut || {
        write_all(&traced, &x, &[1_u32])?;
        Err(Error::message("no more"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    write_all(&traced, &x, &[2_u32]).unwrap();
    assert!(traced.record(&mut || Ok(())).unwrap().is_empty());
    assert_eq!(traced.about().id, gpu.about().id);
}
