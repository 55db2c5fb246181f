use multi_gpu::replicas::show::told_early;
use training::Model;

#[test]
fn what_all_moments_share_is_told_of_last() {
    let [early, all] = told_early(Model::Cnn).unwrap();
    assert_eq!(all - early, 16 * 25 + 16 + 16 * 32 * 25 + 32, "all but the convolutions");
    assert_eq!(told_early(Model::Rnn).unwrap()[0], 0);
}
