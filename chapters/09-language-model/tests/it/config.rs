use language_model::config::Config;

#[test]
fn sizes_that_cannot_be_built_are_refused() {
    for config in [Config::tiny(), Config::small()] {
        config.check().unwrap();
        assert_eq!(config.head() * config.heads, config.width);
    }
    lab::testing::refused(Config { heads: 3, ..Config::tiny() }.check(), ["multiple of 6"]);
    assert!(Config { width: 12, heads: 4, ..Config::tiny() }.check().is_err());
    assert!(Config { layers: 0, ..Config::tiny() }.check().is_err());
    assert!(Config { vocabulary: usize::MAX, ..Config::tiny() }.check().is_err());
}
