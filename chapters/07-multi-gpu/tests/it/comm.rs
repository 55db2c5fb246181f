mod algorithm;
mod bench;
mod cost;
mod gpus;
mod nccl;
