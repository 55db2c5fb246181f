use cpu_gpu::gpu;
use lab::testing::{Tool, need};
use multi_gpu::comm::nccl::{Functions, Nccl, places};
use multi_gpu::{communicator::Communicator, rank::Rank, threads};
use std::{ffi::OsString, path::PathBuf};

#[test]
fn it_is_looked_for_where_the_reader_says_or_everywhere() {
    let named = places(Some("/opt/nccl/libnccl.so.2".into()), &[]);
    assert_eq!(named, [PathBuf::from("/opt/nccl/libnccl.so.2")]);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("nvidia/nccl");
    std::fs::create_dir_all(root.join("lib")).unwrap();
    let [system, other] = ["libnccl.so.2", "libnccl.so"].map(PathBuf::from);
    let roots = [root.clone(), folder.path().join("none")];
    assert_eq!(places(None, &roots), [system.clone(), other.clone()]);
    std::fs::write(root.join("lib/libnccl.so.2"), "").unwrap();
    let found = places(Some(OsString::new()), &roots);
    assert_eq!(found, [system, root.join("lib/libnccl.so.2"), other]);
}

/// One rank alone: all that a machine with one GPU can show of NCCL.
#[test]
fn a_rank_alone_sums_what_it_has_on_a_gpu() {
    let Some(_) = need(Tool::Cuda, gpu::open("cuda")) else { return };
    let Some(_) = need(Tool::Nccl, Functions::load()) else { return };
    let whole: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let sums = threads::run(1, |mut thread| {
        let mut data = whole.clone();
        let mut nccl = Nccl::join(&mut thread, "cuda")?;
        nccl.all_reduce(&mut data)?;
        nccl.broadcast(Rank(0), &mut data)?;
        Ok(data)
    });
    assert_eq!(sums.unwrap(), [whole]);
}
