use matmul::parallel::Rectangle;

#[test]
fn parts_cover_each_tile_once() {
    for (tiles, panels) in [(1, 1), (7, 5), (2, 100), (100, 2), (1, 30)] {
        let whole = Rectangle { tiles: 3..3 + tiles, panels: 2..2 + panels };
        for wanted in 1..20 {
            let parts = whole.cut(wanted, (6, 16));
            assert!(parts.len() <= wanted);
            assert!(parts.len() == wanted || wanted > tiles.min(panels), "{wanted} of {whole:?}");
            let mut seen = vec![0; tiles * panels];
            for part in &parts {
                for tile in part.tiles.clone() {
                    for panel in part.panels.clone() {
                        seen[(tile - 3) * panels + panel - 2] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{wanted} of {whole:?}: {parts:?}");
        }
    }
}

#[test]
fn the_cut_packs_as_little_as_it_can() {
    // 64 rows and 1600 columns: two parts side by side pack 64 + 800, one above the other 32 + 1600.
    let whole = Rectangle { tiles: 0..11, panels: 0..100 };
    assert_eq!(whole.cut(2, (6, 16))[0], Rectangle { tiles: 0..11, panels: 0..50 });
    let tall = Rectangle { tiles: 0..200, panels: 0..4 };
    assert_eq!(tall.cut(2, (6, 16))[1], Rectangle { tiles: 100..200, panels: 0..4 });
}
