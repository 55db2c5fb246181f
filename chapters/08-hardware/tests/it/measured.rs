mod experiments;
mod figures;
