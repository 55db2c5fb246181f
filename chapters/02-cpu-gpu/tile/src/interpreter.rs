//! Runs a kernel without a card: it reads the text that the library makes of it, Tile IR, and does what each line says, one
//! program after the other. Slow, and strict: a tile that lies outside a tensor, a number that two programs write and an
//! assumption that does not hold are errors. It knows the operations that this crate's kernels need, as NVIDIA's Tile IR
//! specification describes them; f32 is rounded after each, and bf16 where a kernel converts to it.

use crate::{
    catalog::Kernel,
    library::{Result, bf16, tile_ir},
};
use std::rc::Rc;

/// A tile of numbers: f64 holds every f32, bf16 and i32.
#[derive(Clone)]
struct Tile {
    shape: Vec<usize>,
    data: Vec<f64>,
}

/// A tensor in memory, and the tiles that it is cut into.
#[derive(Clone)]
struct View {
    memory: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
    tile: Vec<usize>,
}

#[derive(Clone)]
enum Value {
    Tile(Rc<Tile>),
    View(Rc<View>),
    /// A tensor's place among the kernel's arguments.
    Memory(usize),
    /// The order of reads and writes: here, one after the other.
    Token,
}

/// A line: `%results = name text`, and what stands in braces behind it.
struct Line {
    results: Vec<usize>,
    name: String,
    text: String,
    bodies: Vec<Vec<Line>>,
}

/// The numbers behind the `%` of a text.
fn names(text: &str) -> Vec<usize> {
    let name = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    text.split('%').skip(1).filter_map(name).collect()
}

/// What stands between two marks.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    text.split_once(from)
        .map_or("", |(_, rest)| rest.split_once(to).map_or(rest, |(inside, _)| inside))
}

/// The lines up to the brace that closes them.
fn lines<'t>(text: &mut impl Iterator<Item = &'t str>) -> (Vec<Line>, &'t str) {
    let mut found = Vec::new();
    while let Some(line) = text.next().map(str::trim) {
        if line.starts_with('}') {
            return (found, line);
        }
        if line.is_empty() {
            continue;
        }
        let (results, rest) = match line.split_once(" = ") {
            Some((results, rest)) if line.starts_with('%') => (names(results), rest),
            _ => (Vec::new(), line),
        };
        let mut bodies = Vec::new();
        let mut end = line;
        while end.ends_with('{') {
            let (body, closed) = lines(text);
            bodies.push(body);
            end = closed;
        }
        let (name, text) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        found.push(Line { results, name: name.to_owned(), text: text.to_owned(), bodies });
    }
    (found, "")
}

/// `tile<128x64xf32>`: the sizes, and the element.
fn tile_type(text: &str) -> (Vec<usize>, &str) {
    let inside = between(text, "tile<", ">");
    let (sizes, element) = inside.rsplit_once('x').unwrap_or(("", inside));
    (sizes.split('x').filter_map(|size| size.parse().ok()).collect(), element)
}

fn rounded(value: f64, element: &str) -> f64 {
    match element {
        "f32" => f64::from(value as f32),
        "bf16" => bf16::from_f32(value as f32).to_f64(),
        _ => value,
    }
}

/// Each place of a shape, the last direction first.
fn places(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product()).map(|mut at: usize| {
        let mut place = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            place[axis] = at % shape[axis];
            at /= shape[axis];
        }
        place
    })
}

fn offset(place: &[usize], shape: &[usize]) -> usize {
    place.iter().zip(shape).fold(0, |at, (place, size)| at * size + place)
}

impl Tile {
    fn scalar(value: f64) -> Value {
        Value::Tile(Rc::new(Self { shape: Vec::new(), data: vec![value] }))
    }
}

/// A program that runs: what its names mean, and the memory that all programs share.
struct Program<'m> {
    values: Vec<Option<Value>>,
    block: [usize; 3],
    memory: &'m mut [Vec<f64>],
    /// Of each output, which numbers some program has written.
    written: &'m mut [Vec<bool>],
}

