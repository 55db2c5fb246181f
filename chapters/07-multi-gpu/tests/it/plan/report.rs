use multi_gpu::plan::report::plan;

#[test]
fn a_plan_says_what_it_takes_and_why() {
    let text = plan("gpt-7b", "h100", 8, 64).unwrap();
    for part in ["best split", "bubble", "communication", "together", "runner-up", "it loses"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("NaN"), "{text}");
    assert!(plan("mlp", "h100", 8, 32).unwrap().contains("1 of 8 cards"));
    assert!(plan("gpt-175b", "h100", 8, 64).is_err() && plan("mlp", "abacus", 1, 1).is_err());
}
