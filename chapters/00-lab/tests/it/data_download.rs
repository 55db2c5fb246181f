//! Downloads from mirrors that misbehave: a server on the loopback address plays each of them.

use flate2::{Compression, write::GzEncoder};
use lab::{
    data::{
        self, Places, Source,
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
    /// Gives a gzip header and then never stops.
    Endless,
    /// Gives a byte now and then, as if it would go on forever.
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
    let mut from = 0;
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let line = line.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().unwrap();
        }
    }
    let name = path.rsplit('/').next().unwrap();
    let entry = if from > 0 { format!("{name} from {from}") } else { name.to_owned() };
    log.lock().unwrap().push(entry);
    let mut body = match act {
        Act::OtherPacking => pack(&content(), Compression::none()),
        Act::OtherContent => {
            let mut bytes = content();
            bytes[4000] ^= 1;
            pack(&bytes, Compression::fast())
        }
        Act::Unpacked => content(),
        _ => pack(&content(), Compression::fast()),
    };
    let total = body.len();
    let status = match act {
        Act::Page => {
            let page = "<!doctype html><title>Sign in</title><p>Sign in to this network";
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")?;
            return write!(stream, "Content-Length: {}\r\n\r\n{page}", page.len());
        }
        Act::Status(code) => {
            return write!(stream, "HTTP/1.1 {code} No\r\nContent-Length: 0\r\n\r\n");
        }
        Act::HangUp => return Ok(()),
        Act::Endless => {
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            stream.write_all(&[0x1f, 0x8b])?;
            while stream.write_all(&[0; 4096]).is_ok() {}
            return Ok(());
        }
        Act::Drips => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n")?;
            for byte in body {
                stream.write_all(&[byte])?;
                thread::sleep(Duration::from_millis(50));
            }
            return Ok(());
        }
        _ if from > 0 && from >= total => {
            return write!(stream, "HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n");
        }
        Act::IgnoreRange => "200 OK",
        _ if from > 0 => "206 Partial Content",
        _ => "200 OK",
    };
    write!(stream, "HTTP/1.1 {status}\r\nETag: \"1\"\r\nConnection: close\r\n")?;
    if status.starts_with("206") {
        let claimed = if act == Act::WrongRange { from - 1 } else { from };
        write!(stream, "Content-Range: bytes {claimed}-{}/{total}\r\n", total - 1)?;
        body.drain(..claimed);
    }
    match act {
        Act::CloseEarly(count) => {
            write!(stream, "\r\n")?;
            stream.write_all(&body[..count.min(body.len())])
        }
        Act::BreakOff(count) => {
            write!(stream, "Content-Length: {}\r\n\r\n", body.len())?;
            stream.write_all(&body[..count.min(body.len())])
        }
        _ => {
            write!(stream, "Content-Length: {}\r\n\r\n", body.len())?;
            stream.write_all(&body)
        }
    }
}

/// The file as its publisher describes it.
fn published() -> Published {
    let bytes = content();
    let sha256 = Box::leak(format!("{:x}", Sha256::digest(&bytes)).into_boxed_str());
    Published { name: "train-images-idx3-ubyte", size: bytes.len() as u64, sha256 }
}

/// One download into `folder` from these mirrors.
fn get(folder: &Path, mirrors: &[&Mirror]) -> Result<(), String> {
    let urls: Vec<&str> = mirrors.iter().map(|mirror| mirror.url.as_str()).collect();
    let result = fetch(folder, &urls, &[published()], Patience::default(), &mut |_, _, _| ());
    let text = result.as_ref().err().map(ToString::to_string);
    assert!(text.as_ref().is_none_or(|text| !text.contains('\n')), "{text:?}");
    result.map_err(|error| error.to_string())
}

/// The names in `folder`, without the lock.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "download.lock")
        .collect();
    names.sort();
    names
}

fn assert_whole(folder: &Path) {
    assert_eq!(names(folder), ["train-images-idx3-ubyte"]);
    assert_eq!(fs::read(folder.join("train-images-idx3-ubyte")).unwrap(), content());
}

#[test]
fn a_good_mirror_gives_the_file_and_tells_the_progress() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
    let mut seen = Vec::new();
    let urls = [mirror.url.as_str()];
    fetch(folder.path(), &urls, &[published()], Patience::default(), &mut |name, done, total| {
        seen.push((name.to_owned(), done, total));
    })
    .unwrap();
    assert_whole(folder.path());
    let size = pack(&content(), Compression::fast()).len() as u64;
    let name = "train-images-idx3-ubyte".to_owned();
    assert_eq!(seen.first(), Some(&(name.clone(), 0, Some(size))));
    assert_eq!(seen.last(), Some(&(name, size, Some(size))));
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
fn what_is_there_is_not_asked_for_again() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
    get(folder.path(), &[&mirror]).unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_eq!(mirror.requests().len(), 1);
}

