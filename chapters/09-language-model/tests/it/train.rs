mod adamw;
mod batches;
mod run;
mod schedule;
mod trainer;
mod validation;
