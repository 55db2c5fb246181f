use lab::{Error, Records, Result, testing};
use matmul::ladder::ladder;
use matmul::measured::figures::{draw_ladder, rate};

#[test]
fn figures_and_tables_are_made_from_records() {
    testing::are_drawn_in_the_book(&matmul::chapter());
}

#[test]
fn ladder_shows_skipped_rungs_with_their_reason() -> Result<()> {
    // A machine without AVX-512 and AMX.
    let records = Records::load(&testing::book("records/epyc-2core"))?;
    let drawing = draw_ladder(&records)?;
    assert!(!drawing.alt.contains("AMX") && !drawing.alt.contains("NaN"), "{}", drawing.alt);
    for rung in ladder() {
        let (text, what) = match records.get(rate(&rung)) {
            Err(Error::Skipped { why, .. }) => (&drawing.caption, why),
            found => (&drawing.alt, format!("{}: {}", rung.name, found?.text())),
        };
        assert!(text.contains(&what), "{what}: {text}");
    }
    assert!(drawing.caption.contains("Rungs without a bar: "), "{}", drawing.caption);
    Ok(())
}
