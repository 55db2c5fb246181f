mod frame;
mod handshake;
mod launch;
mod link;
mod member;
mod run;
mod tcp;
mod watch;
