//! Downloads from mirrors that misbehave: a server on the loopback address plays each of them.

use flate2::{Compression, write::GzEncoder};
use lab::{
    data::{
        self, Options, Places, Source,
        download::{self, Patience, fetch},
        drawn,
        files::{self, Published},
        idx,
    },
    testing::{Tool, need},
};
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const NAME: &str = "train-images-idx3-ubyte";
const PART: &str = "train-images-idx3-ubyte.gz.part";

/// What a mirror does with one request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    /// Gives what was asked for.
    Serve,
    /// Gives all of it, whatever part was asked for.
    IgnoreRange,
    /// Gives the part, but claims and sends another one.
    WrongRange,
    /// Promises all of it and hangs up after so many bytes.
    BreakOff(usize),
    /// Sends so many bytes without a length and closes the connection as if that were all.
    CloseEarly(usize),
    /// Gives a file that was packed in another way.
    OtherPacking,
    /// Gives a well-packed file with one other byte in it.
    OtherContent,
    /// Gives the unpacked file.
    Unpacked,
    /// Gives a page.
    Page,
    /// Gives a status and nothing else.
    Status(u16),
    /// Gives a gzip header and then much more than the file has.
    Endless,
    /// Gives a byte now and then.
    Drips,
    /// Hangs up at once.
    HangUp,
}

/// A mirror on the loopback address. It goes through its acts, one a request, and stays with the last.
struct Mirror {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Mirror {
    fn new(acts: &[Act]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mnist/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (log, acts) = (Arc::clone(&requests), acts.to_vec());
        thread::spawn(move || {
            for (count, stream) in listener.incoming().enumerate() {
                let act = acts[count.min(acts.len() - 1)];
                let _ = answer(stream.unwrap(), act, &log);
            }
        });
        Self { url, requests }
    }

