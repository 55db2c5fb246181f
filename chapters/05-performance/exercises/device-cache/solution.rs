//! A cache of freed device buffers.

/// Memory on a device.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer {
    bytes: usize,
}

impl Buffer {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A device that counts its calls: each waits for everything that the device still computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    left: usize,
    calls: usize,
}

impl Device {
    /// A device with so many bytes of memory.
    pub fn new(bytes: usize) -> Self {
        Self { left: bytes, calls: 0 }
    }

    /// A buffer; `None` if too little memory is left.
    pub fn alloc(&mut self, bytes: usize) -> Option<Buffer> {
        self.calls += 1;
        self.left = self.left.checked_sub(bytes)?;
        Some(Buffer { bytes })
    }

    /// Takes a buffer back.
    #[allow(clippy::needless_pass_by_value, reason = "what was given back is gone")]
    pub fn free(&mut self, buffer: Buffer) {
        self.calls += 1;
        self.left += buffer.bytes;
    }

    /// How often it was called.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Bytes that are not allocated.
    pub fn left(&self) -> usize {
        self.left
    }
}

/// Buffers that were given back.
#[derive(Debug, Default)]
pub struct Cache {
    kept: Vec<Buffer>,
}

impl Cache {
    /// Bytes that it holds and that are not in use.
    pub fn held(&self) -> usize {
        self.kept.iter().map(Buffer::bytes).sum()
    }

    /// The smallest kept buffer with at least `bytes` and at most twice as many, or a new one of `bytes`. If the device
    /// is full, all that is kept goes back to it before a second try; `None` if that fails too.
    pub fn take(&mut self, device: &mut Device, bytes: usize) -> Option<Buffer> {
        // EXERCISE: begin
        let fits = |kept: &Buffer| (bytes..=2 * bytes).contains(&kept.bytes);
        let fitting = self.kept.iter().enumerate().filter(|(_, kept)| fits(kept));
        if let Some((at, _)) = fitting.min_by_key(|(_, kept)| kept.bytes) {
            return Some(self.kept.swap_remove(at));
        }
        device.alloc(bytes).or_else(|| {
            self.kept.drain(..).for_each(|kept| device.free(kept));
            device.alloc(bytes)
        })
        // EXERCISE: instead
        // device.alloc(bytes)
        // EXERCISE: end
    }

    /// Takes back a buffer that came from [`Cache::take`].
    #[allow(unused_variables, reason = "whether the device is called is the exercise")]
    pub fn give(&mut self, device: &mut Device, buffer: Buffer) {
        // EXERCISE: begin
        self.kept.push(buffer);
        // EXERCISE: instead
        // // Nothing is kept.
        // device.free(buffer);
        // EXERCISE: end
    }
}
