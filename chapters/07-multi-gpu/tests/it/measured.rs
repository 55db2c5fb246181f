mod experiments;

#[test]
fn all_is_drawn_in_the_book() {
    lab::testing::are_drawn_in_the_book(&multi_gpu::chapter());
}