impl Program<'_> {
    fn value(&self, name: usize) -> Result<&Value> {
        self.values.get(name).and_then(Option::as_ref).ok_or_else(|| format!("%{name} is nothing"))
    }

    fn tile(&self, name: usize) -> Result<&Rc<Tile>> {
        match self.value(name)? {
            Value::Tile(tile) => Ok(tile),
            _ => Err(format!("%{name} is no tile")),
        }
    }

    fn view(&self, name: usize) -> Result<Rc<View>> {
        match self.value(name)? {
            Value::View(view) => Ok(view.clone()),
            _ => Err(format!("%{name} is no view")),
        }
    }

    fn number(&self, name: usize) -> Result<usize> {
        Ok(self.tile(name)?.data[0] as usize)
    }

    fn set(&mut self, name: usize, value: Value) {
        if self.values.len() <= name {
            self.values.resize(name + 1, None);
        }
        self.values[name] = Some(value);
    }

    /// The numbers of a list: names, or digits.
    fn list(&self, text: &str) -> Result<Vec<usize>> {
        let one = |part: &str| match part.trim().strip_prefix('%') {
            Some(name) => self.number(name.parse().map_err(|_| format!("`{part}` is no name"))?),
            None => part.trim().parse().map_err(|_| format!("`{part}` is no number")),
        };
        text.split(',').map(one).collect()
    }

    /// Where the numbers of a tile lie in memory; none where the tile reaches beyond an edge.
    fn addresses(view: &View, index: &[usize]) -> Result<Vec<Option<usize>>> {
        for (axis, at) in index.iter().enumerate() {
            if *at >= view.shape[axis].div_ceil(view.tile[axis]) {
                return Err(format!(
                    "tile {index:?} of {:?} lies outside {:?}",
                    view.tile, view.shape
                ));
            }
        }
        let address = |place: Vec<usize>| {
            place.iter().enumerate().try_fold(0, |address, (axis, at)| {
                let at = index[axis] * view.tile[axis] + at;
                (at < view.shape[axis]).then_some(address + at * view.strides[axis])
            })
        };
        Ok(places(&view.tile).map(address).collect())
    }

    /// Runs lines; what they give back is named by the last.
    fn run(&mut self, lines: &[Line]) -> Result<Vec<Value>> {
        for line in lines {
            if ["yield", "continue", "return"].contains(&line.name.as_str()) {
                let names = names(line.text.split(" : ").next().unwrap_or_default());
                return names.into_iter().map(|name| self.value(name).cloned()).collect();
            }
            let results =
                self.line(line).map_err(|why| format!("{}{}: {why}", line.name, line.text))?;
            for (name, value) in line.results.iter().zip(results) {
                self.set(*name, value);
            }
        }
        Ok(Vec::new())
    }

    fn line(&mut self, line: &Line) -> Result<Vec<Value>> {
        let (before, types) = line.text.split_once(" : ").unwrap_or((&line.text, ""));
        let before = before.trim();
        let (shape, element) = tile_type(types.rsplit("-> ").next().unwrap_or(types));
        let operands = names(before);
        let whole =
            |data: Vec<f64>| Ok(vec![Value::Tile(Rc::new(Tile { shape: shape.clone(), data }))]);
        // Number by number.
        let each = |f: &dyn Fn(&[f64]) -> f64| -> Result<Vec<Value>> {
            let tiles: Vec<_> =
                operands.iter().map(|name| self.tile(*name)).collect::<Result<_>>()?;
            if tiles.iter().any(|tile| tile.data.len() != tiles[0].data.len()) {
                return Err("of tiles that differ in size".to_owned());
            }
            let at =
                |at| rounded(f(&tiles.iter().map(|t| t.data[at]).collect::<Vec<_>>()), element);
            whole((0..tiles[0].data.len()).map(at).collect())
        };
        match line.name.as_str() {
            "constant" => {
                let word = between(before, ": ", ">");
                let value: f64 = word.parse().map_err(|_| format!("`{word}` is no number"))?;
                whole(vec![rounded(value, element); shape.iter().product()])
            }
            "assume" => {
                let (value, number) = (self.value(operands[0])?.clone(), self.number(operands[0]));
                let divisor: usize = between(before, "div_by<", ">").parse().unwrap_or(1);
                if matches!(value, Value::Tile(_)) && number? % divisor != 0 {
                    return Err("this does not hold".to_owned());
                }
                Ok(vec![value])
            }
            "make_token" => Ok(vec![Value::Token]),
            "get_tile_block_id" => Ok(self.block.map(|id| Tile::scalar(id as f64)).to_vec()),
            "make_tensor_view" => {
                let Value::Memory(memory) = *self.value(operands[0])? else {
                    return Err("of no tensor".to_owned());
                };
                let shape = self.list(between(before, "shape = [", "]"))?;
                let strides = self.list(between(before, "strides = [", "]"))?;
                Ok(vec![Value::View(Rc::new(View { memory, shape, strides, tile: Vec::new() }))])
            }
            "make_partition_view" => {
                let mut view = (*self.view(operands[0])?).clone();
                let sizes = between(types, "tile=(", ")").split('x');
                view.tile = sizes.filter_map(|size| size.parse().ok()).collect();
                Ok(vec![Value::View(Rc::new(view))])
            }
            "get_index_space_shape" => {
                let view = self.view(operands[0])?;
                let counts =
                    view.shape.iter().zip(&view.tile).map(|(size, tile)| size.div_ceil(*tile));
                Ok(counts.map(|count| Tile::scalar(count as f64)).collect())
            }
            "load_view_tko" => {
                let view = self.view(operands[0])?;
                let addresses = Self::addresses(&view, &self.list(between(before, "[", "]"))?)?;
                let memory = &self.memory[view.memory];
                let read = |address: Option<usize>| address.map_or(0.0, |address| memory[address]);
                let data = addresses.into_iter().map(read).collect();
                Ok(vec![
                    Value::Tile(Rc::new(Tile { shape: view.tile.clone(), data })),
                    Value::Token,
                ])
            }
            "store_view_tko" => {
                let (tile, view) = (self.tile(operands[0])?.clone(), self.view(operands[1])?);
                let addresses = Self::addresses(&view, &self.list(between(before, "[", "]"))?)?;
                for (address, value) in addresses.into_iter().zip(&tile.data) {
                    let Some(address) = address else { continue };
                    if std::mem::replace(&mut self.written[view.memory][address], true) {
                        return Err(format!("number {address} is written twice"));
                    }
                    self.memory[view.memory][address] = *value;
                }
                Ok(vec![Value::Token])
            }
            "reshape" => whole(self.tile(operands[0])?.data.clone()),
            "broadcast" => {
                let tile = self.tile(operands[0])?;
                let from = |place: Vec<usize>| {
                    let place = place.iter().zip(&tile.shape).map(|(at, size)| at % size);
                    tile.data[offset(&place.collect::<Vec<_>>(), &tile.shape)]
                };
                whole(places(&shape).map(from).collect())
            }
            "permute" => {
                let tile = self.tile(operands[0])?;
                let order = self.list(between(before, "[", "]"))?;
                let from = |place: Vec<usize>| {
                    let mut source = place.clone();
                    order.iter().zip(&place).for_each(|(axis, at)| source[*axis] = *at);
                    tile.data[offset(&source, &tile.shape)]
                };
                whole(places(&shape).map(from).collect())
            }
            "iota" => whole((0..shape[0]).map(|at| at as f64).collect()),
            "mmaf" => {
                let [a, b, c] = [0, 1, 2].map(|at| self.tile(operands[at]));
                let (a, b, c) = (a?, b?, c?);
                let (k, n) = (b.shape[0], b.shape[1]);
                let mut sums: Vec<f32> = c.data.iter().map(|sum| *sum as f32).collect();
                let b: Vec<f32> = b.data.iter().map(|value| *value as f32).collect();
                for (at, a) in a.data.iter().enumerate() {
                    let row = &mut sums[at / k * n..][..n];
                    let others = &b[at % k * n..][..n];
                    row.iter_mut().zip(others).for_each(|(sum, b)| *sum += *a as f32 * b);
                }
                whole(sums.into_iter().map(f64::from).collect())
            }
            "for" => {
                let [from, to, step] = self.list(
                    &between(before, "in (", ")").replace(" to ", ",").replace("step ", ""),
                )?[..] else {
                    return Err("from where to where?".to_owned());
                };
                let carried = names(between(line.text.as_str(), "iter_values(", ")"));
                let mut values = Vec::new();
                for pair in carried.chunks(2) {
                    values.push(self.value(pair[1])?.clone());
                }
                for index in (from..to).step_by(step) {
                    self.set(operands[0], Tile::scalar(index as f64));
                    for (pair, value) in carried.chunks(2).zip(values) {
                        self.set(pair[0], value);
                    }
                    values = self.run(&line.bodies[0])?;
                }
                Ok(values)
            }
            "if" => match line.bodies.get(usize::from(self.number(operands[0])? == 0)) {
                Some(body) => self.run(body),
                None => Ok(Vec::new()),
            },
            "select" => each(&|x| if x[0] != 0.0 { x[1] } else { x[2] }),
            "cmpi" => {
                let compared = |x: &[f64]| match before.split(' ').next() {
                    Some("less_than") => x[0] < x[1],
                    _ => x[0] >= x[1],
                };
                let known = ["less_than ", "greater_than_or_equal "];
                if !known.iter().any(|word| before.starts_with(word)) {
                    return Err("an unknown comparison".to_owned());
                }
                each(&|x| f64::from(u8::from(compared(x))))
            }
            "ftof" | "itof" => each(&|x| x[0]),
            "exp" => each(&|x| x[0].exp()),
            "tanh" => each(&|x| x[0].tanh()),
            "addf" | "addi" => each(&|x| x[0] + x[1]),
            "subf" | "subi" => each(&|x| x[0] - x[1]),
            "mulf" | "muli" => each(&|x| x[0] * x[1]),
            "divf" => each(&|x| x[0] / x[1]),
            "maxf" => each(&|x| x[0].max(x[1])),
            _ => Err("this operation is unknown".to_owned()),
        }
    }
}

