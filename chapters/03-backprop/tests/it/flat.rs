use crate::train::{after, digits};
use backprop::flat::{Flat, Habits};
use backprop::train::{Settings, Textbook};
use matmul::Threads;

#[test]
fn the_papers_adam_makes_it_the_textbook_bit_for_bit() {
    let (data, _) = digits(100, 1);
    for (sizes, batch) in [(vec![784, 33, 10], 32), (vec![784, 10], 7), (vec![784, 9, 17, 10], 1)] {
        let settings = Settings { sizes, batch, seed: 3, ..Settings::default() };
        let (wanted, loss) = after(&mut Textbook::new(settings.clone(), true).unwrap(), &data, 2);
        for threads in [Threads::One, Threads::Count(3)] {
            for keep_buffers in [false, true] {
                let habits = Habits { fused_adam: false, keep_buffers, threads };
                let mut flat = Flat::new(settings.clone(), habits).unwrap();
                assert_eq!(after(&mut flat, &data, 2), (wanted.clone(), loss));
            }
        }
    }
}
