//! The batch, the layers and the products of a network, split over devices.

use lab::Part;

/// What this part measures and shows.
pub fn part() -> Part {
    Part::default()
}
