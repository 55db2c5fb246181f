use crate::measured::measured;
use cpu_gpu::measured::figures::lu::draw_share;

#[test]
fn pictures_of_an_experiment_that_left_nothing_are_errors() {
    let mut records = measured();
    let runs = records.chapters.values_mut().flat_map(|chapter| &mut chapter.runs);
    runs.for_each(|run| run.values.clear());
    assert!(draw_share(&records).is_err());
}
