use multi_gpu::{Rank, split::grid::Grid};
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_rank_has_its_own_cell(data in 1_usize..4, stages in 1_usize..4, tensor in 1_usize..4) {
        let grid = Grid { data, stages, tensor };
        for rank in (0..grid.ranks()).map(Rank) {
            let cell = grid.cell(rank);
            prop_assert!(cell.data < data && cell.stage < stages && cell.tensor < tensor);
            prop_assert_eq!(grid.rank(cell), rank);
            prop_assert!(grid.replicas(cell).contains(&rank));
            let seat = grid.seat(cell);
            prop_assert!(seat.tensor.contains(&rank) && seat.tensor.len() == tensor);
            if let Some(after) = seat.after {
                prop_assert_eq!(grid.seat(grid.cell(after)).before, Some(rank));
            }
        }
    }
}

#[test]
fn a_grid_that_does_not_fit_is_refused() {
    let error = Grid { data: 2, stages: 2, tensor: 2 }.check(6).unwrap_err().to_string();
    assert!(error.contains("2×2×2 takes 8 ranks, and there are 6"), "{error}");
    assert!(Grid { data: 0, stages: 1, tensor: 1 }.check(0).is_err());
}
