mod adamw;
mod batches;
mod clip;
mod run;
mod schedule;
mod trainer;
mod validation;
