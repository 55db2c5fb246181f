mod checkpoint;
mod job;
mod report;
mod size;
mod text;