#[test]
fn an_unpacking_mirror_serves_too() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Unpacked]));
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
}

/// A mirror that does `act` is said to, and the next one is asked.
fn next_mirror_helps(act: Act, said: &str) {
    let bad = Mirror::new(&[act]);
    let folder = tempfile::tempdir().unwrap();
    let text = get(folder.path(), &[&bad]).unwrap_err();
    assert!(text.contains("127.0.0.1") && text.contains(said), "{act:?}: {text}");
    assert!(!folder.path().join("train-images-idx3-ubyte").exists(), "{act:?}");
    let good = Mirror::new(&[Act::Serve]);
    let folder = tempfile::tempdir().unwrap();
    get(folder.path(), &[&bad, &good]).unwrap();
    assert_whole(folder.path());
}

#[test]
fn a_page_is_not_taken_for_data() {
    next_mirror_helps(Act::Page, "something else, such as a page");
}

#[test]
fn another_checksum_is_refused() {
    next_mirror_helps(Act::OtherContent, "checksum");
}

#[test]
fn a_status_is_said() {
    next_mirror_helps(Act::Status(404), "status 404");
    next_mirror_helps(Act::Status(503), "status 503");
}

#[test]
fn an_endless_answer_is_cut() {
    next_mirror_helps(Act::Endless, "sent more than");
}

#[test]
fn a_mirror_that_hangs_up_is_left() {
    next_mirror_helps(Act::HangUp, "could not be reached");
}

#[test]
fn a_mirror_that_would_take_for_ever_is_left() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Drips, Act::Serve]));
    let second = Mirror::new(&[Act::Serve]);
    let urls = [mirror.url.as_str(), second.url.as_str()];
    let patience = Patience { whole: Duration::from_millis(400), ..Patience::default() };
    let began = Instant::now();
    let error = fetch(folder.path(), &urls, &[published()], patience, &mut |_, _, _| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("is too slow") && error.contains("goes on"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    // What came is kept: nothing begins anew, and the next try goes on.
    assert!(second.requests().is_empty());
    assert!(folder.path().join("train-images-idx3-ubyte.gz.part").exists());
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    assert!(mirror.requests()[1].contains(" from "), "{:?}", mirror.requests());
}

#[test]
fn a_program_that_was_stopped_is_not_waited_for_without_end() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
    let held = fs::File::create(folder.path().join("download.lock")).unwrap();
    held.lock().unwrap();
    let patience = Patience { other: Duration::from_millis(200), ..Patience::default() };
    let urls = [mirror.url.as_str()];
    let error = fetch(folder.path(), &urls, &[published()], patience, &mut |_, _, _| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("another program") && error.contains("try again"), "{error}");
    drop(held);
    get(folder.path(), &[&mirror]).unwrap();
}

#[test]
fn a_short_file_that_looks_whole_is_refused() {
    next_mirror_helps(Act::CloseEarly(1000), "cut short");
}

#[test]
fn nobody_at_home_is_said() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{port}/");
    let error =
        fetch(folder.path(), &[&url], &[published()], Patience::default(), &mut |_, _, _| ())
            .unwrap_err();
    assert!(error.to_string().contains("refused the connection"), "{error}");
}

#[test]
fn a_broken_connection_is_taken_up_where_it_broke() {
    let mirror = Mirror::new(&[Act::BreakOff(5000), Act::BreakOff(3000), Act::Serve]);
    let folder = tempfile::tempdir().unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    let name = "train-images-idx3-ubyte.gz";
    assert_eq!(
        mirror.requests(),
        [name.to_owned(), format!("{name} from 5000"), format!("{name} from 8000")]
    );
}

#[test]
fn the_next_run_carries_on() {
    let mirror = Mirror::new(&[Act::BreakOff(5000), Act::BreakOff(0), Act::Serve]);
    let folder = tempfile::tempdir().unwrap();
    let text = get(folder.path(), &[&mirror]).unwrap_err();
    assert!(text.contains("broke off"), "{text}");
    assert_eq!(
        names(folder.path()),
        ["train-images-idx3-ubyte.gz.part", "train-images-idx3-ubyte.gz.part.from"]
    );
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    assert_eq!(mirror.requests()[2], "train-images-idx3-ubyte.gz from 5000");
}

