use crate::laws::summed;
use cpu_gpu::gpu::{open, testing::opencl};
use engine::cpu::Cpu;
use multi_gpu::replicas::link::{Joint, Link, broken_gradients};
use multi_gpu::replicas::show::{self, sums};
use multi_gpu::replicas::watch::STEPS;
use multi_gpu::{Rank, Result, threads};
use performance::gpu::Gpu;
use std::{thread, time::Duration};
use training::{loss::Tally, team::Team};

/// What each of `size` ranks comes to with its link.
fn linked<T: Send>(size: usize, work: impl Fn(&Link, &mut Joint) -> Result<T> + Sync) -> Vec<T> {
    let ranks = threads::run(size, |comm| {
        let (link, mut joint) = show::linked(comm)?;
        work(&link, &mut joint)
    });
    ranks.unwrap()
}

/// The messages of a step of so many images, in which this rank found this. Returns the mean loss.
fn step(
    (link, joint): (&Link, &mut Joint),
    images: usize,
    gradient: &mut [f32],
    mut losses: [f32; 2],
) -> Result<f32> {
    link.part(images);
    link.begin(false);
    sums(joint, gradient, &mut losses)?;
    Ok(losses[0])
}

#[test]
fn all_count_the_whole_batch_whoever_has_its_parts() {
    // Six images for four ranks, each with a loss of a tenth; every second one is right.
    let counted = linked(4, |link, joint| {
        let mine = link.part(6);
        let right = mine.clone().filter(|image| image % 2 == 0).count();
        let (mut row, share) = (vec![1.0; 3], 1.0 / 6.0);
        let losses = [0.1 * mine.len() as f32 * share, right as f32 * share];
        let mean = step((link, joint), 6, &mut row, losses)?;
        Ok((row, mean, link.counted(Tally::default())))
    });
    for (row, mean, counted) in counted {
        assert_eq!((row, counted.right, counted.seen), (vec![4.0; 3], 3, 6));
        assert!((counted.loss - 0.6).abs() < 1e-6 && (mean - 0.1).abs() < 1e-6, "{counted:?}");
    }
}

#[test]
fn a_rank_with_broken_numbers_is_named_by_all_unless_all_are_broken() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let said = linked(3, |link, joint| {
            let value = if link.rank == Rank(1) { bad } else { 1.0 };
            let failed = step((link, joint), 6, &mut [1.0, value], [0.1; 2]).unwrap_err();
            Ok(failed.to_string())
        });
        for words in said {
            let named = words.starts_with("the gradients of rank 1 are infinite or not");
            assert!(named, "{words}");
        }
        // Then the loop hears it by the loss, and nobody moves a weight.
        let nan = linked(2, |link, joint| {
            step((link, joint), 4, &mut [bad], [0.1; 2])?;
            Ok(link.overflowed() && link.counted(Tally::default()).mean_loss().is_nan())
        });
        assert_eq!(nan, [true; 2]);
    }
}

#[test]
fn a_device_looks_at_each_bucket_of_its_own_gradient_before_the_sum() {
    let gpu = opencl(); // one test at a time has it
    let id = gpu.as_ref().map(|gpu| gpu.about().id.clone());
    for (place, bad) in [(299, f32::NAN), (0, f32::INFINITY), (299, f32::NEG_INFINITY)] {
        let value = |link: &Link| (place, if link.rank == Rank(1) { bad } else { 1.0 });
        let on_cores = threads::run(2, |comm| {
            let (link, joint) = show::linked(comm)?;
            Ok(summed(&link, Cpu::new(1).with_ranks(joint), value(&link)).unwrap_err())
        });
        let by_kernels = threads::run(2, |comm| {
            let (link, joint) = show::linked(comm)?;
            let Some(id) = &id else { return Ok(broken_gradients(&[1])) };
            let gpu = open(id)?;
            let device = Gpu::new(&*gpu).with_ranks(joint);
            Ok(summed(&link, device, value(&link)).unwrap_err())
        });
        for error in [on_cores, by_kernels].into_iter().flat_map(Result::unwrap) {
            assert_eq!(error.to_string(), broken_gradients(&[1]).to_string());
        }
    }
}

#[test]
fn who_has_twice_as_many_images_is_not_slow() {
    for (images, warned) in [(2, false), (5, false), (6, true)] {
        let told = linked(3, |link, joint| {
            for _ in 0..STEPS {
                link.part(images);
                link.begin(false);
                thread::sleep(Duration::from_millis(4 * u64::from(link.rank == Rank(0))));
                sums(joint, &mut [1.0], &mut [0.1; 2])?;
            }
            Ok(link.warning().is_some())
        });
        assert_eq!(told, [warned; 3], "{images}");
    }
}

#[test]
fn ranks_that_share_another_batch_are_found_out() {
    let said = linked(2, |link, joint| {
        let failed = step((link, joint), 4 + 2 * link.rank.0, &mut [1.0], [0.1; 2]);
        Ok(failed.unwrap_err().to_string())
    });
    for (words, counted_on) in said.iter().zip([4, 6]) {
        assert!(
            words.contains(&format!("5 images together where this one counted on {counted_on}"))
        );
    }
}

#[test]
fn one_that_is_asked_stops_all_of_them_after_the_same_step() {
    let stopped = linked(3, |link, joint| {
        for steps in 1.. {
            step((link, joint), 3, &mut [1.0], [0.1; 2])?;
            if link.stops(link.rank == Rank(2) && steps >= 5) {
                return Ok(steps);
            }
        }
        Ok(0)
    });
    assert_eq!(stopped, [6; 3]);
}