    /// The requests so far, each as `NAME` or `NAME from BYTE`.
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// The one file that these mirrors have: random enough not to shrink much.
fn content() -> Vec<u8> {
    idx::write_images(&drawn(200, 0, 7).train.images, 28, 28)
}

fn pack(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn answer(mut stream: TcpStream, act: Act, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let path = lines.next().unwrap()?.split(' ').nth(1).unwrap().to_owned();
    let ranges = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let ranges = ranges.filter_map(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("range: bytes=")?.trim_end_matches('-').parse::<usize>().ok()
    });
    let from: usize = ranges.sum();
    let name = path.rsplit('/').next().unwrap();
    let entry = if from > 0 { format!("{name} from {from}") } else { name.to_owned() };
    log.lock().unwrap().push(entry);
    let whole = match act {
        Act::HangUp => return Ok(()),
        Act::Status(_) => Vec::new(),
        Act::Page => b"<!doctype html><title>Sign in</title><p>Sign in to this network".into(),
        Act::Endless => [0x1f, 0x8b].repeat(1 << 19),
        Act::OtherPacking => pack(&content(), Compression::none()),
        Act::OtherContent => {
            let mut bytes = content();
            bytes[4000] ^= 1;
            pack(&bytes, Compression::fast())
        }
        Act::Unpacked => content(),
        _ => pack(&content(), Compression::fast()),
    };
    let start = if act == Act::IgnoreRange { 0 } else { from };
    let (status, start) = match act {
        Act::Status(code) => (code, 0),
        _ if start == 0 => (200, 0),
        _ if start >= whole.len() => (416, whole.len()),
        Act::WrongRange => (206, start - 1),
        _ => (206, start),
    };
    let (body, last) = (&whole[start..], whole.len().saturating_sub(1));
    write!(stream, "HTTP/1.1 {status} Said\r\nConnection: close\r\n")?;
    write!(stream, "Content-Range: bytes {start}-{last}/{}\r\n", whole.len())?;
    if !matches!(act, Act::CloseEarly(_) | Act::Endless) {
        write!(stream, "Content-Length: {}\r\n", body.len())?;
    }
    write!(stream, "\r\n")?;
    let sent = match act {
        Act::CloseEarly(count) | Act::BreakOff(count) => count.min(body.len()),
        _ => body.len(),
    };
    if act != Act::Drips {
        return stream.write_all(&body[..sent]);
    }
    body.iter().try_for_each(|byte| {
        thread::sleep(Duration::from_millis(50));
        stream.write_all(&[*byte])
    })
}

/// A file as its publisher describes it.
fn published(name: &'static str, bytes: &[u8]) -> Published {
    let sha256 = Box::leak(format!("{:x}", Sha256::digest(bytes)).into_boxed_str());
    Published { name, size: bytes.len() as u64, sha256 }
}

/// One download into `folder` from these mirrors.
fn get(folder: &Path, mirrors: &[&Mirror]) -> Result<(), String> {
    get_within(Patience::default(), folder, mirrors)
}

fn get_within(patience: Patience, folder: &Path, mirrors: &[&Mirror]) -> Result<(), String> {
    let urls: Vec<&str> = mirrors.iter().map(|mirror| mirror.url.as_str()).collect();
    let published = [published(NAME, &content())];
    let result = fetch(folder, &urls, &published, patience, &mut |_, _, _| ());
    let text = result.map_err(|error| error.to_string());
    assert!(text.as_ref().err().is_none_or(|text| !text.contains('\n')), "{text:?}");
    text
}

/// A folder, and a mirror that goes through these acts.
fn start(acts: &[Act]) -> (TempDir, Mirror) {
    (tempfile::tempdir().unwrap(), Mirror::new(acts))
}

/// The same where the first download has left 5000 bytes.
fn started(then: &[Act]) -> (TempDir, Mirror) {
    let (folder, mirror) = start(&[&[Act::BreakOff(5000), Act::BreakOff(0)], then].concat());
    let text = get(folder.path(), &[&mirror]).unwrap_err();
    assert!(text.contains("broke off"), "{text}");
    assert_eq!(names(folder.path()), [PART.to_owned(), format!("{PART}.from")]);
    (folder, mirror)
}

/// The names in `folder`, without the lock.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "download.lock").collect();
    names.sort();
    names
}

fn assert_whole(folder: &Path) {
    assert_eq!(names(folder), [NAME]);
    assert_eq!(fs::read(folder.join(NAME)).unwrap(), content());
}

#[test]
fn a_good_mirror_gives_the_file_and_tells_the_progress() {
    let (folder, mirror) = start(&[Act::Serve]);
    let mut seen = Vec::new();
    let (urls, published) = ([mirror.url.as_str()], [published(NAME, &content())]);
    let mut see = |name: &str, done, total| seen.push((name.to_owned(), done, total));
    fetch(folder.path(), &urls, &published, Patience::default(), &mut see).unwrap();
    assert_whole(folder.path());
    let size = pack(&content(), Compression::fast()).len() as u64;
    assert_eq!(seen.first(), Some(&(NAME.to_owned(), 0, Some(size))));
    assert_eq!(seen.last(), Some(&(NAME.to_owned(), size, Some(size))));
    assert!(seen.is_sorted_by_key(|(_, done, _)| *done));
}

#[test]
fn bars_follow_a_download_that_starts_again() {
    let mut bars = download::Bars::default();
    for (done, total) in [(0, Some(100)), (60, Some(100)), (20, None), (100, Some(100))] {
        bars.show("a", done, total);
    }
    bars.show("b", 5, None);
    bars.finish();
}

#[test]
fn what_a_mirror_does_wrong_is_said_and_the_next_one_helps() {
    let mut mirrors: Vec<(Mirror, &str)> = [
        (Act::Page, "something else, such as a page"),
        (Act::OtherContent, "checksum"),
        (Act::Status(404), "status 404"),
        (Act::Status(503), "status 503"),
        (Act::Endless, "sent more than"),
        (Act::HangUp, "could not be reached"),
        (Act::CloseEarly(1000), "cut short"),
    ]
    .map(|(act, said)| (Mirror::new(&[act]), said))
    .into();
    // A port that was free a moment ago.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Mirror { url: format!("http://{nobody}/"), requests: Arc::default() };
    mirrors.push((nobody, "refused the connection"));
    for (bad, said) in mirrors {
        let folder = tempfile::tempdir().unwrap();
        let text = get(folder.path(), &[&bad]).unwrap_err();
        assert!(text.contains("127.0.0.1") && text.contains(said), "{said}: {text}");
        assert!(!folder.path().join(NAME).exists(), "{said}");
        let (folder, good) = start(&[Act::Serve]);
        get(folder.path(), &[&bad, &good]).unwrap();
        assert_whole(folder.path());
    }
}

/// Whether one download is enough, or the one after it has the file; and what the mirror was asked for.
#[test]
fn a_broken_connection_is_taken_up_where_it_broke() {
    let broken = Act::BreakOff(5000);
    for (acts, tries, requests) in [
        // What is there is not asked for again.
        (&[Act::Serve][..], 2, &[""][..]),
        (&[Act::Unpacked], 1, &[""]),
        (&[broken, Act::BreakOff(3000), Act::Serve], 1, &["", " from 5000", " from 8000"]),
        // A mirror that ignores the range or mistakes it does no harm.
        (&[broken, Act::IgnoreRange, Act::Serve], 2, &["", " from 5000"]),
        (&[broken, Act::WrongRange, Act::Serve], 2, &["", " from 5000", ""]),
    ] {
        let (folder, mirror) = start(acts);
        let mut came = get(folder.path(), &[&mirror]);
        for _ in 1..tries {
            came = get(folder.path(), &[&mirror]);
        }
        came.unwrap_or_else(|error| panic!("{acts:?}: {error}"));
        assert_whole(folder.path());
        let requests: Vec<String> =
            requests.iter().map(|from| format!("{NAME}.gz{from}")).collect();
        assert_eq!(mirror.requests(), requests, "{acts:?}");
    }
}

#[test]
fn the_next_run_carries_on() {
    let (folder, mirror) = started(&[Act::Serve]);
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    assert_eq!(mirror.requests()[2], format!("{NAME}.gz from 5000"));
    // One that stopped before it verified needs no mirror.
    let (folder, mirror) = started(&[]);
    fs::write(folder.path().join(PART), pack(&content(), Compression::fast())).unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    assert_eq!(mirror.requests().len(), 2);
    // What one mirror packed does not go on with another's bytes.
    let (folder, first) = start(&[Act::BreakOff(5000), Act::BreakOff(0)]);
    let second = Mirror::new(&[Act::OtherPacking]);
    get(folder.path(), &[&first, &second]).unwrap();
    assert_whole(folder.path());
    assert_eq!(second.requests(), [format!("{NAME}.gz")]);
}

#[test]
fn a_damaged_part_starts_clean() {
    for (act, size) in [(Act::Serve, 5000), (Act::Serve, 1 << 20), (Act::IgnoreRange, 5000)] {
        let (folder, mirror) = started(&[act]);
        let part = folder.path().join(PART);
        let mut bytes = fs::read(&part).unwrap();
        bytes.resize(size, 0);
        bytes[3000..3100].fill(0xaa);
        fs::write(&part, bytes).unwrap();
        // The damage may only show at the end; the run after that starts clean at the latest.
        if get(folder.path(), &[&mirror]).is_err() {
            get(folder.path(), &[&mirror]).unwrap();
        }
        assert_whole(folder.path());
    }
}

#[test]
fn a_mirror_that_would_take_for_ever_is_left() {
    let (folder, mirror) = start(&[Act::Drips, Act::Serve]);
    let second = Mirror::new(&[Act::Serve]);
    let patience = Patience { whole: Duration::from_millis(400), ..Patience::default() };
    let began = Instant::now();
    let error = get_within(patience, folder.path(), &[&mirror, &second]).unwrap_err();
    assert!(error.contains("is too slow") && error.contains("goes on"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    // What came is kept: nothing begins anew, and the next try goes on.
    assert!(second.requests().is_empty() && folder.path().join(PART).exists());
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    assert!(mirror.requests()[1].contains(" from "), "{:?}", mirror.requests());
}

#[test]
fn a_program_that_was_stopped_is_not_waited_for_without_end() {
    let (folder, mirror) = start(&[Act::Serve]);
    let held = fs::File::create(folder.path().join("download.lock")).unwrap();
    held.lock().unwrap();
    let patience = Patience { other: Duration::from_millis(200), ..Patience::default() };
    let error = get_within(patience, folder.path(), &[&mirror]).unwrap_err();
    assert!(error.contains("another program") && error.contains("try again"), "{error}");
    drop(held);
    get(folder.path(), &[&mirror]).unwrap();
}

#[test]
fn a_file_that_is_replaced_is_kept_aside() {
    let (folder, mirror) = start(&[Act::Serve]);
    fs::write(folder.path().join(NAME), b"mine").unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_eq!(names(folder.path()), [NAME.to_owned(), format!("{NAME}.replaced")]);
    assert_eq!(fs::read(folder.path().join(format!("{NAME}.replaced"))).unwrap(), b"mine");
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let (folder, mirror) = start(&[Act::Serve]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| get(folder.path(), &[&mirror]).unwrap());
        }
    });
    assert_whole(folder.path());
    assert_eq!(mirror.requests().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let (folder, mirror) = start(&[Act::Serve]);
    let full = Path::new("/dev/full");
    if !full.exists() {
        need::<()>(Tool::System, Err("there is no /dev/full"));
        return;
    }
    // First while it arrives, then while it is unpacked.
    for end in [".gz.part", ".new"] {
        let path = folder.path().join(format!("{NAME}{end}"));
        std::os::unix::fs::symlink(full, &path).unwrap();
        let text = get(folder.path(), &[&mirror]).unwrap_err();
        assert!(text.contains("the disk is full") && text.contains("MNIST_DIR"), "{text}");
        assert!(!folder.path().join(NAME).exists());
        let _ = fs::remove_file(path);
    }
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
}

#[test]
fn a_cache_that_cannot_be_made_is_said() {
    let (folder, mirror) = start(&[Act::Serve]);
    // A file where the folder should be: no user, not even root, can write below it.
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let text = get(&file.join("cache"), &[&mirror]).unwrap_err();
    assert!(text.contains("file"), "{text}");
    assert!(mirror.requests().is_empty());
}

/// The whole search: a download into the cache, read from there, then found there.
#[test]
fn find_downloads_into_the_cache() {
    let set = drawn(200, 0, 7);
    // The mirrors have the images only; the labels are in the cache already.
    let (images, labels) = (content(), idx::write_labels(&set.train.labels));
    let published: [Published; 4] = std::array::from_fn(|i| {
        published(files::MNIST[i].name, if i % 2 == 0 { &images } else { &labels })
    });
    let cache = tempfile::tempdir().unwrap();
    for i in [1, 3] {
        fs::write(cache.path().join(published[i].name), &labels).unwrap();
    }
    let mirror = Mirror::new(&[Act::Serve]);
    let mirrors = [mirror.url.as_str()];
    let places = Places {
        named: None,
        cache: Some(cache.path().to_owned()),
        mirrors: &mirrors,
        published: &published,
    };
    for _ in 0..2 {
        let found = data::find(&places, &mut |_, _, _| ()).unwrap();
        assert_eq!(found.source, Source::Mnist(cache.path().to_owned()));
        assert_eq!((&found.train, &found.test), (&set.train, &set.train));
    }
    assert_eq!(mirror.requests().len(), 2);
}

/// No mirror helps: drawn digits, and the reason is told.
#[test]
fn find_says_why_it_draws() {
    let (cache, mirror) = start(&[Act::Status(500)]);
    let mirrors = [mirror.url.as_str()];
    let cache = Some(cache.path().to_owned());
    let places = Places { named: None, cache, mirrors: &mirrors, published: &files::MNIST };
    let found = data::find(&places, &mut |_, _, _| ()).unwrap();
    assert_eq!(found.source, Source::Drawn);
    assert!(found.note.unwrap().contains("status 500"));
    // Clothes can't be drawn: who asks for them by name gets them or an error.
    let clothes = Places { published: &files::FASHION, ..places };
    let error = data::find(&clothes, &mut |_, _, _| ()).unwrap_err().to_string();
    assert!(error.contains("Fashion-MNIST") && error.contains("--data"), "{error}");
    let asked = Options { folder: Some("fashion-mnist".into()), download: true };
    let places = Places::of(&asked);
    assert_eq!((places.named, places.published), (None, &files::FASHION));
    assert!(places.cache.is_none_or(|cache| cache.ends_with("throughput/fashion-mnist")));
}