#[test]
fn a_run_that_stopped_before_it_verified_needs_no_mirror() {
    let mirror = Mirror::new(&[Act::BreakOff(5000), Act::BreakOff(0)]);
    let folder = tempfile::tempdir().unwrap();
    get(folder.path(), &[&mirror]).unwrap_err();
    let part = folder.path().join("train-images-idx3-ubyte.gz.part");
    fs::write(part, pack(&content(), Compression::fast())).unwrap();
    let before = mirror.requests().len();
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
    assert_eq!(mirror.requests().len(), before);
}

#[test]
fn a_damaged_part_starts_clean() {
    for (act, size) in [(Act::Serve, 5000), (Act::Serve, 1 << 20), (Act::IgnoreRange, 5000)] {
        let mirror = Mirror::new(&[Act::BreakOff(5000), Act::BreakOff(0), act]);
        let folder = tempfile::tempdir().unwrap();
        get(folder.path(), &[&mirror]).unwrap_err();
        let part = folder.path().join("train-images-idx3-ubyte.gz.part");
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
fn mirrors_that_ignore_or_mistake_the_range_do_no_harm() {
    for act in [Act::IgnoreRange, Act::WrongRange] {
        let mirror = Mirror::new(&[Act::BreakOff(5000), act, Act::Serve]);
        let folder = tempfile::tempdir().unwrap();
        if get(folder.path(), &[&mirror]).is_err() {
            get(folder.path(), &[&mirror]).unwrap();
        }
        assert_whole(folder.path());
    }
}

#[test]
fn a_part_of_one_mirror_is_not_continued_from_another() {
    let first = Mirror::new(&[Act::BreakOff(5000), Act::BreakOff(0)]);
    let second = Mirror::new(&[Act::OtherPacking]);
    let folder = tempfile::tempdir().unwrap();
    get(folder.path(), &[&first, &second]).unwrap();
    assert_whole(folder.path());
    assert_eq!(second.requests(), ["train-images-idx3-ubyte.gz"]);
}

#[test]
fn a_file_that_is_replaced_is_kept_aside() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
    fs::write(folder.path().join("train-images-idx3-ubyte"), b"mine").unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_eq!(
        names(folder.path()),
        ["train-images-idx3-ubyte", "train-images-idx3-ubyte.replaced"]
    );
    let aside = fs::read(folder.path().join("train-images-idx3-ubyte.replaced")).unwrap();
    assert_eq!(aside, b"mine");
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
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
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
    let full = Path::new("/dev/full");
    if !full.exists() {
        need::<()>(Tool::System, Err("there is no /dev/full"));
        return;
    }
    let name = "train-images-idx3-ubyte";
    // First while it arrives, then while it is unpacked.
    for end in [".gz.part", ".new"] {
        let path = folder.path().join(format!("{name}{end}"));
        std::os::unix::fs::symlink(full, &path).unwrap();
        let text = get(folder.path(), &[&mirror]).unwrap_err();
        assert!(text.contains("the disk is full") && text.contains("MNIST_DIR"), "{text}");
        assert!(!folder.path().join(name).exists());
        let _ = fs::remove_file(path);
    }
    get(folder.path(), &[&mirror]).unwrap();
    assert_whole(folder.path());
}

#[test]
fn a_cache_that_cannot_be_made_is_said() {
    let (folder, mirror) = (tempfile::tempdir().unwrap(), Mirror::new(&[Act::Serve]));
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
    let bytes = [
        content(),
        idx::write_labels(&set.train.labels),
        content(),
        idx::write_labels(&set.train.labels),
    ];
    // The mirrors have the images only; the labels are in the cache already.
    let published: [Published; 4] = std::array::from_fn(|i| Published {
        name: files::MNIST[i].name,
        size: bytes[i].len() as u64,
        sha256: Box::leak(format!("{:x}", Sha256::digest(&bytes[i])).into_boxed_str()),
    });
    let cache = tempfile::tempdir().unwrap();
    for i in [1, 3] {
        fs::write(cache.path().join(published[i].name), &bytes[i]).unwrap();
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
    let mirror = Mirror::new(&[Act::Status(500)]);
    let cache = tempfile::tempdir().unwrap();
    let mirrors = [mirror.url.as_str()];
    let places = Places {
        named: None,
        cache: Some(cache.path().to_owned()),
        mirrors: &mirrors,
        published: &files::MNIST,
    };
    let found = data::find(&places, &mut |_, _, _| ()).unwrap();
    assert_eq!(found.source, Source::Drawn);
    assert!(found.note.unwrap().contains("status 500"));
}
