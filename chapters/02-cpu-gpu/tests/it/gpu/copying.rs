use cpu_gpu::gpu::copying::{Copying, OF_BLOCK, bandwidth};
use cpu_gpu::gpu::{read_all, testing, upload};
use lab::random::numbers;

#[test]
fn every_number_is_copied_and_none_behind_the_last() {
    let Some(gpu) = testing::opencl() else { return };
    for count in [4, 1024, 4092, OF_BLOCK, OF_BLOCK + 4, 3 * OF_BLOCK - 8] {
        let mut copying = Copying::new(&*gpu, count).unwrap();
        let values = numbers(count, 1);
        copying.x = upload(&*gpu, &values).unwrap();
        copying.y = upload(&*gpu, &vec![-7.0_f32; count + 4]).unwrap();
        copying.launch(&*gpu).unwrap();
        let got: Vec<f32> = read_all(&*gpu, &copying.y, count + 4).unwrap();
        assert!(got[..count] == values, "{count}");
        assert_eq!(got[count..], [-7.0; 4], "{count}");
    }
    for count in [0, 3, 1026] {
        assert!(Copying::new(&*gpu, count).is_err(), "{count}");
    }
}

#[test]
fn bandwidth_is_that_of_all_copies() {
    let Some(gpu) = testing::opencl() else { return };
    let rates = bandwidth(&*gpu, 1 << 18, 5, 3).unwrap();
    assert_eq!(rates.0.len(), 3);
    assert!(rates.0.iter().all(|rate| rate.is_finite() && *rate > 1e6), "{rates:?}");
}
