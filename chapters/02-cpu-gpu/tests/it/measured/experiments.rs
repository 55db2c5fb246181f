mod counts;
mod devices;
mod ladder;
mod lu;
mod truck;
mod wrong;
