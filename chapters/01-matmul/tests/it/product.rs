mod team;
mod workspace;
