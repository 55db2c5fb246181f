use performance::input::gpu::{Link, missing};

#[test]
fn without_a_gpu_there_is_a_reason_and_with_one_bytes_travel() {
    if let Some(why) = missing() {
        let error = Link::new(8).err().expect("there is no GPU").to_string();
        assert!(!why.is_empty() && error.contains(&why), "{error}");
        return;
    }
    let mut link = Link::new(1 << 20).unwrap();
    assert!(link.send(&[1; 2500], 1000).unwrap() > 0.0);
    assert!(link.send(&vec![1; (1 << 20) + 1], 1000).is_err());
    let pinned = link.pinned(1 << 18).unwrap();
    assert!(link.send(pinned.as_slice().unwrap(), 1 << 10).unwrap() > 0.0);
    assert!(link.overlap(&pinned).unwrap().iter().all(|seconds| *seconds > 0.0));
}
