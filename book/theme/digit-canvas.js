// <digit-canvas>: write a digit with the pointer or the keyboard, and the reader's own trained model reads it.
//
// The model is in 04-training/digit-model-8.js, which `book build` writes from the latest run, with 8 bits for a weight;
// with 16 and 32 it is beside that. It is asked for when the reader first writes. `data-model-8` and so on name other
// scripts, for the book's tests. What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  const SIDE = 28; // of a picture that the models read
  const WIDE = 1.5; // a digit is at most so many times as wide as it is high: page.rs
  // What a model's training images look like: form.rs. MNIST's, for a script that does not say.
  const MNIST = { source: 'MNIST', paper: 0, ink: 1, side: 20, centre: [14.5, 14.5], turn: 0 };
  const FAINT = 0.1; // below this share of the full ink a pixel is paper
  const PAPER = 280; // the side of what the reader writes on
  const PEN = 11; // the pen's radius on it
  const STEP = 10; // how far an arrow key moves the pen

  // ---- Arithmetic, the same as in chapter 4's crate -------------------------------------------------

  /** The smallest range of columns and rows that holds all ink. */
  function bounds(ink, width, height) {
    let [left, right, top, bottom] = [width, 0, height, 0];
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        if (ink[y * width + x] <= FAINT) continue;
        left = Math.min(left, x); right = Math.max(right, x + 1);
        top = Math.min(top, y); bottom = Math.max(bottom, y + 1);
      }
    }
    return { left, top, width: right - left, height: bottom - top };
  }

  /** For each of `count` equal parts of `length` pixels: the pixels in it, each with its share. */
  function shares(start, length, count) {
    return Array.from({ length: count }, (_, part) => {
      const [from, to] = [part * length, (part + 1) * length];
      const pixels = [];
      for (let at = Math.floor(from / count); at * count < to; at++) {
        const inside = Math.min(to, (at + 1) * count) - Math.max(from, at * count);
        pixels.push([start + at, inside / length]);
      }
      return pixels;
    });
  }

  /** Levels turned: 1 exchanges rows and columns, 2 then mirrors the columns, 4 the rows. */
  function turned(levels, width, height, turn) {
    const [wide, high] = turn & 1 ? [height, width] : [width, height];
    return levels.map((_, at) => {
      const x = turn & 2 ? wide - 1 - at % wide : at % wide;
      const y = turn & 4 ? high - 1 - Math.floor(at / wide) : Math.floor(at / wide);
      return levels[turn & 1 ? x * width + y : y * width + x];
    });
  }

  /** Ink of an upright digit from 0 to 1 as a model's training images have it: form.rs, `frame`. Null if there is no ink. */
  function frame(upright, across, down, form = MNIST) {
    const ink = turned(upright, across, down, form.turn);
    const [width, height] = form.turn & 1 ? [down, across] : [across, down];
    const box = bounds(ink, width, height);
    const longer = Math.max(box.width, box.height);
    if (longer <= 0) return null;
    const scaled = (side) => Math.max(1, Math.round(side * form.side / longer));
    const [wide, high] = [scaled(box.width), scaled(box.height)];
    const columns = shares(box.left, box.width, wide);
    const small = new Float32Array(wide * high);
    shares(box.top, box.height, high).forEach((rows, y) => columns.forEach((column, x) => {
      for (const [row, part] of rows) {
        for (const [at, share] of column) small[y * wide + x] += part * share * ink[row * width + at];
      }
    }));
    let [strongest, mass, column, row] = [FAINT, 0, 0, 0];
    small.forEach((level, at) => {
      strongest = Math.max(strongest, level);
      mass += level;
      column += level * (at % wide + 0.5);
      row += level * (Math.floor(at / wide) + 0.5);
    });
    const start = (axis, centre, side) => Math.min(Math.max(Math.round(form.centre[axis] - centre), 0), SIDE - side);
    const [left, top] = [start(0, column / mass, wide), start(1, row / mass, high)];
    const picture = new Float32Array(SIDE * SIDE).fill(form.paper);
    small.forEach((level, at) => {
      picture[(top + Math.floor(at / wide)) * SIDE + left + at % wide] += level / strongest * (form.ink - form.paper);
    });
    return picture;
  }

  const word = new DataView(new ArrayBuffer(4));
  /** How a weight of so many bits is read. */
  const WEIGHT = {
    8: (view, at) => view.getInt8(at),
    16: (view, at) => { // a bf16 is the upper half of an f32
      word.setUint16(2, view.getUint16(at, true), true);
      return word.getFloat32(0, true);
    },
    32: (view, at) => view.getFloat32(at, true),
  };

  /** The layers of a `digitModel`, with their weights; those of 8 bits times a scale for each row or filter. */
  function layersOf(model) {
    const bytes = Uint8Array.from(atob(model.weights), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    let at = 0;
    const floats = (length) => Float32Array.from({ length }, () => view.getFloat32((at += 4) - 4, true));
    return model.layers.map((layer) => {
      if (layer.kind === 'pool') return layer;
      const conv = layer.kind === 'conv';
      const rows = conv ? layer.filters : layer.units;
      const inputs = conv ? layer.size ** 2 * layer.channels : layer.inputs;
      const scales = model.bits === 8 ? floats(rows) : new Float32Array(rows).fill(1);
      const bias = floats(rows);
      const weights = new Float32Array(rows * inputs);
      for (let i = 0; i < weights.length; i++, at += model.bits / 8) {
        weights[i] = WEIGHT[model.bits](view, at) * scales[Math.floor(i / inputs)];
      }
      return { ...layer, weights, bias };
    });
  }

  /** A weighted sum for each unit. */
  function dense({ inputs, units, relu, weights, bias }, x) {
    return Float32Array.from({ length: units }, (_, unit) => {
      let sum = bias[unit];
      for (let i = 0; i < inputs; i++) sum += weights[unit * inputs + i] * x[i];
      return relu ? Math.max(sum, 0) : sum;
    });
  }

  /** Filters over a square picture with its channels last, and a border of zeros; then ReLU. */
  function conv({ size, pad, channels, filters, weights, bias }, x, side) {
    const out = side + 2 * pad - size + 1;
    const sums = new Float32Array(out * out * filters);
    for (let at = 0; at < sums.length; at++) {
      const filter = at % filters;
      const [top, left] = [Math.floor(at / filters / out) - pad, Math.floor(at / filters) % out - pad];
      let sum = bias[filter];
      for (let place = 0; place < size * size; place++) {
        const [row, column] = [top + Math.floor(place / size), left + place % size];
        if (row < 0 || column < 0 || row >= side || column >= side) continue;
        const weight = (filter * size * size + place) * channels;
        const pixel = (row * side + column) * channels;
        for (let c = 0; c < channels; c++) sum += weights[weight + c] * x[pixel + c];
      }
      sums[at] = Math.max(sum, 0);
    }
    return [sums, out];
  }

  /** The largest of each 2×2 pixels of each channel. */
  function pool(x, side) {
    const [out, channels] = [side / 2, x.length / side ** 2];
    const largest = Float32Array.from({ length: out * out * channels }, (_, at) => {
      const [row, column] = [Math.floor(at / channels / out), Math.floor(at / channels) % out];
      const pixel = (y, z) => x[((2 * row + y) * side + 2 * column + z) * channels + at % channels];
      return Math.max(pixel(0, 0), pixel(0, 1), pixel(1, 0), pixel(1, 1));
    });
    return [largest, out];
  }

  /** The probability of each digit. */
  function probabilities(layers, picture) {
    let [x, side] = [picture, SIDE];
    for (const layer of layers) {
      if (layer.kind === 'conv') [x, side] = conv(layer, x, side);
      else if (layer.kind === 'pool') [x, side] = pool(x, side);
      else x = dense(layer, x);
    }
    const highest = Math.max(...x);
    const powers = Array.from(x, (score) => Math.exp(score - highest));
    const sum = powers.reduce((one, two) => one + two);
    return powers.map((power) => power / sum);
  }

  /** A stroke of the pen from one place to another, with a soft edge. */
  function stroke(ink, [x0, y0], [x1, y1]) {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const range = (a, b) => [Math.max(0, Math.floor(Math.min(a, b) - PEN - 1)), Math.min(PAPER - 1, Math.ceil(Math.max(a, b) + PEN + 1))];
    const [[left, right], [top, bottom]] = [range(x0, x1), range(y0, y1)];
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const along = Math.min(Math.max(((x + 0.5 - x0) * dx + (y + 0.5 - y0) * dy) / (dx * dx + dy * dy || 1), 0), 1);
        const far = Math.hypot(x + 0.5 - x0 - along * dx, y + 0.5 - y0 - along * dy);
        const level = Math.min(Math.max(PEN + 0.5 - far, 0), 1);
        if (level > ink[y * PAPER + x]) ink[y * PAPER + x] = level;
      }
    }
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Widget, model: scripted } = globalThis.throughputWidgets ?? require('./widget.js');

  const here = globalThis.document?.currentScript.src;
  const BITS = [32, 16, 8];
  const MODEL = (bits) => new URL(`../04-training/digit-model-${bits}.js`, here).href;
  const NO_MODEL = 'No trained model yet: run <code>cargo run -- train</code>, then build the book again.';

  /** A model from its script, with its layers; null if there is none. */
  const load = (from) => scripted(from, 'digitModel', (model) => ({ ...model, layers: layersOf(model) }));

  /** What weights of so many bits cost: `97.58% of 10,000 test images right, 103 kB`. */
  function cost({ bits, bytes, tested }) {
    const right = tested?.right[bits];
    const percent = right === undefined ? '' : `${(100 * right / tested.images).toFixed(2)}% of ${tested.images.toLocaleString('en')} test images right, `;
    return `${percent}${Math.round(bytes / 1000)} kB of weights.`;
  }

  const STYLE = `
    .desk { grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), max-content)); gap: 1.6rem 2.4rem; align-items: start; justify-content: center; margin-block: 1.6rem; }
    canvas { display: block; box-sizing: border-box; max-width: 100%; background: var(--surface); border: 1px solid var(--searchbar-border-color, currentColor); border-radius: 4px; }
    .paper { width: 280px; aspect-ratio: 1; touch-action: none; cursor: crosshair; }
    .seen { width: 140px; image-rendering: pixelated; }
    p { margin: 0 0 0.6rem; }
    .hint, .small { color: var(--muted); font-size: 0.9em; max-width: 280px; }
    .status { box-sizing: border-box; width: 280px; max-width: 100%; min-height: 2lh; margin: 0; padding-block-start: 0.6rem; font-weight: 600; }
    button { margin-block: 0.8rem; }
    label { margin-block-start: 1.2rem; width: 140px; }
    .cost { margin-block-start: 0.4rem; width: 160px; min-height: 4.2em; }
    ul { list-style: none; margin: 0; padding: 0; font-variant-numeric: tabular-nums; line-height: 1.35; }
    li { display: grid; grid-template-columns: 1.6rem 12rem 4.5rem; gap: 0.6rem; align-items: center; }
    li span:last-child { text-align: end; }
    li.best { color: var(--accent); font-weight: bold; }
    .bar { height: 0.9em; background: var(--surface); }
    .bar i { display: block; height: 100%; width: 0; background: var(--series-1); }
    .reading { min-width: 0; }
  `;

  class DigitCanvas extends Widget {
    made() {
      const bars = Array.from({ length: 10 }, (_, digit) => `<li><span>${digit}</span><span class="bar"><i></i></span><span></span></li>`);
      this.desk(STYLE, `
        <div><p id="how" class="hint">Write a digit. With the keyboard: arrow keys move the pen, the space bar lowers and lifts it.</p>
          <canvas class="paper" width="${PAPER}" height="${PAPER}" tabindex="0" role="application" aria-label="Paper to write a digit on" aria-describedby="how"></canvas>
          <p class="status" role="status" aria-live="polite">Nothing is written yet.</p>
          <button type="button" class="clear">Clear</button></div>
        <div><p class="small">What the model sees</p>
          <canvas class="seen" width="${SIDE}" height="${SIDE}" role="img" aria-label="The digit in 28 by 28 pixels"></canvas>
          <label class="small">Bits of a weight<select class="bits">${BITS.map((bits) => `<option${bits === 8 ? ' selected' : ''}>${bits}</option>`).join('')}</select></label>
          <p class="small cost"></p></div>
        <div class="reading"><p class="small">How likely each digit is</p><ul>${bars.join('')}</ul></div>`);
      this.paper = this.part('.paper');
      this.pen = { x: PAPER / 2, y: PAPER / 4, down: false, shown: false };
      this.clear();
      this.example();
      const { paper } = this;
      paper.addEventListener('pointerdown', (event) => this.press(event));
      paper.addEventListener('pointermove', (event) => this.move(event));
      for (const end of ['pointerup', 'pointercancel']) paper.addEventListener(end, (event) => this.release(event));
      paper.addEventListener('keydown', (event) => this.key(event));
      paper.addEventListener('blur', () => { this.pen.shown = false; this.pen.down = false; this.draw(); });
      this.part('.clear').addEventListener('click', () => { this.clear(); this.read(true); });
      this.part('.bits').addEventListener('change', () => this.read(true));
      // Ink has the colour of the text, which changes with the theme.
      this.themes = new MutationObserver(() => this.draw());
      this.themes.observe(document.documentElement, { attributeFilter: ['class'] });
    }

    /** What `data-drawn` has, "x,y x,y …" on the paper, until the reader writes: an empty box shows nothing. */
    example() {
      const at = this.dataset.drawn?.split(' ').map((point) => point.split(',').map(Number));
      if (!at) return;
      at.slice(1).forEach((to, before) => stroke(this.ink, at[before], to));
      this.drawn = true;
      this.draw();
      this.sight = new IntersectionObserver(([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        this.sight.disconnect();
        this.read(true);
      });
      this.sight.observe(this);
    }

    disconnectedCallback() {
      this.sight?.disconnect();
      this.themes?.disconnect();
      clearTimeout(this.pause);
    }

    clear() {
      clearTimeout(this.pause);
      this.ink = new Float32Array(PAPER * PAPER);
      this.drawn = false;
      this.pen.down = false;
      this.draw();
    }

    /** Where a pointer is on the paper, whose size on the screen may be another. */
    place(event) {
      const box = this.paper.getBoundingClientRect();
      return [(event.clientX - box.left) * PAPER / box.width, (event.clientY - box.top) * PAPER / box.height];
    }

    press(event) {
      if (event.button !== 0 || this.last) return;
      this.paper.setPointerCapture(event.pointerId);
      this.pen.shown = this.pen.down = false;
      this.pointer = event.pointerId;
      this.write(this.last = this.place(event));
    }

    move(event) {
      if (!this.last || event.pointerId !== this.pointer) return;
      const steps = event.getCoalescedEvents?.() ?? [];
      for (const one of steps.length ? steps : [event]) this.write(this.place(one));
    }

    release(event) {
      if (!this.last || event.pointerId !== this.pointer) return;
      this.last = undefined;
      this.read(true);
    }

    key(event) {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const { pen } = this;
      if (!Widget.pressed(event, { ...moves, ' ': true })) return; // the page must not scroll
      const from = [pen.x, pen.y];
      pen.shown = true;
      if (event.key === ' ') {
        if (!event.repeat) pen.down = !pen.down;
      } else {
        const [dx, dy] = moves[event.key];
        const inside = (at) => Math.min(Math.max(at, 0), PAPER);
        pen.x = inside(pen.x + STEP * dx);
        pen.y = inside(pen.y + STEP * dy);
      }
      if (pen.down) {
        this.last = from;
        this.write([pen.x, pen.y]);
        this.last = undefined;
      }
      this.draw();
    }

    /** Writes from the last place to this one, and reads it before the next picture on the screen. */
    write(to) {
      if (this.drawn) this.clear();
      stroke(this.ink, this.last, to);
      this.last = to;
      clearTimeout(this.pause);
      this.pause = setTimeout(() => this.read(true), 600);
      if (this.due) return;
      this.due = requestAnimationFrame(() => { this.due = undefined; this.draw(); this.read(false); });
    }

    /** Shows the paper. */
    draw() {
      const context = this.paper.getContext('2d');
      shade(context, this.ink, PAPER, this.paper);
      const { x, y, down, shown } = this.pen;
      if (!shown) return;
      context.strokeStyle = getComputedStyle(this.paper).getPropertyValue('--accent') || 'currentColor';
      context.lineWidth = down ? 4 : 2;
      context.beginPath();
      context.arc(x, y, PEN, 0, 2 * Math.PI);
      context.stroke();
    }

    /** Shows what the model sees and reads; `aloud` when the reader has paused. */
    async read(aloud) {
      const turn = this.turn = (this.turn ?? 0) + 1;
      const written = this.ink.some((level) => level > FAINT);
      const bits = this.part('.bits').value;
      const model = written && await load(this.getAttribute(`data-model-${bits}`) ?? MODEL(bits));
      if (turn !== this.turn) return; // something else was written meanwhile
      if (model) this.say('.cost', cost(model));
      const form = (model && model.form) || MNIST;
      const picture = frame(this.ink, PAPER, PAPER, form);
      const seen = this.part('.seen');
      shade(seen.getContext('2d'), picture ?? new Float32Array(SIDE * SIDE), SIDE, seen);
      const box = bounds(this.ink, PAPER, PAPER);
      const wide = box.width > WIDE * box.height;
      const layers = !wide && form.turn !== null && model?.layers;
      const status = this.part('.status');
      const found = layers ? probabilities(layers, picture) : new Array(10).fill(0);
      const best = found.indexOf(Math.max(...found));
      const percent = (share) => `${Math.round(100 * share)}%`;
      this.parts('li').forEach((row, digit) => {
        row.classList.toggle('best', Boolean(layers) && digit === best);
        row.querySelector('i').style.width = `${100 * found[digit]}%`;
        row.lastChild.textContent = layers ? percent(found[digit]) : '';
      });
      if (!picture) status.textContent = 'Nothing is written yet.';
      else if (!model) status.innerHTML = NO_MODEL;
      else if (!aloud) return;
      else if (form.turn === null) status.textContent = `This model learned from other images than digits: ${form.source}.`;
      else if (wide) status.textContent = 'It is far wider than a digit; write one alone.';
      else status.textContent = `It reads a ${best} (${percent(found[best])}).`;
    }
  }

  /** Levels of ink, in the colour of the text. */
  function shade(context, levels, side, canvas) {
    const [red, green, blue] = getComputedStyle(canvas).color.match(/[\d.]+/g).map(Number);
    const image = context.createImageData(side, side);
    levels.forEach((level, at) => image.data.set([red, green, blue, Math.round(255 * level)], 4 * at));
    context.putImageData(image, 0, 0);
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('digit-canvas', DigitCanvas);
  else module.exports = { frame, layersOf, probabilities };
})();
