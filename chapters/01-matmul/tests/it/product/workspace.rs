use matmul::product::workspace::{ALIGN, Buffer, with};

#[test]
fn a_buffer_grows_and_stays_on_a_page() {
    let mut buffer = Buffer::default();
    let first = buffer.at_least(10_000);
    assert_eq!(first as usize % ALIGN, 0);
    assert_eq!(buffer.at_least(10), first);
    let larger = buffer.at_least(1_000_000);
    assert_eq!(larger as usize % ALIGN, 0);
    // SAFETY: the buffer has a million bytes.
    unsafe {
        larger.add(999_999).write(7);
        assert_eq!(buffer.at_least(999_999).add(999_999).read(), 7);
    }
}

#[test]
fn a_thread_gets_its_memory_again() {
    let first = with(|space| space.a.at_least(5000));
    assert_eq!(with(|space| space.a.at_least(4000)), first);
    let other = std::thread::spawn(|| with(|space| space.a.at_least(5000)) as usize);
    assert_ne!(other.join().ok(), Some(first as usize));
}
