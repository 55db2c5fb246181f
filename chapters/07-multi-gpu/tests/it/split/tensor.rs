use backprop::mlp::Mlp;
use multi_gpu::{PointToPoint, comm::counting::Counting, split::tensor::Pair, threads};

#[test]
fn two_layers_take_one_sum_forward_and_one_back() {
    let layers = Mlp::<f32>::new(&[5, 7, 3], 1).unwrap().layers;
    let (x, dy) = ([0.5; 20], [0.25; 12]);
    // Seven units over 1, 2, 3 and 9 ranks: even, uneven, and more ranks than units.
    for ranks in [1, 2, 3, 9] {
        let sent = threads::run(ranks, |comm| {
            let mut comm = Counting::new(comm);
            let pair = Pair::of(&layers[0], &layers[1], comm.rank(), ranks);
            let (_, kept) = pair.forward(&x, &mut comm)?;
            let there = comm.traffic().sent;
            pair.backward((&x, &kept), &dy, true, &mut comm)?;
            Ok((there, comm.traffic().sent))
        });
        // 2 (p - 1) messages each.
        assert_eq!(sent.unwrap(), vec![(2 * (ranks - 1), 4 * (ranks - 1)); ranks]);
    }
}
