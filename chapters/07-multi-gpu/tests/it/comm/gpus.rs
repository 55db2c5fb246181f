use lab::{Device, device::Driven};
use multi_gpu::{
    comm::gpus::{Joined, over_nccl},
    threads,
};

#[test]
fn without_gpus_the_engine_stays_and_the_reason_is_told() {
    // A GPU that no machine has, so that machines with NCCL do the same.
    let (gpu, opencl) = (Device::Cuda(1000), Device::OpenCl(Driven::Cpu, 0));
    for (devices, told) in [
        ([Device::Cpu; 2], false),
        ([Device::Cpu, gpu], false),
        ([gpu, opencl], false),
        ([gpu; 2], true),
    ] {
        let said = threads::run(2, |comm| {
            let device = devices[comm.rank().0];
            let Joined { comm, told: why, here } = over_nccl(comm, device)?;
            assert_eq!(here, if devices[0] == devices[1] { 2 } else { 1 });
            let mut data = [1.0];
            comm.lock().unwrap().all_reduce(&mut data)?;
            assert!((data[0] - 2.0).abs() < 1e-6);
            Ok(why)
        });
        for why in said.unwrap() {
            assert_eq!(why.is_some(), told);
            assert!(why.is_none_or(|why| why.contains("without NCCL: ")));
        }
    }
}
