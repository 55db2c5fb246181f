//! The notebooks: pages that run.
