// <gpt-count>: a language model counted from its sizes, and the time to train it on this machine and on known cards.
//
// What stands in the element is for readers without JavaScript, and for paper. It holds one measured rate: operations a
// second of a training here.
(() => {
  'use strict';

  // ---- The formulas of chapter 9's crate (count.rs), and for cards those of chapter 8's (job.rs, calculator.rs), whose
  // table has these cards. A test of chapter 9's crate holds all of it to the crates;
  // `UPDATE=1 cargo test -p language_model --test it gpt_count` writes the next line anew.

  const DATA = {"cards":[{"bandwidth":1008000000000.0,"bytes":2.0,"compute":[0.3268765133171913,0.6598062953995157],"copy":[0.9285714285714286,0.9285714285714286],"format":"bf16","id":"rtx-4090","memory":24000000000.0,"name":"NVIDIA GeForce RTX 4090","peak":165200000000000.0},{"bandwidth":3350000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"h100","memory":80000000000.0,"name":"NVIDIA H100 SXM","peak":989000000000000.0},{"bandwidth":4800000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"h200","memory":141000000000.0,"name":"NVIDIA H200 SXM","peak":989000000000000.0},{"bandwidth":8000000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"b200","memory":180000000000.0,"name":"NVIDIA B200 SXM","peak":2250000000000000.0}],"launch":[5e-7,6.7e-6]};

  /** Hidden units: 8/3 of the width, a multiple of 32, as `near` has it. */
  const hiddenOf = (width) => Math.ceil(Math.floor(width * 8 / 3) / 32) * 32;

  /** Parameters, by where they are. */
  function parameters({ vocabulary, width, layers, hidden }) {
    return {
      embedding: vocabulary * width,
      attention: layers * 4 * width * width,
      feedForward: layers * 3 * width * hidden,
      norms: (2 * layers + 1) * width,
    };
  }
  const sum = (parts) => Object.values(parts).reduce((all, part) => all + part, 0);

  /** Operations of the products for one token of a sequence of so many, forward. */
  function operations(config, tokens) {
    const parts = parameters(config);
    return { weights: 2 * (sum(parts) - parts.norms), attention: config.layers * (tokens + 1) / 2 * 4 * config.width };
  }
  /** Forward and backward. */
  const training = ({ weights, attention }) => 3 * (weights + attention);
  const attentionShare = ({ weights, attention }) => attention / (weights + attention);

  /** Bytes of a training step in f32 on `batch` sequences of `tokens`, but for what a group of sequences needs inside a layer. */
  function bytes(config, batch, tokens) {
    const { width, heads, layers, hidden } = config;
    const model = 4 * sum(parameters(config));
    return {
      parameters: model,
      gradient: model,
      moments: 2 * model,
      activations: 4 * batch * tokens * (layers * (6 * width + heads + 2 * hidden) + 2 * width + 1),
    };
  }

  /** Bytes of keys and values of a sequence. */
  const cache = ({ layers, width }, tokens) => 2 * layers * width * tokens * 4;

  /** Tokens for each parameter that make the best of a budget. */
  const TOKENS_PER_PARAMETER = 20;

  /** Seconds of 6·N·D operations on a card, in the best case and in the worst; null if the training does not fit. */
  function onCard(card, config, batch, tokens) {
    const n = sum(parameters(config));
    const step = batch * config.context;
    const kept = config.layers * Math.sqrt(n / (12 * config.layers)); // activations are computed again: few are kept
    if (16 * n + card.bytes * kept * step > card.memory) return null;
    const traffic = (28 + 3 * card.bytes) * n + 4 * card.bytes * kept * step;
    const run = (compute, copy, launch) => Math.ceil(tokens / step)
      * (Math.max(6 * n * step / (compute * card.peak), traffic / (copy * card.bandwidth)) + 60 * config.layers * launch);
    return [run(card.compute[1], card.copy[1], DATA.launch[0]), run(card.compute[0], card.copy[0], DATA.launch[1])];
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Widget, bytes: size, facts, field, select, superscript } = globalThis.throughputWidgets ?? require('./widget.js');

  const PRESETS = {
    tiny: { name: 'tiny', vocabulary: 1024, context: 128, width: 128, heads: 4, layers: 4, batch: 16 },
    small: { name: 'small', vocabulary: 2048, context: 256, width: 256, heads: 8, layers: 6, batch: 16 },
    gpt2: { name: 'GPT-2', vocabulary: 50257, context: 1024, width: 768, heads: 12, layers: 12, batch: 16 },
    '7b': { name: 'about 7 B', vocabulary: 32000, context: 4096, width: 4096, heads: 32, layers: 32, batch: 4 },
  };
  const FIELDS = {
    layers: ['Layers', 1024], width: ['Width', 65536], heads: ['Heads', 1024], context: ['Context, tokens', 1048576],
    vocabulary: ['Vocabulary, tokens', 16777216], batch: ['Sequences of a step', 1048576], tokens: ['Tokens of the training', 1e15],
  };
  const PARTS = { embedding: ['table of tokens', '--series-1, #2a52d4'], attention: ['attention', '--series-2, #b04a00'], feedForward: ['feed-forward', '--series-3, #00785a'], norms: ['normalisations', '--muted, #666'] };
  const RESULTS = {
    parameters: 'Parameters N', hidden: 'Hidden units', rule: 'Operations, 6·N·D', exact: 'Operations with attention', share: 'Attention’s part of them', longer: 'At 4, 16 and 64 times the context',
    model: 'Parameters and gradient, f32', moments: 'AdamW’s two means', activations: 'Activations of a step', cache: 'KV cache of a context, f32', here: 'Training on this machine',
  };

  /** A count for people: 5.34 million. */
  function count(n) {
    const units = ['', ' thousand', ' million', ' billion', ' trillion'];
    let at = 0;
    for (; at + 1 < units.length && n >= 999.5; at += 1) n /= 1000;
    return n >= 1000 ? power(n * 1000 ** at) : `${Number(n.toPrecision(3))}${units[at]}`;
  }
  function power(n) {
    const [digits, exponent] = n.toExponential(2).split('e+');
    return `${digits}·10${superscript(exponent)}`;
  }
  /** Seconds for people, or a range of them in the unit of the larger end. */
  function time(...ends) {
    const units = [['s', 1], ['min', 60], ['h', 3600], ['days', 86400], ['years', 365.25 * 86400]];
    const [unit, of] = units.findLast(([, from]) => ends.at(-1) >= 1.5 * from) ?? units[0];
    const texts = ends.map((seconds) => seconds / of).map((n) => (n >= 1000 ? count(n) : Number(n.toPrecision(3))));
    return `${texts.join(' to ')}\u00a0${unit}`;
  }

  const STYLE = `
    .ask { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(14rem, 46%), 1fr)); gap: 1rem 1.4rem; align-items: end; }
    label { font-size: 0.94em; } label > :is(input, select) { width: 100%; } .fit { align-self: end; }
    .bar { display: flex; height: 1.8rem; border: 1px solid var(--searchbar-border-color, currentColor); }
    .bar span { background: var(--part); opacity: 0.55; min-width: 0; }
    .legend { display: flex; flex-wrap: wrap; gap: 0.3rem 1.6rem; margin: 0; padding: 0; list-style: none; font-size: 0.9em; font-variant-numeric: tabular-nums; }
    .legend li::before { content: ''; display: inline-block; width: 1em; height: 0.7em; margin-inline-end: 0.5em; background: var(--part); opacity: 0.55; }
    dl { --fact: min(17rem, 46%); }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
    th { font-weight: 400; } th, td { padding: 0.3rem 0.8rem 0.3rem 0; text-align: start; border-block-end: 1px solid var(--table-border-color, #ccc); }
    caption { text-align: start; padding-block-end: 0.4rem; }
  `;

  class GptCount extends Widget {
    made() {
      this.desk(STYLE, `
        <div class="ask">
          ${select('model', 'Model', [...Object.entries(PRESETS).map(([id, { name }]) => [id, name]), ['own', 'your own']])}
          ${Object.entries(FIELDS).map(([name, [label]]) => field(name, label)).join('')}
          <button type="button" class="fit">20 tokens a parameter</button>
        </div>
        <p id="problem" class="hint" role="status"></p>
        <div class="bar" aria-hidden="true">${Object.entries(PARTS).map(([part, [, colour]]) => `<span class="${part}" style="--part: var(${colour})"></span>`).join('')}</div>
        <ul class="legend">${Object.entries(PARTS).map(([part, [, colour]]) => `<li class="of-${part}" style="--part: var(${colour})"></li>`).join('')}</ul>
        ${facts(RESULTS)}
        <table>
          <caption>Training on one card, calculated as in chapter 8</caption>
          <tbody>${DATA.cards.map(({ id, name, format }) => `<tr><th scope="row">${name}, ${format}</th><td class="${id}"></td></tr>`).join('')}</tbody>
        </table>
        <p class="aloud" role="status"></p>`);
      this.preset('small');
      this.part('.ask').addEventListener('input', ({ target }) => this.changed(target));
      this.on('.fit', 'click', () => {
        this.tied = true;
        this.draw();
      });
      this.follow(() => this.draw());
      this.draw();
    }

    /** Puts the sizes of a known model into the fields, with the tokens that make the best of it. */
    preset(id) {
      const { name, ...sizes } = PRESETS[id];
      for (const [field, value] of Object.entries(sizes)) this.input(field).value = value;
      this.input('model').value = id;
      this.tied = true;
    }

    changed({ name }) {
      const { value } = this.input('model');
      if (name === 'model' && value in PRESETS) this.preset(value);
      else if (name === 'tokens') this.tied = false;
      else if (name !== 'model' && name !== 'batch') this.input('model').value = 'own';
      this.draw();
    }

    /** Operations a second of a training on the machine that the page shows, and its name. */
    get rate() {
      const shown = this.querySelector('.rate [data-machine]:not([hidden])') ?? this.querySelector('.rate');
      return { on: shown?.dataset.machine, value: Number(shown?.querySelector('data')?.value) || undefined };
    }

    draw() {
      const { tokens: length, ...sizes } = Object.fromEntries(Object.entries(FIELDS).map(([name, [, most]]) => [name, { most }]));
      const found = this.numbers(sizes, ({ width, heads }) => (width % (2 * heads)
        ? ['width', `A width of ${width} can’t be cut into ${heads} heads of an even size; take a multiple of ${2 * heads}.`] : []));
      if (!found) return;
      const { batch, context } = found;
      const config = { ...found, hidden: hiddenOf(found.width) };
      const parts = parameters(config);
      const n = sum(parts);
      if (this.tied) this.input('tokens').value = TOKENS_PER_PARAMETER * n;
      const { tokens } = this.numbers({ tokens: length }) ?? {};
      if (!tokens) return;
      for (const [part, [label]] of Object.entries(PARTS)) {
        this.part(`.bar .${part}`).style.flex = `${parts[part] / n} 1 0`;
        this.part(`.of-${part}`).textContent = `${label}: ${count(parts[part])}`;
      }
      const each = operations(config, context);
      const { on, value: rate } = this.rate;
      const held = bytes(config, batch, context);
      const shareAt = (length) => `${(100 * attentionShare(operations(config, length))).toFixed(1)}%`;
      const results = {
        parameters: count(n),
        hidden: config.hidden.toLocaleString('en'),
        rule: power(6 * n * tokens),
        exact: power(training(each) * tokens),
        share: shareAt(context),
        longer: [4, 16, 64].map((times) => shareAt(times * context)).join(', '),
        model: size(held.parameters + held.gradient),
        moments: size(held.moments),
        activations: size(held.activations),
        cache: size(cache(config, context)),
        here: rate ? `${time(training(each) * tokens / rate)}${on ? ` on ${on}` : ''}` : 'not measured here',
      };
      this.facts(results);
      for (const card of DATA.cards) {
        const seconds = onCard(card, config, batch, tokens);
        this.part(`td.${card.id}`).textContent = seconds ? time(...seconds) : 'does not fit into its memory';
      }
      this.say('.aloud', `${results.parameters} parameters, attention ${results.share}, ${results.here}`);
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('gpt-count', GptCount);
  else module.exports = { DATA, hiddenOf, parameters, operations, training, attentionShare, bytes, cache, onCard, TOKENS_PER_PARAMETER };
})();
