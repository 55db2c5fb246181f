use language_model::{Config, Layout, devices::cut::Cut};
use multi_gpu::Rank;

const ODD: Config =
    Config { vocabulary: 11, context: 9, width: 12, heads: 3, layers: 3, hidden: 5 };

#[test]
fn the_ranks_parts_are_the_model_and_each_number_counts_once() {
    let len = Layout::new(&ODD).len;
    for ranks in 1..=3 {
        for of in [Cut::tensor, Cut::stage] {
            let mut counted = vec![0; len];
            for rank in 0..ranks {
                let places = of(ODD, Rank(rank), ranks).unwrap().places();
                let counts =
                    |at: usize| places.tensors.iter().any(|t| t.counts && t.range.contains(&at));
                for (whole, own) in &places.pieces {
                    assert_eq!(whole.len(), own.len());
                    whole.clone().zip(own.clone()).for_each(|(w, o)| {
                        counted[w] += usize::from(counts(o));
                    });
                }
                assert_eq!(places.tensors.last().unwrap().range.end, places.len);
            }
            assert!(counted.iter().all(|times| *times == 1), "{ranks}");
        }
    }
}

#[test]
fn too_many_ranks_are_refused_with_the_way_out() {
    let said = Cut::tensor(ODD, Rank(0), 4).unwrap_err().to_string();
    assert!(said.contains("3 heads") && said.contains("take 3 at most"), "{said}");
    let said = Cut::stage(ODD, Rank(0), 4).unwrap_err().to_string();
    assert!(said.contains("3 layers") && said.contains("take 3 at most"), "{said}");
}