/// Compiles a kernel for a generation as far as Tile IR, and runs it.
///
/// # Errors
/// If it does not compile, or does what it must not.
pub fn launch(
    kernel: &Kernel,
    target: &str,
    inputs: &[Vec<f32>],
    scalar: Option<f32>,
) -> Result<Vec<Vec<f32>>> {
    run(kernel, &tile_ir(kernel, target)?, inputs, scalar)
}

/// Runs a kernel's text: its outputs, in order, of which NaN is what no program has written.
///
/// # Errors
/// If it does what it must not.
pub fn run(
    kernel: &Kernel,
    ir: &str,
    inputs: &[Vec<f32>],
    scalar: Option<f32>,
) -> Result<Vec<Vec<f32>>> {
    let mut text = ir.lines().skip_while(|line| !line.trim().starts_with("entry @")).skip(1);
    let program = lines(&mut text).0;
    let (mut values, mut memory, mut written) = (Vec::new(), Vec::new(), Vec::new());
    let mut inputs = inputs.iter();
    for (at, argument) in kernel.arguments.iter().enumerate() {
        let size: usize = argument.shape.iter().product();
        values.push(Some(Value::Memory(at)));
        let mut numbers = |sizes: &[usize]| {
            values.extend(sizes.iter().map(|size| Some(Tile::scalar(*size as f64))));
        };
        let strides: Vec<usize> = (1..=argument.shape.len())
            .map(|axis| argument.shape[axis..].iter().product())
            .collect();
        numbers(&argument.shape);
        numbers(&strides);
        if let Some(tile) = &argument.tile {
            numbers(tile);
            numbers(&strides);
            memory.push(vec![f64::NAN; size]);
        } else {
            let input = inputs.next().filter(|input| input.len() == size);
            let input =
                input.ok_or_else(|| format!("{kernel}: {size} numbers for {}", argument.name))?;
            memory.push(input.iter().map(|value| f64::from(*value)).collect());
        }
        written.push(vec![false; size]);
    }
    values.extend(scalar.map(|scalar| Some(Tile::scalar(f64::from(scalar)))));
    let grid = kernel.grid();
    for block in places(&[grid.0 as usize, grid.1 as usize, grid.2 as usize]) {
        let block = [block[0], block[1], block[2]];
        let (memory, written) = (&mut memory[..], &mut written[..]);
        let mut running = Program { values: values.clone(), block, memory, written };
        running.run(&program).map_err(|why| format!("{kernel}, program {block:?}: {why}"))?;
    }
    let outputs = memory.into_iter().zip(&kernel.arguments).filter(|(_, a)| a.tile.is_some());
    Ok(outputs.map(|(memory, _)| memory.into_iter().map(|value| value as f32).collect()).collect())
}
