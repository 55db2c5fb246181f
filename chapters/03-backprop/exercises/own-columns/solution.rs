//! A gradient in which each core has columns of its own.

use std::{ops::Range, thread};

/// `count` things divided among cores: a range for each core, in order, of lengths that differ by one at
/// most. If there are fewer things than cores, each thing is a range.
pub fn ranges(count: usize, cores: usize) -> Vec<Range<usize>> {
    let cores = cores.min(count);
    (0..cores).map(|core| core * count / cores..(core + 1) * count / cores).collect()
}

/// The gradient of a layer's weights, inputs×outputs, on `cores` cores. `part(images, columns)` computes
/// what these images contribute to these columns of it, inputs×columns, and is what takes time: each core
/// calls it once.
///
/// # Errors
/// If a part panics.
pub fn gradient<P>(
    part: &P,
    [batch, inputs, outputs]: [usize; 3],
    cores: usize,
) -> thread::Result<Vec<f32>>
where
    P: Fn(Range<usize>, Range<usize>) -> Vec<f32> + Sync,
{
    let mut sums = vec![0.0; inputs * outputs];
    thread::scope(|scope| {
        // EXERCISE: begin
        let start =
            |columns: Range<usize>| (columns.clone(), scope.spawn(move || part(0..batch, columns)));
        let cores: Vec<_> = ranges(outputs, cores).into_iter().map(start).collect();
        for (columns, core) in cores {
            let part = core.join()?;
            let rows = sums.chunks_mut(outputs).zip(part.chunks(columns.len()));
            rows.for_each(|(sums, part)| sums[columns.clone()].copy_from_slice(part));
        }
        // EXERCISE: instead
        // // Each core has some of the images, and the parts are added up.
        // let start = |images| scope.spawn(move || part(images, 0..outputs));
        // let cores: Vec<_> = ranges(batch, cores).into_iter().map(start).collect();
        // for core in cores {
        //     let part = core.join()?;
        //     sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        // }
        // EXERCISE: end
        Ok(sums)
    })
}
