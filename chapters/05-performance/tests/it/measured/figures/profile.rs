use crate::measured::experiments::profile::records;
use performance::measured::figures::profile::{figures, tables};

#[test]
fn every_figure_and_table_is_made_from_the_records() {
    lab::testing::are_drawn(&figures(), &tables(), &records());
}
