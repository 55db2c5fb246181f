use multi_gpu::Rank;
use multi_gpu::replicas::frame::{Failure, Frame, Hello, PROTOCOL};
use std::io;

#[test]
fn every_frame_comes_back() {
    let address = "10.0.0.2:99".parse().unwrap();
    let hello = Hello { protocol: PROTOCOL.into(), rank: Rank(1), size: 4, address };
    for frame in [
        Frame::Hello(hello),
        Frame::Roster(vec![address; 2]),
        Frame::Alive,
        Frame::Numbers(2),
        Frame::Done,
        Frame::Over(Failure::Lost(Rank(7), "a\nb \u{1f69a}".into())),
        Frame::Over(Failure::Silent(Rank(2), 6.5)),
        Frame::Over(Failure::Refused("no".into())),
    ] {
        let odd = [f32::from_bits(0x7f80_0001), -0.0]; // bits arrive as they are
        let sent: &[f32] = if frame == Frame::Numbers(2) { &odd } else { &[] };
        let mut bytes = frame.header();
        bytes.extend(sent.iter().flat_map(|number| number.to_le_bytes()));
        let (came, numbers) = Frame::read(&mut bytes.as_slice()).unwrap();
        assert_eq!(came, frame);
        let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&numbers), bits(sent));
    }
}

#[test]
fn what_no_rank_says_is_refused_before_it_takes_memory() {
    let kind = |bytes: &[u8]| Frame::read(&mut &bytes[..]).unwrap_err().kind();
    assert_eq!(kind(b"GET / HTTP/1.1\r\n\r\n"), io::ErrorKind::InvalidData);
    assert_eq!(kind(&u32::MAX.to_le_bytes()), io::ErrorKind::InvalidData);
    assert_eq!(kind(b"\x02\0\0\0{}"), io::ErrorKind::InvalidData);
    // 4 TiB, and as many as their bytes can't be counted.
    for count in [1 << 40, 1 << 62, u64::MAX] {
        assert_eq!(kind(&Frame::Numbers(count).header()), io::ErrorKind::InvalidData);
    }
    assert_eq!(kind(&Frame::Numbers(1 << 28).header()), io::ErrorKind::UnexpectedEof);
}
