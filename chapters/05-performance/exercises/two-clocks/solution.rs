//! The host's clock and the device's.

/// A call of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Call {
    /// A kernel is put into the device's queue.
    Launch {
        /// Seconds that the kernel takes on the device.
        seconds: f64,
        /// Its operations.
        flops: f64,
    },
    /// The host waits until the device is done with all that was launched.
    Wait,
}

/// What a row of calls takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Seconds until the last call has returned.
    pub returned: f64,
    /// Seconds until the calls have returned and the device is done.
    pub done: f64,
    /// The fraction of these seconds in which a kernel was running.
    pub busy: f64,
    /// The operations, over those of so many seconds at the peak.
    pub mfu: f64,
}

/// What these calls take, if each launch takes the host `launch` seconds and the device has a peak of `peak` FLOP/s.
pub fn times(calls: &[Call], launch: f64, peak: f64) -> Times {
    // EXERCISE: begin
    let (mut host, mut device) = (0.0_f64, 0.0_f64);
    let (mut busy, mut all) = (0.0, 0.0);
    for call in calls {
        match *call {
            Call::Launch { seconds, flops } => {
                host += launch;
                device = device.max(host) + seconds;
                busy += seconds;
                all += flops;
            }
            Call::Wait => host = host.max(device),
        }
    }
    let done = host.max(device);
    let fraction = |seconds: f64| if done > 0.0 { seconds / done } else { 0.0 };
    Times { returned: host, done, busy: fraction(busy), mfu: fraction(all / peak) }
    // EXERCISE: instead
    // // The clock is read when the calls have returned.
    // let (mut returned, mut busy, mut all) = (0.0, 0.0, 0.0);
    // for call in calls {
    //     if let Call::Launch { seconds, flops } = call {
    //         returned += launch;
    //         busy += seconds;
    //         all += flops;
    //     }
    // }
    // Times { returned, done: returned, busy: busy / returned, mfu: all / peak / returned }
    // EXERCISE: end
}
