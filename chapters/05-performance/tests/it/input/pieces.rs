use performance::input::pieces::staged_copy;

#[test]
fn the_pieces_are_the_whole() {
    let from: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
    for piece in [1, 7, 999, 1000, 5000] {
        let mut to = vec![0; 1000];
        staged_copy(&from, &mut to, &mut vec![0; piece]);
        assert_eq!(to, from, "{piece}");
    }
    staged_copy(&[], &mut [], &mut [0]);
}
