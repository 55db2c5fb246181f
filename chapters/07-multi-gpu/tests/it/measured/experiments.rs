mod comm;
mod plan;
mod replicas;
