use multi_gpu::replicas::link::{Link, Report};
use multi_gpu::{Rank, Result, threads};
use training::{loss::Tally, team::Team};

fn report(images: usize) -> Report {
    let tally = Tally { loss: 0.1 * images as f64, right: 1, seen: images as u64 };
    Report { tally, seconds: 0.25, ..Report::default() }
}

/// What each of `size` ranks comes to with its link.
fn linked<T: Send>(size: usize, work: impl Fn(&Link) -> Result<T> + Sync) -> Vec<T> {
    threads::run(size, |comm| work(&Link::new(Box::new(comm)))).unwrap()
}

#[test]
fn means_of_uneven_parts_become_the_mean_of_the_whole() {
    // Rank r has r images, each with the number 10 r: rank 0 has none, and a row of zeros.
    let rows = linked(4, |link| {
        let rank = link.rank().0;
        let mut row = vec![10.0 * rank as f32; 3];
        link.average(&mut row, report(rank))?;
        Ok((row, link.counted(Tally::default())))
    });
    let mean = (10.0 + 2.0 * 20.0 + 3.0 * 30.0) / 6.0;
    for (row, counted) in rows {
        assert_eq!(row, [mean; 3]);
        assert_eq!((counted.right, counted.seen), (4, 6));
        assert!((counted.loss - 0.6).abs() < 1e-7, "{}", counted.loss);
    }
}

#[test]
fn a_rank_with_broken_numbers_is_named_by_all_unless_all_are_broken() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let said = linked(3, |link| {
            let value = if link.rank() == Rank(1) { bad } else { 1.0 };
            Ok(link.average(&mut vec![1.0, value], report(2)).unwrap_err().to_string())
        });
        for words in said {
            let named = words.starts_with("the gradients of rank 1 are infinite or not");
            assert!(named, "{words}");
        }
        // Then the loop hears it by the loss.
        let nan = linked(2, |link| {
            link.average(&mut vec![bad], report(2))?;
            Ok(link.counted(Tally::default()).mean_loss().is_nan())
        });
        assert_eq!(nan, [true; 2]);
    }
}

#[test]
fn one_that_is_asked_stops_all_of_them_after_the_same_step() {
    let stopped = linked(3, |link| {
        for steps in 1.. {
            link.average(&mut vec![1.0], report(1))?;
            if link.stops(link.rank() == Rank(2) && steps >= 5) {
                return Ok(steps);
            }
        }
        Ok(0)
    });
    assert_eq!(stopped, [6; 3]);
}
