use crate::measured::measured;
use cpu_gpu::measured::figures::wrong::{caption, table_wrong};

#[test]
fn the_table_says_what_was_found() {
    let table = table_wrong(&measured()).unwrap();
    for row in table.rows {
        assert_ne!(row[4], "passes", "the simulator finds {}", row[0]);
    }
}

#[test]
fn the_caption_names_only_checks_that_ran() {
    assert_eq!(
        caption([None, None, None, Some(7)], 7),
        "What each check reports about 7 wrong kernels: the simulator finds 7. Without a device, the other checks did \
         not run."
    );
    let all = caption([Some(0), Some(5), Some(6), Some(7)], 7);
    assert!(
        all.ends_with("the careless one finds 0, ours with odd sizes 6, the simulator 7."),
        "{all}"
    );
}
