mod bits;
mod compress;
mod copies;
mod parses;
