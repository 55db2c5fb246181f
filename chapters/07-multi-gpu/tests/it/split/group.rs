use multi_gpu::{Rank, split::group::Group, threads};

#[test]
fn who_does_not_belong_to_it_is_told() {
    let refused = |ranks: &'static [usize]| {
        let ranks: Vec<Rank> = ranks.iter().copied().map(Rank).collect();
        threads::run(2, |mut comm| Group::of(&mut comm, &ranks).map(|_| ())).unwrap_err()
    };
    assert!(refused(&[1]).to_string().contains("rank 0 is not in the group"));
    assert!(refused(&[0, 0, 1]).to_string().contains("each of its ranks once"));
    assert!(refused(&[0, 1, 2]).to_string().contains("from 0 to 1"));
}
