use lab::data::drawn;
use performance::input::decode::Memory;

#[test]
fn both_forms_give_the_same_bits_and_one_takes_a_quarter() {
    let split = drawn(20, 0, 4).train;
    let [bytes, numbers] = [Memory::bytes(&split), Memory::numbers(&split)];
    assert_eq!(4 * bytes.size(), numbers.size());
    let index = [19, 0, 7, 7];
    let batch = bytes.gather(&index).unwrap();
    assert_eq!(batch, numbers.gather(&index).unwrap());
    assert_eq!(batch[784..2 * 784], split.scaled()[..784]);
    assert!(bytes.gather(&[]).unwrap().is_empty());
}

#[test]
fn a_missing_image_is_an_error() {
    let split = drawn(3, 0, 4).train;
    for memory in [Memory::bytes(&split), Memory::numbers(&split)] {
        lab::testing::refused(memory.gather(&[0, 3]), ["no image 3"]);
    }
}
