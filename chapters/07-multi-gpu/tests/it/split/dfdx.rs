use super::job::batches;
use multi_gpu::split::dfdx::{Task, data_parallel, one_device};
use multi_gpu::{split::equality::difference, split::job::Batch, threads};
use training::model::{CLASSES, PIXELS};
use training::{Model, optimizer::Rule};

const TASKS: [Task; 2] =
    [Task { seed: 4, lr: 0.01, rule: Rule::Sgd }, Task { seed: 4, lr: 1e-3, rule: Rule::Adam }];

fn equal(model: Model, rows: &[usize], ranks: &[usize], steps: usize) {
    let batches = batches(PIXELS, CLASSES, rows, steps);
    for task in TASKS {
        let wanted = one_device(model, task, &batches).unwrap();
        for &ranks in ranks {
            let work = |mut comm| data_parallel(model, task, &batches, &mut comm);
            let found = threads::run(ranks, work).unwrap();
            assert!(found.iter().all(|f| f.parameters == found[0].parameters));
            let off = difference(&wanted, &found[0]);
            let limit = if ranks == 1 { 0.0 } else { 1e-5 };
            assert!(off.parameters <= limit && off.losses <= 1e-5, "{ranks}: {off:?} {task:?}");
        }
    }
}

#[test]
fn replicas_are_one_device() {
    equal(Model::Mlp, &[24, 13], &[1, 3], 20);
    equal(Model::Linear, &[3], &[1, 2, 5], 20); // fewer images than ranks
    equal(Model::Cnn, &[5], &[2], 3);
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let narrow = batches(5, 10, &[4], 1);
    let strange = batches(PIXELS, 100, &[40], 1);
    for batches in [narrow, strange, vec![Batch::default()]] {
        let work = |mut comm| data_parallel(Model::Mlp, TASKS[0], &batches, &mut comm);
        assert!(threads::run(2, work).is_err());
    }
}
