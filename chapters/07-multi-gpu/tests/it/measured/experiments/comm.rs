use multi_gpu::comm::bench::{Timing, sizes};
use multi_gpu::measured::experiments::comm::{as_message, fits};
use multi_gpu::{comm::algorithm::Algorithm, comm::cost::AlphaBeta};

#[test]
fn a_link_is_found_again_from_each_way_to_sum() {
    let link = AlphaBeta { alpha: 3e-6, beta: 2e-10 };
    for algorithm in Algorithm::ALL {
        for p in [2, 3, 4] {
            let timings: Vec<_> = sizes(1 << 20)
                .into_iter()
                .map(|bytes| {
                    let seconds = algorithm.seconds(link, bytes as f64, p);
                    Timing { what: String::new(), p, bytes, seconds: vec![seconds; 2] }
                })
                .collect();
            let found =
                fits(&timings.iter().collect::<Vec<_>>(), |t, s| as_message(algorithm, t, s));
            assert_eq!(found.len(), 2);
            assert!((found[0].alpha / link.alpha - 1.0).abs() < 1e-6, "{found:?}");
            assert!((found[0].beta / link.beta - 1.0).abs() < 1e-6, "{found:?}");
        }
    }
}
