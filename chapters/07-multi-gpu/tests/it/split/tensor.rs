use super::job::batches;
use backprop::sgd::Sgd;
use multi_gpu::split::{
    equality::Strategy,
    hybrid::Member,
    job::{Job, Network, Rule},
};
use multi_gpu::{comm::counting::Counting, threads};

#[test]
fn two_layers_take_one_sum_forward_and_one_back() {
    let rule = Rule::Sgd(Sgd { lr: 0.1, momentum: 0.0 });
    let job = Job { network: Network::Dense(vec![5, 7, 3, 6, 4]), seed: 1, rule };
    let batch = &batches(5, 4, &[4], 1)[0];
    for ranks in [1, 2, 3] {
        let sent = threads::run(ranks, |comm| {
            let settings = Strategy::Tensor.settings(ranks);
            let mut member = Member::new(&job, settings, Counting::new(comm))?;
            member.step(batch)?;
            let sent = member.comm().traffic().sent;
            Ok(sent)
        });
        // Two pairs forward, one back, for the first one's inputs are images; and the loss. 2 (p - 1) messages each.
        assert_eq!(sent.unwrap(), vec![4 * 2 * (ranks - 1); ranks]);
    }
}
