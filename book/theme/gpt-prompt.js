// <gpt-prompt>: the reader's own language model continues a text, token after token.
//
// The model is in 09-language-model/gpt-model.js, which `book build` writes from the latest run of `train --model gpt`, with
// 8 bits for a weight. It is asked for when the reader first lets it write. `data-model` names another script, for the book's
// tests. What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  const LONGEST = 64; // bytes of a chunk
  const EPSILON = 1e-5; // of the norms
  const BASE = 10_000; // of the rotary angles

  // ---- Text as tokens, as in chapter 9's tokenizer.rs and chunks.rs --------------------------------

  const [LETTER, DIGIT, SPACE, BREAK, SIGN] = [0, 1, 2, 3, 4];
  const CLASSES = Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte > 127 || /[a-z]/i.test(String.fromCharCode(byte))) return LETTER;
    if (byte >= 48 && byte <= 57) return DIGIT;
    if (byte === 32 || byte === 9) return SPACE;
    return byte === 10 || byte === 13 ? BREAK : SIGN;
  });

  /** The length of the first chunk of some bytes, `LONGEST` at most. */
  function chunk(bytes) {
    const is = (at) => CLASSES[bytes[at]];
    const run = (from, ...classes) => {
      while (from < bytes.length && classes.includes(is(from))) from++;
      return from;
    };
    const [first, second] = [is(0), is(1)];
    if (first === LETTER || ((first === SPACE || first === SIGN) && second === LETTER)) return run(1, LETTER, DIGIT);
    if (first === DIGIT) return Math.min(run(1, DIGIT), 3);
    if (first === BREAK) return run(1, BREAK, SPACE);
    const sign = first === SIGN || second === SIGN;
    const end = run(1, sign ? SIGN : SPACE);
    if (!sign && end === 1) return 1;
    if (is(end) === BREAK) return run(end, BREAK, SPACE);
    return sign || end === bytes.length ? end : end - 1;
  }

  class Tokenizer {
    /** The merges, one pair after the other. */
    constructor(merges) {
      this.bytes = Array.from({ length: 256 }, (_, byte) => [byte]);
      const known = new Map(this.bytes.map((bytes, token) => [bytes.join(), token]));
      this.joined = new Map();
      for (let rank = 0; 2 * rank < merges.length; rank++) {
        const [a, b] = merges.slice(2 * rank, 2 * rank + 2);
        const bytes = [...this.bytes[a], ...this.bytes[b]];
        if (!known.has(bytes.join())) {
          known.set(bytes.join(), this.bytes.length);
          this.bytes.push(bytes);
        }
        this.joined.set(`${a},${b}`, [rank, known.get(bytes.join())]);
      }
      this.end = this.bytes.length; // of a text
      this.bytes.push([]);
    }

    encode(bytes) {
      const tokens = [];
      for (let from = 0; from < bytes.length;) {
        const to = from + chunk(bytes.subarray(from, from + LONGEST));
        tokens.push(...this.merge([...bytes.subarray(from, to)]));
        from = to;
      }
      return tokens;
    }

    /** Joins the neighbours that were learned first, until no two are in the list. */
    merge(tokens) {
      for (;;) {
        let [least, place, made] = [Infinity, 0, 0];
        for (let at = 0; at + 1 < tokens.length; at++) {
          const [rank, token] = this.joined.get(`${tokens[at]},${tokens[at + 1]}`) ?? [Infinity, 0];
          if (rank < least) [least, place, made] = [rank, at, token];
        }
        if (least === Infinity) return tokens;
        tokens.splice(place, 2, made);
      }
    }
  }

  // ---- The model, as in decoder.rs and quantise.rs -------------------------------------------------

  /** A product of a matrix and a row: of each output the weights, whole numbers, times the row, times its scale. */
  function product({ inputs, scales, weights }, x, to) {
    for (let out = 0, at = 0; out < to.length; out++) {
      let a = 0, b = 0, c = 0, d = 0, i = 0; // four sums: each addition waits for the one before
      for (; i + 3 < inputs; i += 4, at += 4) {
        a += weights[at] * x[i];
        b += weights[at + 1] * x[i + 1];
        c += weights[at + 2] * x[i + 2];
        d += weights[at + 3] * x[i + 3];
      }
      for (; i < inputs; i++, at++) a += weights[at] * x[i];
      to[out] = (a + b + c + d) * scales[out];
    }
  }

  /** A row over the root of its mean square, times the scales. */
  function norm(scales, x, to) {
    let squares = 0;
    for (let i = 0; i < x.length; i++) squares += x[i] * x[i];
    const factor = 1 / Math.sqrt(squares / x.length + EPSILON);
    for (let i = 0; i < x.length; i++) to[i] = x[i] * factor * scales[i];
  }

  class Decoder {
    /** The model of a `gptModel`. */
    constructor({ config, weights }) {
      const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      let at = 0;
      const floats = (length) => Float32Array.from({ length }, () => view.getFloat32((at += 4) - 4, true));
      const matrix = (inputs, outputs) => {
        const scales = floats(outputs);
        at += inputs * outputs;
        return { inputs, scales, weights: new Int8Array(bytes.buffer, at - inputs * outputs, inputs * outputs) };
      };
      const { vocabulary, context, width, heads, layers, hidden } = this.config = config;
      this.embedding = matrix(width, vocabulary);
      this.layers = Array.from({ length: layers }, () => ({
        norm1: floats(width), qkv: matrix(width, 3 * width), out: matrix(width, width),
        norm2: floats(width), gateUp: matrix(width, 2 * hidden), down: matrix(hidden, width),
        keys: new Float32Array(context * width), values: new Float32Array(context * width),
      }));
      this.norm = floats(width);
      const half = width / heads / 2;
      const angle = (at) => Math.floor(at / half) * BASE ** (-(at % half) / half);
      this.cosines = Float32Array.from({ length: context * half }, (_, at) => Math.cos(angle(at)));
      this.sines = Float32Array.from({ length: context * half }, (_, at) => Math.sin(angle(at)));
      const buffer = (length) => new Float32Array(length);
      Object.assign(this, { x: buffer(width), normed: buffer(width), sum: buffer(width), qkv: buffer(3 * width) });
      Object.assign(this, { gateUp: buffer(2 * hidden), inner: buffer(hidden), logits: buffer(vocabulary), scores: buffer(context) });
    }

    /** Reads a token at a position, after those before it. The scores of the next one, if they are asked for. */
    read(token, position, scored) {
      const { x, normed, sum, qkv, gateUp, inner, embedding, config: { width, hidden } } = this;
      for (let i = 0; i < width; i++) x[i] = embedding.weights[token * width + i] * embedding.scales[token];
      for (const layer of this.layers) {
        norm(layer.norm1, x, normed);
        product(layer.qkv, normed, qkv);
        this.attend(layer, position);
        product(layer.out, normed, sum);
        for (let i = 0; i < width; i++) x[i] += sum[i];
        norm(layer.norm2, x, normed);
        product(layer.gateUp, normed, gateUp);
        for (let i = 0; i < hidden; i++) inner[i] = gateUp[i] / (1 + Math.exp(-gateUp[i])) * gateUp[hidden + i];
        product(layer.down, inner, sum);
        for (let i = 0; i < width; i++) x[i] += sum[i];
      }
      if (!scored) return null;
      norm(this.norm, x, normed);
      product(embedding, normed, this.logits);
      return this.logits;
    }

    /** What each head finds at the positions so far: in `normed`, side by side. Keys and values stay for later ones. */
    attend({ keys, values }, position) {
      const { qkv, normed, scores, cosines, sines, config: { width, heads } } = this;
      const [size, half] = [width / heads, width / heads / 2];
      for (let head = 0; head < 2 * width; head += size) { // queries and keys turn with their position
        for (let i = 0; i < half; i++) {
          const cos = cosines[position * half + i], sin = sines[position * half + i];
          const low = qkv[head + i], high = qkv[head + half + i];
          qkv[head + i] = low * cos - high * sin;
          qkv[head + half + i] = low * sin + high * cos;
        }
      }
      keys.set(qkv.subarray(width, 2 * width), position * width);
      values.set(qkv.subarray(2 * width), position * width);
      for (let head = 0; head < width; head += size) {
        let highest = -Infinity, all = 0;
        for (let at = 0; at <= position; at++) {
          let score = 0;
          for (let i = head; i < head + size; i++) score += qkv[i] * keys[at * width + i];
          scores[at] = score / Math.sqrt(size);
          if (scores[at] > highest) highest = scores[at];
        }
        for (let at = 0; at <= position; at++) all += scores[at] = Math.exp(scores[at] - highest);
        normed.fill(0, head, head + size);
        for (let at = 0; at <= position; at++) {
          const weight = scores[at] / all;
          for (let i = head; i < head + size; i++) normed[i] += weight * values[at * width + i];
        }
      }
    }
  }

  // ---- From scores to a token, as in sampling.rs and sequence.rs -----------------------------------

  const STEP = 0x9e3779b97f4a7c15n;
  const wrapped = (number) => BigInt.asUintN(64, number);
  function mix(z) {
    z = wrapped((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = wrapped((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }

  /** The token to which `chance` falls, by the scores of all. */
  function draw(scores, { temperature, topK, topP }, chance) {
    let best = 0;
    scores.forEach((score, token) => { if (score > scores[best]) best = token; });
    if (temperature === 0) return best;
    let candidates = Array.from(scores, (score, token) => [Math.exp(Math.fround(score - scores[best]) / temperature), token]);
    const sum = () => candidates.reduce((sum, [weight]) => sum + weight, 0);
    const cut = topK > 0 && topK < candidates.length;
    if (cut || topP < 1) candidates.sort(([a, one], [b, other]) => b - a || one - other);
    if (cut) candidates = candidates.slice(0, topK);
    if (topP < 1) {
      let left = topP * sum();
      const last = candidates.findIndex(([weight]) => (left -= weight) <= 0);
      if (last >= 0) candidates = candidates.slice(0, last + 1);
    }
    let left = chance * sum();
    return (candidates.find(([weight]) => (left -= weight) < 0) ?? candidates.at(-1))[1];
  }

  /** A text that a model continues. */
  class Writer {
    constructor(decoder, tokenizer, prompt, how) {
      Object.assign(this, { decoder, tokenizer, how, read: 0, forgotten: false });
      this.state = mix(wrapped((BigInt(how.seed) * 0xd1b54a32d192ed03n) + STEP));
      this.window = tokenizer.encode(prompt);
      if (this.window.length === 0) this.window.push(tokenizer.end);
      this.slide();
    }

    /** Where the window exceeds the context, its last half remains, and is read again. */
    slide() {
      const { context } = this.decoder.config;
      if (this.window.length <= context) return;
      this.window = this.window.slice(-Math.floor(context / 2));
      this.read = 0;
      this.forgotten = true;
    }

    /** The next token; null at the end of the text. */
    next() {
      let scores;
      for (; this.read < this.window.length; this.read++) {
        scores = this.decoder.read(this.window[this.read], this.read, this.read + 1 === this.window.length);
      }
      this.state = wrapped(this.state + STEP);
      const token = draw(scores, this.how, Number(mix(this.state) >> 11n) / 2 ** 53);
      if (token === this.tokenizer.end) return null;
      this.window.push(token);
      this.slide();
      return token;
    }
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Widget, model: scripted } = globalThis.throughputWidgets ?? require('./widget.js');

  const here = globalThis.document?.currentScript.src;
  const NO_MODEL = 'No language model of yours yet; below is what the book’s wrote. Run <code>cargo run -- train --model gpt</code>, then build the book again.';
  const TOKENS = 256; // of a text
  const SLICE = 30; // ms of work before the page may do something else

  /** The model of a script, ready to write; null if there is none. */
  const load = (from) => scripted(from, 'gptModel', (model) => ({ ...model, decoder: new Decoder(model), tokenizer: new Tokenizer(model.merges) }));

  /** What a model is: `0.94 million weights in 8 bits, trained for 10 minutes: 1.29 bits per byte of code it has not seen.` */
  function about({ parameters, trained }) {
    const learned = trained ? `, trained for ${Math.max(1, Math.round(trained.seconds / 60))} min: ${trained.bits_per_byte.toFixed(2)} bits per byte of code that it has not seen` : '';
    return `${(parameters / 1e6).toFixed(2)} million weights in 8 bits${learned}.`;
  }

  const STYLE = `
    textarea, .text { box-sizing: border-box; width: 100%; margin: 0; padding: 0.8rem; font: 0.875em/1.45 var(--mono-font, ui-monospace, monospace); color: var(--fg); border: 1px solid var(--searchbar-border-color, currentColor); border-radius: 4px; }
    textarea { background: var(--bg); resize: vertical; }
    .text { background: var(--surface); min-height: 9em; max-height: 26em; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
    .text span:first-child { color: var(--muted); }
    .controls { align-items: end; justify-content: start; }
    .controls input { width: 9rem; }
    .status { margin: 0; min-height: 1.6em; }
    /* Until it has written, what was recorded shows below. */
    :host { display: grid; min-width: 0; }
    slot { display: block; min-width: 0; order: 1; }
    :host([wrote]) slot, :host(:not([wrote])) .text { display: none; }
    @media print { slot { display: block !important; } }
  `;
  const field = (name, label, most, step, value) => `<label>${label}<input class="${name}" type="number" min="0" max="${most}" step="${step}" value="${value}"></label>`;

  class GptPrompt extends Widget {
    made() {
      this.desk(STYLE, `
        <label>Prompt<textarea rows="3" maxlength="4000" spellcheck="false" autocapitalize="off">fn main() {\n</textarea></label>
        <div class="controls">
          ${field('temperature', 'Temperature', 5, 0.1, 0.8)}
          ${field('top-k', 'Top-k (0: all)', 1000, 1, 0)}
          ${field('seed', 'Seed', 4294967295, 1, 1)}
          <button type="button" class="write">Write</button>
          <button type="button" class="stop" aria-disabled="true">Stop</button>
        </div>
        <div class="text" role="group" aria-label="Prompt and text" tabindex="0"><span></span><span></span></div>
        <p class="status" role="status" aria-live="polite">The model is fetched when it is to write.</p>`);
      this.turn = 0;
      this.on('.write', 'click', () => this.write());
      this.on('.stop', 'click', () => this.stop());
      this.on('textarea', 'keydown', (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        this.write();
      });
    }

    disconnectedCallback() { this.stop(); }

    stop() {
      this.turn++;
      if (this.busy) this.busy(); // says how far it came
      this.busy = undefined;
      this.part('.stop').setAttribute('aria-disabled', true);
    }

    /** The number in a field, within its limits, which the field then shows. */
    number(name) {
      const field = this.part(`.${name}`);
      const asked = Number.isFinite(field.valueAsNumber) ? field.valueAsNumber : Number(field.defaultValue);
      const inside = Math.min(Math.max(asked, field.min), field.max);
      return Number(field.value = Number(field.step) === 1 ? Math.round(inside) : inside);
    }

    async write() {
      this.stop();
      const { turn } = this;
      const how = { temperature: this.number('temperature'), topK: this.number('top-k'), topP: 0.95, seed: this.number('seed') };
      const prompt = this.part('textarea').value;
      const [before, after] = this.parts('.text span');
      before.textContent = prompt;
      after.textContent = '';
      this.say('.status', 'The model is being fetched …');
      const model = await load(this.getAttribute('data-model') ?? new URL('../09-language-model/gpt-model.js', here).href);
      if (turn !== this.turn) return; // something else is wanted by now
      this.toggleAttribute('wrote', Boolean(model));
      if (!model) {
        this.part('.status').innerHTML = NO_MODEL;
        return;
      }
      this.say('.status', 'It writes …');
      const writer = new Writer(model.decoder, model.tokenizer, new TextEncoder().encode(prompt), how);
      const text = new TextDecoder('utf-8', { ignoreBOM: true });
      const began = performance.now();
      let [made, ended] = [0, false];
      this.busy = () => {
        const seconds = (performance.now() - began) / 1000;
        const why = ended ? 'it ended the text' : made === TOKENS ? 'no more are asked for' : 'stopped';
        const rate = made ? `, ${(made / seconds).toFixed(0)} a second on this machine` : '';
        const forgot = writer.forgotten ? ' It has forgotten the beginning, which is further back than its context.' : '';
        this.say('.status', `${made} tokens${rate}; ${why}.${forgot} ${about(model)}`);
      };
      this.part('.stop').removeAttribute('aria-disabled');
      while (turn === this.turn && !ended && made < TOKENS) {
        const until = performance.now() + SLICE;
        let more = '';
        do {
          const token = writer.next();
          ended = token === null;
          if (ended) break;
          made++;
          more += text.decode(Uint8Array.from(model.tokenizer.bytes[token]), { stream: true });
        } while (made < TOKENS && performance.now() < until);
        after.append(more);
        await new Promise((done) => { setTimeout(done); });
      }
      if (turn !== this.turn) return;
      after.append(text.decode());
      this.stop();
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('gpt-prompt', GptPrompt);
  else module.exports = { Tokenizer, Decoder, Writer };
})();
