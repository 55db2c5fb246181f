use language_model::{Config, layout::Layout};

#[test]
fn the_tensors_follow_each_other_and_fill_the_buffer() {
    let odd = Config { vocabulary: 7, context: 5, width: 6, heads: 3, layers: 2, hidden: 5 };
    for config in [odd, Config::tiny(), Config::small()] {
        let layout = Layout::new(&config);
        let mut end = 0;
        for (name, range, shape) in layout.tensors(&config) {
            assert_eq!(range.start, end, "{name}");
            assert_eq!(range.len(), shape.iter().product::<usize>(), "{name}");
            end = range.end;
        }
        assert_eq!(end, layout.len);
    }
    assert_eq!(Layout::new(&odd).len, 7 * 6 + 2 * (6 + 108 + 36 + 6 + 60 + 30) + 6);
}
