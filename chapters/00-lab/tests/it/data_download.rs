//! Downloads from mirrors that misbehave: a server on the loopback address plays each of them.

use crate::data::gzip;
use lab::{
    data::{
        self, Options, Places, Source,
        download::{self, PATIENCE, fetch},
        drawn,
        files::{self, Published},
        idx,
    },
    run::disk::{Fault, fail},
    testing::names,
};
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const NAME: &str = "train-images-idx3-ubyte";

/// What a mirror does with one request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    /// Gives what was asked for.
    Serve,
    /// Promises all of it and hangs up after so many bytes.
    BreakOff(usize),
    /// Sends so many bytes without a length and closes the connection as if that were all.
    CloseEarly(usize),
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

/// A mirror on the loopback address.
struct Mirror {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Mirror {
    fn new(act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mnist/", listener.local_addr().unwrap());
        let requests = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Relaxed);
                let _ = answer(stream.unwrap(), act);
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

/// The one file that these mirrors have: random enough not to shrink much.
fn content() -> Vec<u8> {
    idx::write_images(&drawn(200, 0, 7).train.images, 28, 28)
}

fn answer(mut stream: TcpStream, act: Act) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines();
    let _ = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).count();
    let body = match act {
        Act::HangUp => return Ok(()),
        Act::Status(_) => Vec::new(),
        Act::Page => b"<!doctype html><title>Sign in</title><p>Sign in to this network".into(),
        Act::Endless => [0x1f, 0x8b].repeat(1 << 19),
        Act::OtherContent => {
            let mut bytes = content();
            bytes[4000] ^= 1;
            gzip(&bytes)
        }
        Act::Unpacked => content(),
        _ => gzip(&content()),
    };
    let status = if let Act::Status(code) = act { code } else { 200 };
    write!(stream, "HTTP/1.1 {status} Said\r\nConnection: close\r\n")?;
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
    get_within(PATIENCE, folder, mirrors)
}

fn get_within(patience: Duration, folder: &Path, mirrors: &[&Mirror]) -> Result<(), String> {
    let urls: Vec<&str> = mirrors.iter().map(|mirror| mirror.url.as_str()).collect();
    let published = [published(NAME, &content())];
    let result = fetch(folder, &urls, &published, patience, &mut |_, _, _| ());
    let text = result.map_err(|error| error.to_string());
    assert!(text.as_ref().err().is_none_or(|text| !text.contains('\n')), "{text:?}");
    text
}

fn start(act: Act) -> (TempDir, Mirror) {
    (tempfile::tempdir().unwrap(), Mirror::new(act))
}

fn assert_whole(folder: &Path) {
    assert_eq!(names(folder), [NAME]);
    assert_eq!(fs::read(folder.join(NAME)).unwrap(), content());
}

#[test]
fn a_good_mirror_gives_the_file_and_tells_the_progress() {
    let (folder, mirror) = start(Act::Serve);
    let (mut seen, mut bars) = (Vec::new(), download::Bars::default());
    let (urls, published) = ([mirror.url.as_str()], [published(NAME, &content())]);
    let mut see = |name: &str, done, total| {
        bars.show(name, done, total);
        seen.push((name.to_owned(), done, total));
    };
    fetch(folder.path(), &urls, &published, PATIENCE, &mut see).unwrap();
    bars.finish();
    assert_whole(folder.path());
    let size = gzip(&content()).len() as u64;
    assert_eq!(seen.first(), Some(&(NAME.to_owned(), 0, Some(size))));
    assert_eq!(seen.last(), Some(&(NAME.to_owned(), size, Some(size))));
    assert!(seen.is_sorted_by_key(|(_, done, _)| *done));
    let (folder, unpacking) = start(Act::Unpacked);
    get(folder.path(), &[&unpacking]).unwrap();
    assert_whole(folder.path());
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
        (Act::BreakOff(1000), "broke off at 1000"),
        (Act::CloseEarly(1000), "cut short"),
    ]
    .map(|(act, said)| (Mirror::new(act), said))
    .into();
    // A port that was free a moment ago.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Mirror { url: format!("http://{nobody}/"), requests: Arc::default() };
    mirrors.push((nobody, "refused the connection"));
    let good = Mirror::new(Act::Serve);
    for (bad, said) in mirrors {
        let folder = tempfile::tempdir().unwrap();
        let text = get(folder.path(), &[&bad]).unwrap_err();
        assert!(text.contains("127.0.0.1") && text.contains(said), "{said}: {text}");
        assert!(names(folder.path()).is_empty(), "{said}");
        get(folder.path(), &[&bad, &good]).unwrap();
        assert_whole(folder.path());
    }
}

#[test]
fn a_mirror_that_would_take_for_ever_is_left() {
    let (folder, mirror) = start(Act::Drips);
    let second = Mirror::new(Act::Serve);
    let began = Instant::now();
    let patience = Duration::from_millis(400);
    let error = get_within(patience, folder.path(), &[&mirror, &second]).unwrap_err();
    assert!(error.contains("is too slow") && error.contains("next try"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(second.requests(), 0, "another one would have to begin anew");
}

#[test]
fn a_file_that_is_replaced_is_kept_aside() {
    let (folder, mirror) = start(Act::Serve);
    fs::write(folder.path().join(NAME), b"mine").unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_eq!(names(folder.path()), [NAME.to_owned(), format!("{NAME}.replaced")]);
    assert_eq!(fs::read(folder.path().join(format!("{NAME}.replaced"))).unwrap(), b"mine");
    fs::write(folder.path().join(NAME), b"mine, too").unwrap();
    get(folder.path(), &[&mirror]).unwrap();
    assert_eq!(fs::read(folder.path().join(format!("{NAME}.replaced"))).unwrap(), b"mine");
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let (folder, mirror) = start(Act::Serve);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| get(folder.path(), &[&mirror]).unwrap());
        }
    });
    assert_whole(folder.path());
    let asked = mirror.requests();
    get(folder.path(), &[&mirror]).unwrap();
    assert_eq!(mirror.requests(), asked, "what is there is not asked for again");
}

/// At every operation on the disk: nothing is left that could be taken for the file.
#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    let (folder, mirror) = start(Act::Serve);
    fail(None);
    for at in 0.. {
        fail(Some((at, Fault::Full)));
        let got = get(folder.path(), &[&mirror]);
        fail(None);
        let Err(text) = got else { break };
        assert!(text.contains("the disk is full") && text.contains("MNIST_DIR"), "{text}");
        assert!(names(folder.path()).is_empty(), "{at}");
    }
    assert_whole(folder.path());
}

#[test]
fn a_cache_that_cannot_be_made_is_said() {
    let (folder, mirror) = start(Act::Serve);
    // A file where the folder should be: no user, not even root, can write below it.
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let text = get(&file.join("cache"), &[&mirror]).unwrap_err();
    assert!(text.contains("file"), "{text}");
    assert_eq!(mirror.requests(), 0);
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
    let mirror = Mirror::new(Act::Serve);
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
    assert_eq!(mirror.requests(), 2);
}

/// No mirror helps: drawn digits, and the reason is told.
#[test]
fn find_says_why_it_draws() {
    let (cache, mirror) = start(Act::Status(500));
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
