use language_model::train::batches::draw;

#[test]
fn windows_are_the_streams_and_targets_their_successors() {
    let stream: Vec<u32> = (0..50).collect();
    let of = |seed, step| {
        let (mut tokens, mut targets) = (vec![0; 12], vec![0; 12]);
        draw(&stream, (seed, step), 4, &mut tokens, &mut targets).unwrap();
        assert!(tokens.iter().zip(&targets).all(|(token, target)| token + 1 == *target));
        assert!(tokens.chunks(4).all(|row| row[3] == row[0] + 3));
        tokens
    };
    assert_eq!(of(1, 7), of(1, 7));
    assert_ne!(of(1, 7), of(1, 8));
    assert_ne!(of(1, 7), of(2, 7));
}

#[test]
fn every_window_can_be_drawn_and_too_short_a_stream_is_refused() {
    let stream = [5, 6, 7, 8];
    let mut seen = [0; 9];
    for step in 0..100 {
        let (mut tokens, mut targets) = ([0; 2], [0; 2]);
        draw(&stream, (0, step), 2, &mut tokens, &mut targets).unwrap();
        seen[tokens[0] as usize] += 1;
    }
    assert!(seen[5] > 30 && seen[6] > 30 && seen[5] + seen[6] == 100, "{seen:?}");
    let (mut tokens, mut targets) = ([0; 4], [0; 4]);
    lab::testing::refused(draw(&stream, (0, 0), 4, &mut tokens, &mut targets), ["at least 5"]);
}
