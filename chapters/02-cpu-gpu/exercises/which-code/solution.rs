//! Does a program start on this card, with this driver?

/// A version of CUDA, or a compute capability: its two numbers.
pub type Version = (u32, u32);

/// A piece of code in a program, for a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Machine code.
    Machine(Version),
    /// PTX, as the program's toolkit writes it.
    Ptx(Version),
    /// Machine code for one capability alone, as for `sm_90a`.
    Only(Version),
}

/// A program as it is shipped.
#[derive(Clone, Debug)]
pub struct Program {
    /// The version of the toolkit that built it.
    pub toolkit: Version,
    /// What it contains.
    pub code: Vec<Code>,
}

/// How a program starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// By its machine code.
    AtOnce,
    /// By its PTX, which the driver compiles first.
    Compiled,
}

/// Why it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The toolkit's major version is newer than the driver's.
    OldDriver,
    /// Nothing in it fits the card.
    NoCode,
    /// Only PTX fits the card, and it is newer than the driver.
    NewPtx,
}

/// How a program starts on a card of this compute capability, under a driver for this version of CUDA.
///
/// # Errors
/// Why it does not start.
pub fn start(program: &Program, card: Version, driver: Version) -> Result<Start, Refused> {
    let has = |fits: &dyn Fn(&Code) -> bool| program.code.iter().any(fits);
    // EXERCISE: begin
    if program.toolkit.0 > driver.0 {
        return Err(Refused::OldDriver);
    }
    let machine = |code: &Code| match *code {
        Code::Machine(x) => x.0 == card.0 && x.1 <= card.1,
        Code::Only(x) => x == card,
        Code::Ptx(_) => false,
    };
    if has(&machine) {
        Ok(Start::AtOnce)
    } else if !has(&|code| matches!(code, Code::Ptx(x) if *x <= card)) {
        Err(Refused::NoCode)
    } else if program.toolkit <= driver {
        Ok(Start::Compiled)
    } else {
        Err(Refused::NewPtx)
    }
    // EXERCISE: instead
    // // The code for the card alone: no driver is asked.
    // let _ = (driver, program.toolkit);
    // if has(&|code| matches!(code, Code::Machine(x) if x.0 == card.0)) {
    //     Ok(Start::AtOnce)
    // } else if has(&|code| matches!(code, Code::Ptx(_) | Code::Only(_))) {
    //     Ok(Start::Compiled)
    // } else {
    //     Err(Refused::NoCode)
    // }
    // EXERCISE: end
}
