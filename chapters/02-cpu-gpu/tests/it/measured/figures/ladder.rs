use crate::measured::measured;
use cpu_gpu::measured::figures::ladder::{
    draw_ladder, draw_roofline, rungs_on, table_ladder, title,
};
use cpu_gpu::{
    ladder::LADDER,
    measured::experiments::devices::DEVICES,
    measured::experiments::ladder::{in_rust, rung_names},
    tensor_cores::CudaRung,
};
use lab::testing::{book, unmeasured};
use lab::{Error, Records, Result};

#[test]
fn pictures_show_4096_where_it_was_measured_or_say_what_is_missing() -> Result<()> {
    let records = measured();
    assert!(draw_ladder(&records, "cuda")?.caption.contains("4096×4096"));
    assert!(draw_ladder(&records, "opencl-cpu")?.caption.contains("512×512"));
    let without = Records::load(&book("records/epyc-2core"))?;
    for drawn in [draw_ladder, draw_roofline] {
        let error = drawn(&without, "opencl-gpu").unwrap_err().to_string();
        assert!(error.contains("OpenCL shows no GPU on this machine"), "{error}");
    }
    assert!(matches!(table_ladder(&without, "opencl-gpu"), Err(Error::Skipped { .. })));
    assert!(matches!(table_ladder(&unmeasured(), "cuda"), Err(Error::NotMeasured { .. })));
    Ok(())
}

#[test]
fn every_rung_has_a_title() {
    for rung in rung_names().chain(in_rust()).chain(["sgemm"]) {
        let own = LADDER.iter().any(|known| known.name == rung);
        assert!(own || title(rung) != rung, "{rung}");
    }
    assert_eq!(rungs_on("cuda").len(), LADDER.len() + CudaRung::ALL.len() + 2);
    assert_eq!(DEVICES.map(|device| rungs_on(device).len()), [8, 8, 13]);
}
