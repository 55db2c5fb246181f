use language_model::count::{Operations, Parameters, cache, near, optimal, scores, six_n_d};
use language_model::{Config, Layout};

const ODD: Config =
    Config { vocabulary: 11, context: 50, width: 12, heads: 3, layers: 2, hidden: 5 };

#[test]
fn parameters_are_those_of_the_layout() {
    for config in [ODD, Config::tiny(), Config::small()] {
        assert_eq!(Parameters::of(&config).all(), Layout::new(&config).len as u64);
    }
    assert_eq!(Parameters::of(&Config::tiny()).all(), 935_040);
    assert_eq!(Parameters::of(&Config::small()).all(), 5_344_512);
}

#[test]
fn operations_are_six_n_d_and_attention() {
    let config = Config::small();
    let (operations, parameters) = (Operations::of(&config, 256), Parameters::of(&config));
    let rule = six_n_d(parameters.all(), 1.0);
    let off = operations.training() / rule - 1.0;
    assert!((3.0 * operations.weights / rule - 1.0).abs() < 0.002, "the norms are left out");
    assert!(off > 0.05 && off < 0.1, "{off}");
    // A product for a product, over the tokens of a sequence.
    let exact: usize = (1..=256).map(|seen| 6 * seen * 4 * 256).sum();
    assert!((operations.attention * 256.0 - exact as f64).abs() < 1.0);
    let share = |tokens| Operations::of(&config, tokens).attention_share();
    assert!(share(64) < 0.03 && share(8192) > 0.7);
}

#[test]
fn a_budget_is_spent_whole() {
    // The paper's Chinchilla: 70 billion parameters, 1.4 trillion tokens.
    let (parameters, tokens) = optimal(six_n_d(70_000_000_000, 1.4e12));
    assert!((parameters / 70e9 - 1.0).abs() < 1e-9 && (tokens / 1.4e12 - 1.0).abs() < 1e-9);
}

#[test]
fn the_family_has_a_member_near_every_size() {
    for wanted in [3e5, 1e6, 5e6, 2e7, 1e8] {
        let config = near(wanted, 2048, 256);
        config.check().unwrap();
        let found = Parameters::of(&config).all() as f64;
        assert!((found / wanted).ln().abs() < 0.35, "{wanted}: {found}");
    }
    assert_eq!(near(5.4e6, 2048, 256), Config::small());
}

#[test]
fn a_cache_grows_with_the_tokens_and_scores_with_their_square() {
    assert_eq!(cache(&Config::small(), 256), 2 * 6 * 256 * 256 * 4);
    assert_eq!(cache(&Config::tiny(), 64), 2 * 4 * 64 * 128 * 4);
    assert_eq!(scores(&Config::small(), 1, 512), 4 * scores(&Config::small(), 1, 256));
}
