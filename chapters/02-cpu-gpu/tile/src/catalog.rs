//! The kernels by name: which tensors each takes, of which shapes, and which tile of an output a program owns. All that
//! compiles, launches or counts asks here.

use std::fmt;

/// What a tensor consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Single precision.
    F32,
    /// The upper half of an f32.
    Bf16,
}

/// A tensor that a kernel takes.
#[derive(Clone)]
pub struct Argument {
    /// The parameter's name in the kernel.
    pub name: &'static str,
    /// Its sizes, the last of which lies together in memory.
    pub shape: Vec<usize>,
    /// What it consists of.
    pub element: Element,
    /// What one program owns of an output; inputs are read whole.
    pub tile: Option<Vec<usize>>,
}

/// A kernel for tensors of certain sizes.
#[derive(Clone)]
pub struct Kernel {
    /// The module that it stands in.
    pub module: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// Its generic arguments, in their order.
    pub generics: Vec<String>,
    /// Its tensors, in their order.
    pub arguments: Vec<Argument>,
    /// The text of its file, if it is a reader's and not this crate's.
    pub text: Option<String>,
}

/// What is compiled and counted when nothing else is asked for: kernels with
/// their generic arguments. `TILE` is what [`tile_for`] says.
const TABLE: [(&str, &str); 11] = [
    ("product", "f32 TILE"),
    ("product_nt", "f32 TILE"),
    ("product_tn", "f32 TILE"),
    ("product_tt", "f32 TILE"),
    ("product", "bf16 TILE"),
    ("product_nt", "bf16 TILE"),
    ("product_tn", "bf16 TILE"),
    ("product_tt", "bf16 TILE"),
    ("linear", "TILE 0"),
    ("linear", "TILE 1"),
    ("attention_dq", "64 64 64"),
];

/// The tile of a product. Hopper and Blackwell's large chips multiply numbers in bf16 out of shared memory, and take a
/// large one; elsewhere its parts go through registers, which would not hold them. Ampere loads by threads, not by a unit
/// of its own, so that less is left for f32.
pub fn tile_for(target: &str, element: &str) -> [usize; 3] {
    match (element, target) {
        ("f32", _) if target.starts_with("sm_8") => [64, 64, 16],
        ("f32", _) => [128, 64, 16],
        (_, "sm_90" | "sm_100" | "sm_103") => [128, 256, 64],
        _ => [128, 128, 32],
    }
}

impl Kernel {
    /// A kernel by its name, its generic arguments, and sizes: m, n, k of a product or a layer; heads and
    /// length of attention. What a kernel does not need is ignored.
    ///
    /// # Errors
    /// If there is none of that name, or an argument is no number where one belongs.
    pub fn new(name: &str, generics: &[&str], sizes: [usize; 3]) -> Result<Self, String> {
        let number = |at: usize| -> Result<usize, String> {
            let word = generics.get(at).ok_or_else(|| format!("{name} has more arguments"))?;
            word.parse().map_err(|_| format!("{name}: `{word}` is no number"))
        };
        let element = || match generics.first() {
            Some(&"f32") => Ok(Element::F32),
            Some(&"bf16") => Ok(Element::Bf16),
            _ => Err(format!("{name} begins with a type, f32 or bf16")),
        };
        let input = |name, shape: &[usize], element| Argument {
            name,
            shape: shape.to_vec(),
            element,
            tile: None,
        };
        let output = |name, shape: &[usize], element, tile: &[usize]| Argument {
            tile: Some(tile.to_vec()),
            ..input(name, shape, element)
        };
        let [m, n, k] = sizes;
        let (module, name, count, arguments) = match name {
            "product" | "product_nt" | "product_tn" | "product_tt" => {
                let (name, a, b) = match name {
                    "product" => ("product", [m, k], [k, n]),
                    "product_nt" => ("product_nt", [m, k], [n, k]),
                    "product_tn" => ("product_tn", [k, m], [k, n]),
                    _ => ("product_tt", [k, m], [n, k]),
                };
                let (element, tile) = (element()?, [number(1)?, number(2)?]);
                number(3)?;
                let c = output("c", &[m, n], Element::F32, &tile);
                let module = if name == "product_tn" { name } else { "products" };
                (module, name, 4, vec![c, input("a", &a, element), input("b", &b, element)])
            }
            "linear" => {
                let (tile, _, _) = ([number(0)?, number(1)?], number(2)?, number(3)?);
                let outputs =
                    ["y", "before"].map(|name| output(name, &[m, n], Element::Bf16, &tile));
                let inputs = [
                    input("x", &[m, k], Element::Bf16),
                    input("w", &[n, k], Element::Bf16),
                    input("bias", &[n], Element::Bf16),
                ];
                ("epilogue", "linear", 4, outputs.into_iter().chain(inputs).collect())
            }
            "attention_dq" => {
                let (height, _, d) = (number(0)?, number(1)?, number(2)?);
                let mut arguments = vec![output("dq", &[m, n, d], Element::Bf16, &[1, height, d])];
                arguments.extend(
                    ["q", "k", "v", "dout"].map(|name| input(name, &[m, n, d], Element::Bf16)),
                );
                arguments
                    .extend(["log_sums", "dots"].map(|name| input(name, &[m, n], Element::F32)));
                ("attention_dq", "attention_dq", 3, arguments)
            }
            _ => {
                let mut names: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
                names.sort_unstable();
                names.dedup();
                return Err(format!("there is no kernel `{name}`, only {}", names.join(", ")));
            }
        };
        if generics.len() != count {
            return Err(format!("{name} takes {count} arguments, not {}", generics.len()));
        }
        let generics = generics.iter().map(|word| (*word).to_owned()).collect();
        Ok(Self { module, name, generics, arguments, text: None })
    }

    /// All kernels with the tiles for a generation, for tensors that are `size` long in every direction, attention with
    /// four heads.
    ///
    /// # Panics
    /// If the table is wrong, which its test would say.
    pub fn all(target: &str, size: usize) -> impl Iterator<Item = Self> {
        TABLE.iter().map(move |(name, generics)| {
            let element = generics.split(' ').next().unwrap_or_default();
            let tile = tile_for(target, element).map(|size| size.to_string()).join(" ");
            let generics = generics.replace("TILE", &tile);
            let generics: Vec<&str> = generics.split(' ').collect();
            let sizes = if *name == "attention_dq" { [4, size, 0] } else { [size; 3] };
            Self::new(name, &generics, sizes).expect("the table names kernels")
        })
    }

    /// How many programs there are in each direction: as many as the first output has tiles.
    pub fn grid(&self) -> (u32, u32, u32) {
        let first = &self.arguments[0];
        let tiles = first.tile.iter().flatten().zip(&first.shape);
        let mut count = tiles.map(|(tile, size)| size.div_ceil(*tile) as u32);
        let mut next = || count.next().unwrap_or(1);
        (next(), next(), next())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.generics.join(" "))
    }
}
