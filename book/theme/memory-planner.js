// <memory-planner>: the memory of a training step on a card, and the one change that makes it fit.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  const { Widget, bytes: text, field, select } = globalThis.throughputWidgets ?? require('./widget.js');

  // ---- The models of chapters 3, 4 and 7, the cards of chapter 8's table, and chapter 7's memory (plan/split.rs), which
  // for one device is chapter 3's. A test of chapter 8's crate holds all of it to the crates;
  // `UPDATE=1 cargo test -p hardware --test memory_planner` writes the next line anew.

  const DATA = {"cards":[{"memory":8000000000.0,"name":"NVIDIA GeForce RTX 4060 Laptop"},{"memory":12000000000.0,"name":"NVIDIA GeForce RTX 3060 12 GB"},{"memory":16000000000.0,"name":"NVIDIA T4"},{"memory":24000000000.0,"name":"NVIDIA GeForce RTX 4090"},{"memory":32000000000.0,"name":"NVIDIA GeForce RTX 5090"},{"memory":48000000000.0,"name":"NVIDIA L40S"},{"memory":80000000000.0,"name":"NVIDIA H100 SXM"},{"memory":141000000000.0,"name":"NVIDIA H200 SXM"},{"memory":180000000000.0,"name":"NVIDIA B200 SXM"},{"memory":192000000000.0,"name":"AMD Instinct MI300X"}],"models":[{"name":"mlp","work":{"inputs":912.0,"kept":1050.0,"largest":784.0,"mostKept":1040.0,"mostParameters":100480.0,"parameters":101770.0,"unrolled":0.0}},{"name":"cnn","work":{"inputs":4848.0,"kept":24666.0,"largest":12544.0,"mostKept":19600.0,"mostParameters":102528.0,"parameters":117066.0,"unrolled":40000.0}},{"name":"vgg16","work":{"inputs":9115136.0,"kept":16776168.0,"largest":3211264.0,"mostKept":4816896.0,"mostParameters":102764544.0,"parameters":138357544.0,"unrolled":28901376.0}},{"name":"gpt-125m","shape":{"layers":12,"sequence":2048,"vocabulary":50257,"width":768}},{"name":"gpt-1.3b","shape":{"layers":24,"sequence":2048,"vocabulary":50257,"width":2048}},{"name":"gpt-7b","shape":{"layers":32,"sequence":2048,"vocabulary":50257,"width":4096}},{"name":"gpt-13b","shape":{"layers":40,"sequence":2048,"vocabulary":50257,"width":5120}},{"name":"gpt-175b","shape":{"layers":96,"sequence":2048,"vocabulary":50257,"width":12288}}]};

  // Bytes of a weight, its gradient, its f32 copy, each number that the optimizer remembers, and a number that is kept.
  const PRECISIONS = {
    f32: { name: 'f32', weight: 4, gradient: 4, master: 0, state: 4, activation: 4 },
    amp: { name: 'AMP: 16 bits, f32 masters', weight: 2, gradient: 2, master: 4, state: 4, activation: 2 },
    bf16: { name: 'bf16 alone, no masters', weight: 2, gradient: 2, master: 0, state: 2, activation: 2 },
  };
  const MOVES = { sgd: 0, momentum: 1, adam: 2 };

  /** What a transformer needs for a sequence: a table of words, equal blocks, scores. */
  function transformer({ layers, width: h, sequence: s, vocabulary: v }) {
    return {
      parameters: (v + s) * h + layers * (12 * h * h + 13 * h) + 2 * h,
      inputs: s + layers * s * h + s * h,
      kept: s + layers * 17 * s * h + s * h + 2 * s * v,
      largest: 4 * s * h,
      unrolled: 0,
      mostParameters: Math.max((v + s) * h, 12 * h * h + 13 * h),
      mostKept: Math.max(17 * s * h, s * h + 2 * s * v),
    };
  }

  /** Bytes on the fullest card. */
  function memory(work, { batch, precision, moves, recompute, pieces, zero, devices }) {
    const p = PRECISIONS[precision];
    const b = Math.ceil(batch / (devices * pieces)); // examples of a piece
    const share = (stage) => work.parameters / (zero >= stage ? devices : 1);
    const kept = recompute ? work.inputs + work.mostKept : work.kept;
    return {
      weights: share(3) * p.weight,
      gradients: share(2) * p.gradient,
      masters: share(1) * p.master,
      optimizer: share(1) * MOVES[moves] * p.state,
      activations: kept * b * p.activation,
      scratch: 2 * (work.largest * b + work.unrolled) * p.activation + (zero === 3 ? 2 * work.mostParameters * p.weight : 0),
    };
  }
  const total = (parts) => Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);

  /** The largest batch that fits; 0 if none does. */
  function largest(work, plan, card) {
    const fits = (batch) => total(memory(work, { ...plan, batch })) <= card;
    let [low, high] = [0, 1];
    while (high < 2 ** 40 && fits(high)) [low, high] = [high, 2 * high];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (fits(middle)) low = middle;
      else high = middle;
    }
    return low;
  }

  const MOST = 1024;

  /** All that can be changed by itself, the cheapest first: each as far as it must, or as far as it goes. */
  function changes(work, plan, card) {
    const fits = (change) => total(memory(work, { ...plan, ...change })) <= card;
    const found = [];
    const first = (list) => { if (list.length) found.push(list.find(fits) ?? list.at(-1)); };
    const doublings = (key, most) => {
      const list = [];
      for (let n = 2 ** (Math.floor(Math.log2(plan[key])) + 1); n <= most; n *= 2) list.push({ [key]: n });
      return list;
    };
    first(doublings('pieces', Math.ceil(plan.batch / plan.devices)));
    if (!plan.recompute) found.push({ recompute: true });
    if (plan.devices > 1) first([1, 2, 3].filter((zero) => zero > plan.zero).map((zero) => ({ zero })));
    if (plan.precision === 'f32') found.push({ precision: 'amp' });
    if (plan.precision !== 'bf16') found.push({ precision: 'bf16' });
    first(['momentum', 'sgd'].filter((moves) => MOVES[moves] < MOVES[plan.moves]).map((moves) => ({ moves })));
    const batch = Math.max(largest(work, plan, card), 1);
    if (batch < plan.batch) found.push({ batch });
    first(doublings('devices', MOST));
    return found.map((change) => ({ change, parts: memory(work, { ...plan, ...change }), fits: fits(change) }));
  }

  // ---- Words and drawing -----------------------------------------------------------------------------

  const count = (n) => n.toLocaleString('en');

  /** A change in words. */
  function words(change) {
    const [[key, value]] = Object.entries(change);
    return {
      pieces: () => `accumulate over ${value} pieces`,
      recompute: () => 'recompute activations',
      zero: () => `ZeRO stage ${value}`,
      precision: () => (value === 'amp' ? 'AMP' : 'bf16 alone'),
      moves: () => (value === 'sgd' ? 'plain SGD' : 'momentum'),
      batch: () => `batch ${count(value)}`,
      devices: () => `${value} devices`,
    }[key]();
  }

  const PARTS = {
    weights: ['weights', 'var(--series-1, #2a52d4)'], gradients: ['gradients', 'var(--series-2, #b04a00)'],
    masters: ['f32 masters', 'var(--series-5, #6b3fa0)'], optimizer: ['optimizer', 'var(--series-3, #00785a)'],
    activations: ['activations', 'var(--series-4, #a3195b)'], scratch: ['scratch', 'var(--muted, #666)'],
  };

  /** Plans as stacked bars over the card's memory, as SVG. */
  function picture(rows, card, width = 640, desc = '') {
    const high = 44;
    const height = rows.length * high + 26;
    const most = Math.max(card, ...rows.map(({ parts }) => total(parts))) * 1.01;
    const px = (bytes) => bytes / most * (width - 4) + 2;
    const out = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="inherit" font-size="13" fill="currentColor">`];
    if (desc) out.push(`<desc>${desc}</desc>`);
    rows.forEach(({ name, parts }, at) => {
      const y = at * high;
      const sum = total(parts);
      out.push(`<text x="2" y="${y + 14}">${name}</text><text x="${width - 2}" y="${y + 14}" text-anchor="end">${text(sum)}, ${sum <= card ? 'fits' : 'does not fit'}</text>`);
      let from = 0;
      for (const [part, bytes] of Object.entries(parts)) {
        const [x, w] = [px(from), bytes / most * (width - 4)];
        const [label, colour] = PARTS[part];
        if (w > 0.2) out.push(`<rect x="${x.toFixed(1)}" y="${y + 20}" width="${Math.max(w - 1, 0.2).toFixed(1)}" height="18" fill="${colour}" fill-opacity="0.3"/><path d="M${x.toFixed(1)} ${y + 38.5}h${Math.max(w - 1, 0.2).toFixed(1)}" stroke="${colour}" stroke-width="3"/>`);
        if (w > 8 * label.length) out.push(`<text x="${(x + w / 2).toFixed(1)}" y="${y + 33}" text-anchor="middle" font-size="12">${label}</text>`);
        from += bytes;
      }
    });
    const [x, right] = [px(card).toFixed(1), px(card) > width / 2];
    out.push(`<path d="${rows.map((_, at) => `M${x} ${at * high + 18}v24`).join('')}V${height - 6}" stroke="currentColor" stroke-width="2"/>`);
    out.push(`<text x="${Number(x) + (right ? -6 : 6)}" y="${height - 8}" text-anchor="${right ? 'end' : 'start'}">the card: ${text(card)}</text>`);
    return `${out.join('\n')}\n</svg>`;
  }

  const START = { batch: 256, precision: 'f32', moves: 'adam', recompute: false, pieces: 1, zero: 0, devices: 1 };
  const CARD = 24 * 2 ** 30;

  /** The bars of a plan, and below it of the changes that make it fit. */
  function rows(work, plan, card, name) {
    const list = [{ name, parts: memory(work, plan) }];
    if (total(list[0].parts) <= card) return list;
    return list.concat(changes(work, plan, card).filter(({ fits }) => fits).map(({ change, parts }) => ({ name: words(change), parts })));
  }

  /** What readers without JavaScript see. */
  function still() {
    const { work } = DATA.models.find(({ name }) => name === 'vgg16');
    const list = rows(work, START, CARD, `VGG16, batch ${START.batch}, f32, Adam`);
    const says = list.map(({ name, parts }) => `${name}: ${text(total(parts))}, of which ${Object.entries(parts).filter(([, bytes]) => bytes > 0).map(([part, bytes]) => `${PARTS[part][0]} ${text(bytes)}`).join(', ')}`);
    return picture(list, CARD, 640, `Stacked bars of memory against a card of ${text(CARD)}. ${says.join('. ')}.`);
  }

  // ---- The page ------------------------------------------------------------------------------------

  const STYLE = `
    .ask { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 46%), 1fr)); gap: 1rem 1.4rem; align-items: end; }
    label:has([name=model], [name=precision], [name=card]) { grid-column: span 2; }
    label { font-size: 0.94em; } button { padding-inline: 1.2rem; }
    label.check { display: flex; align-items: center; gap: 0.8rem; min-height: 3.2rem; }
    label > :is(input, select):not([type=checkbox]) { width: 100%; }
    input[type=checkbox] { flex: none; width: 2.6rem; height: 2.6rem; margin: 0; accent-color: var(--accent); }
    .view svg { display: block; width: 100%; max-width: 90rem; }
    .says { margin: 0; font-weight: 600; }
    .fixes { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: center; }
    dt::before { content: ''; display: inline-block; width: 1em; height: 0.7em; margin-inline-end: 0.5em; background: var(--part); }
  `;

  const OWN = { layers: 'Blocks', width: 'Width', sequence: 'Tokens of an example', vocabulary: 'Words' };
  const doubled = (top) => Array.from({ length: Math.log2(top) + 1 }, (_, i) => [2 ** i, count(2 ** i)]);

  class MemoryPlanner extends Widget {
    made() {
      const models = DATA.models.map(({ name, shape }, at) => [at, `${name}${shape ? `, ${count(shape.sequence)} tokens` : ''}`]);
      this.desk(STYLE, `
        <div class="ask">
          ${select('model', 'Model', [...models, ['own', 'your own transformer']])}
          ${Object.entries(OWN).map(([name, label]) => field(name, label, 'class="own" hidden')).join('')}
          ${field('batch', 'Batch, over all devices')}
          ${select('precision', 'Precision', Object.entries(PRECISIONS).map(([id, { name }]) => [id, name]))}
          ${select('moves', 'Optimizer', [['adam', 'Adam'], ['momentum', 'momentum'], ['sgd', 'plain SGD']])}
          ${select('pieces', 'Pieces to accumulate', doubled(MOST))}
          ${select('devices', 'Devices', doubled(MOST))}
          ${select('zero', 'ZeRO stage', [[0, '0: each holds all'], [1, '1: optimizer cut'], [2, '2: and gradients'], [3, '3: and weights']])}
          <label class="check"><input type="checkbox" name="recompute">Recompute activations</label>
          ${select('card', 'Card', [['own', 'memory as below'], ...DATA.cards.map(({ name }, at) => [at, name])])}
          ${field('gib', 'Memory of the card (GiB)')}
        </div>
        <p id="problem" class="hint" role="status"></p>
        <div class="view"></div>
        <dl class="facts">${Object.entries(PARTS).map(([part, [name, colour]]) => `<div><dt style="--part: ${colour}">${name}</dt><dd class="${part}"></dd></div>`).join('')}</dl>
        <p class="says" role="status"></p>
        <div class="fixes" role="group" aria-label="One change that makes it fit"></div>
        <p class="hint">Of one device, the fullest. A library and the driver need some more: leave room.</p>`);
      this.set({ ...START, gib: CARD / 2 ** 30, model: DATA.models.findIndex(({ name }) => name === 'vgg16'), ...DATA.models.at(-1).shape });
      this.part('.ask').addEventListener('input', (event) => this.changed(event.target));
      this.part('.fixes').addEventListener('click', (event) => {
        if (!event.target.change) return;
        this.set(event.target.change);
        this.draw();
        this.part(`[name=${Object.keys(event.target.change)[0]}]`).focus();
      });
      this.sized('.view', () => this.draw());
      this.draw();
    }

    /** Puts values into the fields. */
    set(values) {
      for (const [name, value] of Object.entries(values)) {
        const input = this.input(name);
        if (!input) continue;
        if (input.type === 'checkbox') input.checked = value;
        else input.value = value;
      }
    }

    changed({ name }) {
      if (name === 'gib') this.set({ card: 'own' });
      const card = DATA.cards[this.input('card').value];
      if (name === 'card' && card) this.set({ gib: Number((card.memory / 2 ** 30).toFixed(2)) });
      this.draw();
    }

    draw() {
      const chosen = (name) => this.input(name).value;
      const [model, known, devices] = [DATA.models[chosen('model')], DATA.cards[chosen('card')], Number(chosen('devices'))];
      this.parts('.own').forEach((label) => { label.hidden = Boolean(model); });
      this.input('zero').disabled = devices === 1;
      const most = 1e12;
      const shape = model ? {} : Object.fromEntries(Object.keys(OWN).map((name) => [name, { most }]));
      const found = this.numbers({ ...shape, batch: { most }, gib: { least: Number.MIN_VALUE, most, whole: false } });
      if (!found) return;
      const work = model?.work ?? transformer(model?.shape ?? found);
      const plan = {
        batch: found.batch, precision: chosen('precision'), moves: chosen('moves'), recompute: this.input('recompute').checked,
        pieces: Number(chosen('pieces')), devices, zero: devices === 1 ? 0 : Number(chosen('zero')),
      };
      const card = known ? known.memory : found.gib * 2 ** 30;
      const parts = memory(work, plan);
      this.facts(Object.fromEntries(Object.entries(parts).map(([part, bytes]) => [part, text(bytes)])));
      this.part('.view').innerHTML = picture(rows(work, plan, card, 'Your plan'), card, Math.round(this.part('.view').clientWidth) || 640);
      this.part('.view svg').setAttribute('aria-hidden', 'true');
      const sum = total(parts);
      const all = changes(work, plan, card);
      const able = all.filter(({ fits }) => fits);
      let says = `It fits: ${text(sum)} of ${text(card)}. The largest batch that does is ${count(largest(work, plan, card))}.`;
      if (sum > card) {
        says = `It does not fit: ${text(sum)}, and the card has ${text(card)}. `;
        const best = all.reduce((one, other) => (!one || total(other.parts) < total(one.parts) ? other : one), undefined);
        if (able.length) says += 'Each of these changes alone makes it fit:';
        else says += best ? `No single change makes it fit; the one that saves most is “${words(best.change)}”, which leaves ${text(total(best.parts))}.` : 'No single change makes it fit.';
      }
      this.say('.says', says);
      this.part('.fixes').replaceChildren(...(sum > card ? able : []).map(({ change }) => Object.assign(document.createElement('button'), { type: 'button', textContent: words(change), change })));
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('memory-planner', MemoryPlanner);
  else module.exports = { DATA, PRECISIONS, MOVES, transformer, memory, total, largest, changes, still };
})();
