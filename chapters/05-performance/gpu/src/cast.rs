//! A program as launches: what a GPU does for each call, and where each operand lies. No device is needed for it.

use crate::kernels::{Cut, PRODUCT, length};
use cpu_gpu::{Error, Result};
use engine::{
    device::{Device, Implicit, Launch, Macros},
    plan::{Plan, Slot},
    program::{Call, Epilogue, Numbers, Product, Program, Work},
    state,
    tensor::{Place, Tensor},
};

/// A launch with the homes of its operands, and where in each the tensor begins.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The kernel, its macros, numbers and blocks.
    pub launch: Launch,
    /// Its operands.
    pub operands: Vec<(Home, u32)>,
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// One of [`Place::LASTING`].
    Lasting(usize),
    /// The memory that temporaries share.
    Memory,
    /// An output of the program.
    Output(usize),
    /// The sums of a product's slices.
    Parts,
}

/// The launches of a program that was recorded for a GPU, and the words that the slices of its largest product need.
///
/// # Errors
/// A sentence for a call that a GPU can't do, or numbers that are too many.
pub fn launches(program: &Program, plan: &Plan) -> Result<(Vec<Planned>, usize)> {
    length(plan.arena)?;
    let mut cast = Cast { plan, outputs: &program.outputs, parts: 0, all: Vec::new() };
    program.calls.iter().try_for_each(|call| cast.call(call))?;
    Ok((cast.all, cast.parts))
}

/// The launches of a program in the making.
struct Cast<'a> {
    plan: &'a Plan,
    outputs: &'a [Tensor],
    parts: usize,
    all: Vec<Planned>,
}

/// A product with what it is compiled for and what follows it.
struct Task<'a> {
    shape: [usize; 3],
    macros: Macros,
    operands: [Tensor; 3],
    b_step: usize,
    epilogue: &'a Epilogue,
    accumulate: bool,
    /// Numbers of C for each image.
    image: usize,
}

impl Cast<'_> {
    fn call(&mut self, call: &Call) -> Result<()> {
        match &call.work {
            Work::Product(product) => self.product(call, product),
            Work::Rows(rows) => {
                let tensors: Vec<Tensor> = rows.operands.iter().map(|o| o.tensor).collect();
                match &rows.device {
                    Some(Device::Launches(all)) => {
                        all.iter().try_for_each(|launch| self.launch(launch, &tensors))
                    }
                    Some(Device::Product(implicit)) => self.implicit(implicit, &tensors),
                    None => Err(Error::message(format!(
                        "`{}` ({}) has no kernel for a GPU; take --device cpu",
                        call.op.trim(),
                        call.name
                    ))),
                }
            }
        }
    }

    fn home(&self, tensor: Tensor) -> Result<(Home, u32)> {
        let (home, start) = match tensor.place {
            Place::Temporary(id) => match self.outputs.iter().position(|o| o.place == tensor.place)
            {
                Some(at) => (Home::Output(at), 0),
                None => match self.plan.slots[id as usize] {
                    Slot::Arena(start) | Slot::Scratch(start) => (Home::Memory, start),
                },
            },
            place => (Home::Lasting(place.lasting()), 0),
        };
        Ok((home, length(start + tensor.start)?))
    }

    fn add(&mut self, launch: Launch, operands: Vec<(Home, u32)>) {
        self.all.push(Planned { launch, operands });
    }

    fn launch(&mut self, launch: &Launch, tensors: &[Tensor]) -> Result<()> {
        let homes = match &launch.operands {
            Some(some) => some.iter().map(|at| self.home(tensors[*at])).collect(),
            None => tensors.iter().map(|tensor| self.home(*tensor)).collect::<Result<_>>(),
        };
        self.add(launch.clone(), homes?);
        Ok(())
    }

    fn product(&mut self, call: &Call, product: &Product) -> Result<()> {
        let Product { c, a, b, accumulate, numbers, epilogue, units } = product;
        if *numbers != Numbers::F32 {
            return Err(Error::message(format!(
                "`{}`: products of 16-bit numbers are for the CPU; take --device cpu, or --precision f32",
                call.op
            )));
        }
        let ((m, k), (_, n)) = (a.shape(), b.shape());
        let ways = [("A", usize::from(a.transposed)), ("B", usize::from(b.transposed))];
        self.multiply(&Task {
            shape: [m, k, n],
            macros: ways.to_vec(),
            operands: [a.tensor, b.tensor, *c],
            b_step: b.step.unwrap_or(b.tensor.cols),
            epilogue,
            accumulate: *accumulate,
            image: c.words() / units,
        })
    }

    fn implicit(&mut self, implicit: &Implicit, tensors: &[Tensor]) -> Result<()> {
        let Implicit { shape, macros, bias } = implicit;
        let c = tensors[tensors.len() - 1];
        let epilogue = Epilogue { bias: bias.then(|| tensors[2]), ..Epilogue::default() };
        self.multiply(&Task {
            shape: *shape,
            macros: macros.clone(),
            operands: [tensors[0], tensors[1], c],
            b_step: shape[2],
            epilogue: &epilogue,
            accumulate: false,
            image: 0,
        })
    }

    fn multiply(&mut self, task: &Task) -> Result<()> {
        let Task { shape, macros, operands: [a, b, c], b_step, epilogue, accumulate, image } = task;
        let [m, k, n] = *shape;
        let (cut, dropout) = (Cut::of(*shape), epilogue.dropout);
        let split = cut.slices > 1;
        let follows = [
            ("ACCUMULATE", *accumulate),
            ("BIAS", epilogue.bias.is_some()),
            ("RELU", epilogue.relu),
            ("DROPOUT", dropout.is_some()),
        ];
        let mut follows = follows.map(|(name, on)| (name, usize::from(on))).to_vec();
        if dropout.is_some() {
            follows.push(("IMAGE", *image));
        }
        let (below, scale, site) = dropout.map_or((0, 1.0, 0), |d| (d.below, d.scale, d.site));
        let ends =
            |launch: Launch| launch.with(&[below as usize]).real(scale).with(&[site as usize]);
        let [a, b, c, bias, state] =
            [*a, *b, *c, epilogue.bias.unwrap_or(state::tensor()), state::tensor()]
                .map(|tensor| self.home(tensor));
        let (parts, c, bias, state) = ((Home::Parts, 0), c?, bias?, state?);
        let numbers = [length(m)?, length(k)?, length(n)?].map(|number| number as usize);
        let product = Launch::new(PRODUCT, "product", cut.grid(*shape), [16, 16])
            .compiled(&[("EACH", cut.each), ("SPLIT", usize::from(split))])
            .compiled(macros);
        let product = product.compiled(if split { &[] } else { &follows });
        let product = ends(product.with(&numbers).with(&[*b_step, cut.slice]));
        self.add(product, vec![a?, b?, if split { parts } else { c }, bias, state]);
        if split {
            length(cut.slices * m * n)?;
            self.parts = self.parts.max(cut.slices * m * n);
            let macros = [("EACH", 2), ("SPLIT", 1), ("A", 0), ("B", 0)];
            let finish = Launch::each(PRODUCT, "finish", m * n).with(&[cut.slices, n]);
            let finish = ends(finish.compiled(&macros).compiled(&follows));
            self.add(finish, vec![parts, c, bias, state]);
        }
        Ok(())
    }
}
