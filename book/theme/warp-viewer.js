// <warp-viewer>: the addresses of the 32 threads of a warp, what memory does for them, and how they move over it.
//
// `memory="global"` shows sectors, `memory="shared"` banks. What stands in the element is for readers without
// JavaScript, and for paper.
(() => {
  'use strict';

  // ---- What memory does, the same as in chapter 2's crate: simt/memory.rs ------------------------------

  const LANES = 32;
  const SECTOR = 32;
  const LINE = 128;
  const BANKS = 32;

  /** `of` each number below `count`. */
  const list = (count, of) => Array.from({ length: count }, (_, at) => of(at));

  /** What a thread takes at a time. */
  const TYPES = [
    { id: 'f32', name: 'f32: 4 bytes', bytes: 4 },
    { id: 'f16', name: 'f16: 2 bytes', bytes: 2 },
    { id: 'float4', name: 'four f32: 16 bytes', bytes: 16 },
  ];

  /** A number below 1,024 that follows no rule that memory knows. */
  const scattered = (lane) => (Math.imul(lane + 1, 0x9e3779b1) >>> 22);

  const STRIDE = { id: 'stride', name: 'Every s-th number', knob: { name: 'Stride s', least: 0, most: 40, first: 1 }, at: (lane, s) => lane * s };
  const SAME = { id: 'same', name: 'All the same number', at: () => 5 };
  const SCATTERED = { id: 'scattered', name: 'Scattered, without order', at: scattered };
  /** Which number each thread takes: `at(lane, knob)`, where the reader turns the knob. */
  const PATTERNS = {
    global: [
      STRIDE,
      { id: 'shift', name: 'Neighbours, but not from the start of a sector', knob: { name: 'Numbers left out', least: 0, most: 31, first: 1 }, at: (lane, by) => lane + by },
      { id: 'back', name: 'Neighbours, in reverse', at: (lane) => LANES - 1 - lane },
      { id: 'column', name: 'A column of a matrix', knob: { name: 'Columns of the matrix', least: 1, most: 128, first: 64 }, at: (lane, columns) => lane * columns + 3 },
      SAME,
      SCATTERED,
    ],
    shared: [
      STRIDE,
      { id: 'column', name: 'A column of a tile of 32×32', knob: { name: 'Numbers of padding in a row', least: 0, most: 8, first: 0 }, at: (lane, padding) => lane * (32 + padding) + 3 },
      SAME,
      SCATTERED,
    ],
  };

  /** The byte at which each thread begins. */
  const starts = (pattern, knob, { bytes }) => list(LANES, (lane) => bytes * pattern.at(lane, knob));

  /** The words of 4 bytes that a thread touches. */
  function wordsOf(start, bytes) {
    const first = Math.floor(start / 4);
    return list(Math.max(bytes / 4, 1), (at) => first + at);
  }

  const distinct = (all) => [...new Set(all)].sort((a, b) => a - b);

  /** What one load of global memory costs: its sectors and lines, and the bytes that somebody wants. */
  function globalLoad(begins, bytes) {
    const sectors = distinct(begins.map((start) => Math.floor(start / SECTOR)));
    return {
      sectors,
      lines: distinct(sectors.map((sector) => Math.floor(sector * SECTOR / LINE))),
      useful: bytes * new Set(begins).size,
      moved: SECTOR * sectors.length,
      steps: sectors.map((sector) => ({
        words: list(SECTOR / 4, (at) => sector * SECTOR / 4 + at),
        lanes: begins.flatMap((start, lane) => (Math.floor(start / SECTOR) === sector ? [lane] : [])),
      })),
    };
  }

  /**
   * What one load of shared memory costs: its wavefronts, and what they would be without conflicts. A bank gives one
   * word per wavefront, here the lowest first. Sixteen bytes a thread go in groups of eight threads; of sixteen, where
   * all neighbours, or all next but one, want the same.
   */
  function sharedLoad(begins, bytes) {
    const equal = (distance) => begins.every((start, lane) => begins[lane ^ distance] === start);
    let size = LANES;
    if (bytes === 16) size = equal(1) || equal(2) ? LANES / 2 : LANES / 4;
    const steps = [];
    let ideal = 0;
    for (let first = 0; first < LANES; first += size) {
      const lanes = list(size, (at) => first + at);
      const banks = list(BANKS, () => []);
      for (const word of distinct(lanes.flatMap((lane) => wordsOf(begins[lane], bytes)))) banks[word % BANKS].push(word);
      const passes = Math.max(...banks.map((bank) => bank.length));
      for (let pass = 0; pass < passes; pass++) {
        const words = banks.flatMap((bank) => bank.slice(pass, pass + 1));
        const served = lanes.filter((lane) => wordsOf(begins[lane], bytes).some((word) => words.includes(word)));
        steps.push({ words, lanes: served, crowded: banks.flatMap((bank) => (bank.length > 1 ? bank : [])) });
      }
      ideal += 1;
    }
    return { passes: steps.length, ideal, groups: LANES / size, steps };
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Player, select } = globalThis.throughputWidgets ?? require('./widget.js');

  const STYLE = `
    .desk { font-size: 0.94em; font-variant-numeric: tabular-nums; }
    .ask, .guess { display: flex; flex-wrap: wrap; gap: 0.8rem 1.6rem; align-items: end; }
    .ask > label { flex: 1 1 18rem; } .ask > label:has(.pattern) { flex-basis: 28rem; }
    label.tick { display: flex; flex: 0 0 auto; align-items: center; gap: 0.7rem; min-height: 3.2rem; }
    .ask .tick input { width: 2.4rem; height: 2.4rem; margin: 0; accent-color: var(--accent); }
    select { width: 100%; } .guess input { width: 8rem; margin-inline-start: 0.8rem; }
    :focus-visible { position: relative; z-index: 1; }
    .threads { display: grid; grid-template-columns: repeat(16, 1fr); gap: 2px; }
    .threads button { padding: 0.2rem 0; min-width: 24px; line-height: 1.25; border-color: var(--line); }
    .threads b { display: block; } .threads span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } .threads small { color: var(--muted); font-size: 1.1rem; }
    .threads i { font-style: normal; } .threads .now { background: var(--series-3); color: var(--bg); } .threads .now small { color: inherit; }
    .threads [aria-pressed=true], .row .mine { outline: 3px solid var(--fg); outline-offset: -2px; }
    .row { display: grid; grid-template-columns: 4.6rem repeat(4, 1fr); gap: 0 4px; margin-block-end: 2px; align-items: center; font-size: 1.1rem; line-height: 1.5rem; }
    .row.far { margin-block-start: 0.7rem; border-block-start: 2px dotted var(--muted); padding-block-start: 0.5rem; }
    .row > span:first-child { color: var(--muted); text-align: end; padding-inline-end: 0.4rem; }
    .sector { display: grid; grid-template-columns: repeat(8, 1fr); gap: 1px; }
    .sector i { height: 1.5rem; overflow: hidden; font-style: normal; text-align: center; box-sizing: border-box; border: 1px solid var(--line); }
    .vain i, i.vain { background: repeating-linear-gradient(135deg, var(--series-5) 0 1px, transparent 1px 4px); }
    i.wanted { background: var(--series-1); border-color: var(--series-1); color: var(--bg); }
    i.crowded { background: var(--series-2); border-color: var(--series-2); color: var(--bg); }
    .head .sector { display: block; color: var(--muted); white-space: nowrap; }
    i.later.later { background: none; color: var(--fg); }
    .now i.wanted, i.wanted.now, i.crowded.now { background: var(--series-3); border-color: var(--series-3); }
    .sector.now { outline: 2px solid var(--series-3); outline-offset: 1px; }
    .key { display: flex; flex-wrap: wrap; gap: 0.3rem 1.8rem; color: var(--muted); font-size: 0.94em; }
    .key i { display: inline-block; width: 1.5rem; height: 1.5rem; margin-inline-end: 0.6rem; vertical-align: -0.2rem; box-sizing: border-box; border: 1px solid var(--line); }
    output { min-width: 11rem; }
    p { margin: 0; } .total { font-weight: 600; } .tally { min-height: 1lh; } .sweep { min-width: 8rem; } .step { min-height: 4.8rem; }
    @media (max-width: 620px) { .tally { min-height: 2lh; } .threads { grid-template-columns: repeat(8, 1fr); } .row { grid-template-columns: 3.2rem repeat(4, 1fr); gap: 0 3px; } .row i { color: transparent !important; border-inline-width: 0 1px !important; } .sector { gap: 0; } }
  `;

  const TRAVEL = { duration: 450, easing: 'ease-in-out' };
  const SWEEP = 500; // ms for a position of the knob

  const percent = (share) => `${(100 * share).toLocaleString('en', { maximumFractionDigits: 1 })}%`;
  const plural = (count, one) => `${count} ${count === 1 ? one : { sector: 'sectors', line: 'lines', wavefront: 'wavefronts' }[one]}`;

  /** Lanes in words: 0 to 7, 9 and 12. */
  function listed(lanes) {
    if (lanes.length === LANES) return 'all threads';
    const runs = [];
    for (const lane of lanes) {
      const last = runs[runs.length - 1];
      if (last && lane === last[1] + 1) last[1] = lane;
      else runs.push([lane, lane]);
    }
    const said = runs.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from} to ${to}`)).join(', ');
    return `${lanes.length === 1 ? 'thread' : 'threads'} ${said}`;
  }

  class WarpViewer extends Player {
    made() {
      this.shared = this.getAttribute('memory') === 'shared';
      this.patterns = PATTERNS[this.shared ? 'shared' : 'global'];
      const { shared } = this;
      const named = (all) => all.map(({ id, name }) => [id, name]);
      const key = shared
        ? [['wanted', 'wanted'], ['crowded', 'wanted from a bank that has to give several'], ['wanted now', 'given in this wavefront']]
        : [['wanted', 'wanted'], ['vain', 'fetched but not wanted'], ['wanted now', 'wanted of this sector']];
      this.desk(STYLE, `
        <div class="ask">
          ${select('type', 'Each thread takes', named(TYPES))}${select('pattern', 'The warp takes', named(this.patterns))}
          <label class="turn"><span></span><input type="range" step="1"></label>
          <button type="button" class="sweep">Sweep</button>
          <label class="tick"><input type="checkbox">Ask me first</label>
        </div>
        <div class="threads" role="group" aria-label="Threads of the warp, each with its ${shared ? 'word' : 'address'}">
          ${list(LANES, (lane) => `<button type="button" tabindex="${lane ? -1 : 0}" aria-pressed="false"><b><span>thread </span>${lane}</b> <small><span>${shared ? 'word' : 'byte'} </span><i></i></small></button>`).join('')}</div>
        <form class="guess" hidden><label>How many ${shared ? 'wavefronts' : 'sectors'}?<input type="number" min="1" max="64" required></label><button>Look</button></form>
        <div class="answer">
          <p class="total" role="status" aria-live="polite"></p>
          ${Player.controls(`One ${shared ? 'wavefront' : 'sector'} after the other`, ['back', 'play', 'next'])}
          <p class="tally"></p>
          <p class="step" role="status" aria-live="polite"></p>
          <div class="key">${key.map(([name, says]) => `<span><i class="${name}"></i>${says}</span>`).join('')}</div>
          <div class="grid" role="img"></div></div>`);
      this.lanes = [...this.part('.threads').children];
      this.lanes.forEach((button, lane) => button.addEventListener('click', () => this.pick(this.picked === lane ? null : lane)));
      this.on('.threads', 'keydown', (event) => this.walk(event));
      this.on('.pattern', 'change', () => this.turn());
      this.on('.ask', 'input', () => this.change());
      this.on('[type=checkbox]', 'change', ({ target }) => globalThis.throughputAsk?.turn(target.checked));
      this.on('.sweep', 'click', () => (this.sweeping ? this.rest() : this.sweep()));
      this.on('.guess', 'submit', (event) => { event.preventDefault(); this.look(); });
      this.plays(900);
      this.turn();
      // The page's own switch is the same.
      const follow = () => {
        const on = Boolean(globalThis.throughputAsk?.on);
        if (this.part('[type=checkbox]').checked === on) return;
        this.part('[type=checkbox]').checked = on;
        this.change();
      };
      document.addEventListener('throughput-ask', follow);
      follow();
    }

    /** Does `work` for each word that is drawn. */
    cells(work) { this.parts('[data-word]').forEach((cell) => work(cell, Number(cell.dataset.word))); }

    get pattern() { return this.patterns.find(({ id }) => id === this.part('.pattern').value); }

    /** Puts the knob of a new pattern where it begins. */
    turn() {
      const { knob } = this.pattern;
      this.part('.turn').hidden = !knob;
      if (knob) Object.assign(this.part('[type=range]'), { min: knob.least, max: knob.most, value: knob.first });
      this.change();
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      this.rest();
    }

    /** Turns the knob through all its positions, so that the warp moves over the sectors. */
    sweep() {
      const range = this.part('[type=range]');
      const to = (value) => { range.value = value; this.change(true); };
      if (range.value === range.max) to(range.min);
      this.part('.sweep').textContent = 'Stop';
      this.part('.total').setAttribute('aria-live', 'off');
      this.sweeping = setInterval(() => {
        to(Number(range.value) + 1);
        if (range.value === range.max) this.rest();
      }, SWEEP);
    }

    rest() {
      clearInterval(this.sweeping);
      this.sweeping = undefined;
      this.part('.sweep').textContent = 'Sweep';
      this.part('.total').setAttribute('aria-live', 'polite');
    }

    /** Where the first word of each thread is on the screen. */
    places() {
      const at = new Map(this.parts('.wanted').map((cell) => [Number(cell.dataset.word), cell]));
      return this.begins.map((start) => at.get(Math.floor(start / 4)));
    }

    /** Where something is, seen from the rows of memory, which text above them may move. */
    spot(element) {
      const [{ left, top }, own] = [this.part('.grid').getBoundingClientRect(), element.getBoundingClientRect()];
      return [own.left - left, own.top - top];
    }

    /** Lets words come from where something was until now: `from` has that for some threads. */
    travel(from) {
      if (this.still) return;
      const seen = new Set();
      this.places().forEach((cell, lane) => {
        if (!from[lane] || seen.has(cell)) return;
        seen.add(cell);
        const to = this.spot(cell);
        const [x, y] = from[lane].map((one, at) => one - to[at]);
        if (Math.hypot(x, y) >= 1) cell.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], TRAVEL);
      });
    }

    /** The reader has chosen something, or the knob turns by itself. */
    change(swept = false) {
      if (!swept) this.rest();
      const { pattern } = this;
      const old = this.begins && this.places().map((cell) => this.spot(cell));
      const knob = Number(this.part('[type=range]').value);
      if (pattern.knob) this.part('.turn span').textContent = `${pattern.knob.name}: ${knob}`;
      this.type = TYPES.find(({ id }) => id === this.part('.type').value);
      this.begins = starts(pattern, knob, this.type);
      this.load = (this.shared ? sharedLoad : globalLoad)(this.begins, this.type.bytes);
      this.lanes.forEach((button, lane) => {
        button.querySelector('i').textContent = this.shared ? Math.floor(this.begins[lane] / 4) : this.begins[lane];
      });
      this.draw();
      const ask = this.part('[type=checkbox]').checked;
      this.part('.sweep').hidden = !pattern.knob || ask || this.still; // it moves by itself, which not every reader likes
      this.part('.guess').hidden = !ask;
      this.part('.answer').hidden = ask;
      this.part('.guess input').value = '';
      this.verdict = '';
      this.pick(null);
      this.go(0);
      this.part('.total').textContent = ask ? '' : this.total();
      if (old && !ask) this.travel(old);
    }

    /** The reader has predicted. */
    look() {
      const [said, found] = [Number(this.part('.guess input').value), this.load.steps.length];
      this.part('.answer').hidden = false;
      this.part('.total').textContent = `${said === found ? `You said ${said}: right.` : `You said ${said}, and it is ${found}.`} ${this.total()}`;
    }

    /** What the load costs, in words. */
    total() {
      const { load } = this;
      if (!this.shared) {
        return `${plural(load.sectors.length, 'sector')} of 32 bytes, in ${plural(load.lines.length, 'line')} of 128: ${load.moved} bytes are fetched, of which ${load.useful === load.moved ? 'all' : load.useful} are wanted, ${percent(load.useful / load.moved)}.`;
      }
      const lost = load.passes - load.ideal;
      const groups = load.groups > 1 ? ` Threads with 16 bytes each go in ${load.groups} groups of ${LANES / load.groups}, so it takes ${load.groups} at best.` : '';
      return `${plural(load.passes, 'wavefront')}.${groups} ${lost ? `Conflicts cost ${lost} of them.` : 'No bank has to give two words at a time: no conflict.'}`;
    }

    /** Draws the rows of memory that are touched. */
    draw() {
      const { bytes } = this.type;
      const want = new Map();
      this.begins.forEach((start, lane) => wordsOf(start, bytes).forEach((word) => want.set(word, [...want.get(word) ?? [], lane])));
      const crowded = new Set(this.shared ? this.load.steps.flatMap((step) => step.crowded) : []);
      const fetched = new Set(this.shared ? [] : this.load.sectors);
      const rows = distinct([...want.keys()].map((word) => Math.floor(word / 32)));
      const row = (line, at) => {
        const sectors = [0, 1, 2, 3].map((quarter) => {
          const words = list(8, (i) => {
            const word = 32 * line + 8 * quarter + i;
            const lanes = want.get(word);
            const name = lanes ? `wanted${crowded.has(word) ? ' crowded' : ''}` : '';
            return `<i data-word="${word}" class="${name}">${lanes ? `${lanes[0]}${lanes.length > 1 ? '+' : ''}` : ''}</i>`;
          });
          return `<span class="sector${fetched.has(4 * line + quarter) ? ' vain' : ''}" data-sector="${4 * line + quarter}">${words.join('')}</span>`;
        });
        const far = at > 0 && line > rows[at - 1] + 1;
        return `<div class="row${far ? ' far' : ''}"><span>${this.shared ? 32 * line : 128 * line}</span>${sectors.join('')}</div>`;
      };
      const head = [0, 1, 2, 3].map((quarter) => `<span class="sector">${this.shared ? `bank ${8 * quarter}` : `+${32 * quarter}`}</span>`);
      this.part('.grid').innerHTML = `<div class="row head"><span>${this.shared ? 'word' : 'byte'}</span>${head.join('')}</div>${rows.map(row).join('')}`;
      this.part('.grid').setAttribute('aria-label', `The rows of 128 bytes that the warp touches: ${rows.length} of them, in ${this.shared ? '32 banks' : '4 sectors each'}`);
    }

    /** Marks one thread and its words. */
    pick(lane) {
      this.picked = lane;
      this.lanes.forEach((button, at) => {
        button.setAttribute('aria-pressed', String(at === lane));
        if (lane !== null) button.tabIndex = at === lane ? 0 : -1;
      });
      const words = lane === null ? [] : wordsOf(this.begins[lane], this.type.bytes);
      this.cells((cell, word) => cell.classList.toggle('mine', words.includes(word)));
      if (lane === null) return;
      const from = this.begins[lane];
      const where = this.shared
        ? `bank ${words[0] % BANKS}${words.length > 1 ? ` to ${words[words.length - 1] % BANKS}` : ''}`
        : `sector ${Math.floor(from / SECTOR)}, line ${Math.floor(from / LINE)}`;
      this.part('.step').textContent = `Thread ${lane} wants bytes ${from} to ${from + this.type.bytes - 1}: ${where}.`;
    }

    /** The arrow keys walk along the threads. */
    walk(event) {
      const at = this.lanes.indexOf(this.shadowRoot.activeElement);
      const columns = getComputedStyle(this.part('.threads')).gridTemplateColumns.split(' ').length;
      const to = Player.pressed(event, { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - columns, ArrowDown: at + columns, Home: 0, End: LANES - 1 });
      if (at < 0 || to === undefined || to < 0 || to >= LANES) return;
      this.lanes[to].focus();
      this.pick(to);
    }

    get end() { return this.load.steps.length; }

    /** Shows one sector or wavefront; 0 is all of them. */
    show(_, before) {
      const { steps } = this.load;
      const now = steps[this.step - 1];
      const later = new Set((now ? steps.slice(this.step) : []).flatMap(({ words }) => words));
      this.cells((cell, word) => {
        cell.classList.toggle('now', Boolean(now?.words.includes(word)));
        cell.classList.toggle('later', !now?.words.includes(word) && later.has(word));
      });
      for (const box of this.part('.grid').querySelectorAll('[data-sector]')) {
        box.classList.toggle('now', !this.shared && Boolean(now) && now.words[0] === 8 * Number(box.dataset.sector));
      }
      this.lanes.forEach((button, lane) => button.classList.toggle('now', Boolean(now?.lanes.includes(lane))));
      this.part('.step').textContent = this.words(now);
      this.part('.tally').textContent = now ? this.tally(steps.slice(0, this.step)) : '';
      if (this.step === before + 1) this.travel(this.lanes.map((button, lane) => (now.lanes.includes(lane) ? this.spot(button) : null)));
      this.part('output').textContent = `${this.shared ? 'Wavefront' : 'Sector'} ${this.step} of ${steps.length}`;
    }

    /** What the steps until now came to. */
    tally(done) {
      const lanes = distinct(done.flatMap((step) => step.lanes));
      if (this.shared) return `${plural(done.length, 'wavefront')} so far: ${lanes.length} of ${LANES} threads have had something.`;
      const wanted = this.type.bytes * new Set(lanes.map((lane) => this.begins[lane])).size;
      return `${plural(done.length, 'sector')} so far: ${SECTOR * done.length} bytes fetched, ${wanted} of them wanted, ${percent(wanted / (SECTOR * done.length))}.`;
    }

    /** What a step does, in words. */
    words(now) {
      if (!now) return `Go through them one by one, or choose a thread to see ${this.shared ? 'its bank' : 'its sector'}.`;
      if (this.shared) return `Wavefront ${this.step}: ${now.words.length === 1 ? `bank ${now.words[0] % BANKS} gives one word` : `${now.words.length} banks give a word each`}, for ${listed(now.lanes)}.`;
      const first = 4 * now.words[0];
      return `Sector ${first / SECTOR}, bytes ${first} to ${first + SECTOR - 1}, for ${listed(now.lanes)}.`;
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('warp-viewer', WarpViewer);
  else module.exports = { TYPES, PATTERNS, starts, wordsOf, globalLoad, sharedLoad };
})();
