use lab::random::numbers;
use language_model::layers::rotary::Rotary;

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn a_product_depends_on_the_distance_alone() {
    for head in [2, 6, 32] {
        let rotary = Rotary::new(50, head);
        let at = |values: &[f32], position| {
            let mut row = values.to_vec();
            rotary.forward(&mut row, position);
            row
        };
        let (q, k) = (numbers(head, 1), numbers(head, 2));
        assert_eq!(at(&q, 0), q);
        let near = dot(&at(&q, 7), &at(&k, 3));
        assert!((near - dot(&at(&q, 49), &at(&k, 45))).abs() < 1e-4, "{head}");
        assert!((near - dot(&at(&q, 7), &at(&k, 4))).abs() > 1e-4, "{head}");
    }
}
