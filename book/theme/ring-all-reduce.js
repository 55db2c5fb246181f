// <ring-all-reduce>: ranks sum their numbers round a ring, step by step: the parts travel, and the bytes are counted.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- The order of the ring, the same as in chapter 7's crate: comm/ring.rs ---------------------------

  /** What rank `me` sends and what it receives in a step, as numbers of parts. */
  function stepParts(me, step, size) {
    const back = (by) => (me + 2 * size - by) % size;
    return [back(step), back(step + 1)];
  }

  /**
   * What each rank holds before the first step and after each one: `frames[step][rank][part]` is the list of
   * the ranks whose numbers are in that part.
   */
  function frames(size) {
    const start = Array.from({ length: size }, (_, rank) => Array.from({ length: size }, () => [rank]));
    const all = [start];
    for (let step = 1; step <= 2 * size - 2; step++) {
      const old = all[step - 1];
      all.push(old.map((parts, me) => {
        const before = (me + size - 1) % size;
        const part = stepParts(me, step, size)[1];
        const came = old[before][part];
        const now = [...parts];
        // In the first half what came is added to, in the second it replaces.
        now[part] = step < size ? [...came, me] : came;
        return now;
      }));
    }
    return all;
  }

  /** The bytes that a rank has sent after a step, of a buffer of `n`: a part in each. */
  const sent = (step, size, n) => step * n / size;

  /** What a rank sends in all, by the formula. */
  const total = (size, n) => 2 * (size - 1) / size * n;

  // ---- The page ------------------------------------------------------------------------------------

  const { Player, select } = globalThis.throughputWidgets ?? require('./widget.js');

  const MOST = 6; // ranks
  const SIZES = [12e6, 120e6, 1.2e9]; // bytes, multiples of all numbers of ranks
  const TRAVEL = 600; // ms from rank to rank
  const GAP = { across: 34, down: 36 };
  const NARROW = 480; // pixels, below which a rank's parts stand in two rows

  const STYLE = `
    .desk { display: block; }
    .ask { display: flex; flex-wrap: wrap; gap: 0.8rem 1.6rem; justify-content: center; margin-block-end: 1.2rem; }
    svg { display: block; width: 100%; height: auto; margin-inline: auto; font-family: inherit; }
    text { fill: var(--fg); font-size: 14px; text-anchor: middle; font-variant-numeric: tabular-nums; }
    .name { text-anchor: start; font-weight: 600; }
    .gone { text-anchor: end; fill: var(--muted); }
    .box { fill: none; stroke: var(--line, currentColor); }
    .cell rect { fill: var(--bg); stroke: var(--line, currentColor); }
    .cell .level, .message .level { fill: var(--series-1); fill-opacity: 0.28; stroke: none; }
    .whole .level { fill: var(--series-3); }
    .cell.whole rect:first-child { stroke: var(--series-3); stroke-width: 2; }
    .whole text { font-weight: 700; }
    .cell.came rect:first-child { stroke: var(--series-1); stroke-width: 3; }
    .arrow { fill: none; stroke: var(--muted); stroke-width: 2; }
    .head { fill: var(--muted); }
    .message rect:first-child { fill: var(--bg); stroke: var(--series-1); stroke-width: 2.5; }
    .message.moving { transition: transform ${TRAVEL}ms ease-in-out; }
    .cell.landed text { animation: land 0.35s ease-out; transform-box: fill-box; transform-origin: center; }
    @keyframes land { from { transform: scale(1.7); } }
    .controls { margin-block: 1rem 0.6rem; }
    output { min-width: 9rem; }
    p { margin: 0; text-align: center; } .bytes { font-variant-numeric: tabular-nums; } .words { min-height: 7.2rem; }
    .bar { position: relative; height: 0.9rem; max-width: min(44rem, 100% - 7rem); margin: 0.6rem auto; border-radius: 3px; background: repeating-linear-gradient(135deg, var(--line) 0 1px, transparent 1px 5px); border: 1px solid var(--line); }
    .bar i { position: absolute; inset-block: 0; inset-inline-start: 0; background: var(--series-1); border-radius: 2px; }
    .bar b { position: absolute; inset-block: -4px; width: 0; border-inline-start: 2px solid var(--fg); }
    .bar::after { content: '2n'; position: absolute; inset-inline-start: calc(100% + 0.6rem); inset-block-start: 50%; transform: translateY(-50%); color: var(--muted); }
    @media (prefers-reduced-motion: no-preference) { .bar i { transition: width ${TRAVEL}ms ease-in-out; } }
  `;

  const COUNT = { 2: 'two', 3: 'three', 4: 'four', 5: 'five', 6: 'six' };

  /** Bytes in words. */
  const bytes = (count) => (count >= 1e9 ? `${+(count / 1e9).toFixed(3)} GB` : `${+(count / 1e6).toFixed(2)} MB`);

  /** What a step does, in words. */
  function words(step, size) {
    if (step === 0) return `Each rank has its own numbers, cut into ${COUNT[size]} parts. A part shows whose numbers are in it.`;
    const half = step < size ? 'Reduce-scatter' : 'All-gather';
    const says = Array.from({ length: size }, (_, me) => `rank ${me} sends part ${stepParts(me, step, size)[0]}`);
    const then = {
      [size - 1]: ' Now each rank holds one part of the whole sum.',
      [2 * size - 2]: ' Now every rank holds the whole sum.',
    };
    return `${half}: ${says.join(', ')}, each to the next rank.${then[step] ?? ''}`;
  }

  /** Where the ranks and their parts stand: clockwise from the left upper corner, in two columns. */
  function layout(size, narrow) {
    const columns = narrow && size > 3 ? Math.ceil(size / 2) : size;
    const cell = { width: Math.floor((narrow ? 132 : 216) / columns), height: narrow ? 34 : 44 };
    const box = { width: columns * cell.width + 10, height: 36 + Math.ceil(size / columns) * (cell.height + 4) };
    const right = Math.floor(size / 2); // ranks 1 to `right`
    const rows = size - right;
    const down = box.height + GAP.down;
    const spots = Array.from({ length: size }, (_, rank) => {
      const east = rank >= 1 && rank <= right;
      const row = east ? rank - 1 + (rows - right) / 2 : (size - rank) % size;
      return [4 + (east ? box.width + GAP.across : 0), 4 + row * down];
    });
    return { columns, cell, box, spots, width: 2 * box.width + GAP.across + 8, height: rows * down - GAP.down + 8 };
  }

  /** From a rank's box to the next one's. Of two ranks each has a way of its own. */
  function arrow({ spots, box }, from) {
    const to = (from + 1) % spots.length;
    const [[x, y], [u, v]] = [spots[from], spots[to]];
    if (x === u) return v > y ? `M ${x + box.width / 2} ${y + box.height + 3} V ${v - 3}` : `M ${x + box.width / 2} ${y - 3} V ${v + box.height + 3}`;
    const off = spots.length === 2 ? (to > from ? -10 : 10) : 0;
    const [begin, end] = u > x ? [x + box.width + 3, u - 3] : [x - 3, u + box.width + 3];
    return `M ${begin} ${y + box.height / 2 + off} L ${end} ${v + box.height / 2 + off}`;
  }

  class RingAllReduce extends Player {
    get end() { return 2 * this.size - 2; }

    made() {
      this.desk(STYLE, `
        <div class="ask">
          ${select('ranks', 'Ranks p', Array.from({ length: MOST - 1 }, (_, at) => [at + 2]))}
          ${select('buffer', 'Buffer n', SIZES.map((size) => [size, bytes(size)]))}
        </div>
        <div class="ring"></div>
        ${Player.controls('Steps of the ring', ['back', 'play', 'next'])}
        <p class="bytes"></p>
        <div class="bar" aria-hidden="true"><i></i><b></b></div>
        <p class="words" role="status" aria-live="polite"></p>`);
      [this.input('ranks').value, this.input('buffer').value] = [4, SIZES[1]];
      this.on('.ask', 'change', () => this.chosen());
      this.plays(1500);
      this.chosen();
      this.sized('.desk', () => this.fit());
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.arrival);
    }

    /** The reader chose another ring: it starts again. */
    chosen() {
      [this.size, this.n] = ['ranks', 'buffer'].map((name) => Number(this.input(name).value));
      this.frames = frames(this.size);
      this.draw();
      this.part('.bar b').style.insetInlineStart = `${100 * total(this.size, 1) / 2}%`;
      this.go(0);
    }

    /** Draws the ring anew when the parts need other rows. */
    fit() {
      if (this.narrow === this.isNarrow) return;
      clearTimeout(this.arrival);
      this.draw();
      this.hold(this.step);
    }

    get isNarrow() { return this.clientWidth > 0 && this.clientWidth < NARROW; }

    draw() {
      this.narrow = this.isNarrow;
      const { size } = this;
      const place = layout(size, this.narrow);
      const { cell, box, spots } = place;
      this.place = place;
      const inside = `<rect width="${cell.width - 4}" height="${cell.height}" rx="4"></rect><rect class="level" x="1" width="${cell.width - 6}" rx="3"></rect><text x="${cell.width / 2 - 2}" y="${cell.height / 2 + 5}"></text>`;
      const boxes = spots.map(([x, y], rank) => `<rect class="box" x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="6"></rect>
        <text class="name" x="${x + 9}" y="${y + 21}">rank ${rank}</text><text class="gone" x="${x + box.width - 9}" y="${y + 21}"></text>
        ${Array.from({ length: size }, (_, part) => `<g class="cell" style="transform: ${this.at(rank, part)}">${inside}</g>`).join('')}`);
      const messages = spots.map(() => `<g class="message" visibility="hidden">${inside}</g>`);
      const arrows = spots.map((_, rank) => `<path class="arrow" d="${arrow(place, rank)}" marker-end="url(#head)"></path>`);
      this.part('.ring').innerHTML = `<svg viewBox="0 0 ${place.width} ${place.height}" style="max-width: ${place.width * (this.narrow ? 1 : 1.15)}px" role="img" aria-label="A ring of ${COUNT[size]} ranks, each with ${COUNT[size]} parts of its numbers">
        <defs><marker id="head" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto" markerUnits="userSpaceOnUse"><path class="head" d="M 0 0 L 9 4 L 0 8 Z"></path></marker></defs>
        ${arrows.join('')}${boxes.join('')}${messages.join('')}</svg>`;
      this.cells = this.parts('.cell');
      this.messages = this.parts('.message');
    }

    /** Shows what the ranks hold after a step; a step forward moves the messages first. */
    show(_, before) {
      const { step } = this;
      clearTimeout(this.arrival);
      this.rest();
      if (step === before + 1 && !this.still) {
        this.hold(before);
        this.send(step);
        this.arrival = setTimeout(() => { this.rest(); this.hold(step, true); }, TRAVEL + 20);
      } else {
        this.hold(step);
      }
      this.say('.words', words(step, this.size));
      this.part('output').textContent = `Step ${step} of ${this.end}`;
    }

    /** Takes the messages off their way. */
    rest() {
      for (const message of this.messages) {
        message.classList.remove('moving');
        message.setAttribute('visibility', 'hidden');
      }
    }

    /** Where a part of a rank is drawn. */
    at(rank, part) {
      const { spots, cell, columns } = this.place;
      const [x, y] = spots[rank];
      return `translate(${x + 7 + (part % columns) * cell.width}px, ${y + 32 + Math.floor(part / columns) * (cell.height + 4)}px)`;
    }

    /** Writes what a part holds. Those in it follow each other round the ring: where there is no room, the first and last. */
    write(into, ranks) {
      const { cell } = this.place;
      const whole = ranks.length === this.size;
      const all = ranks.join('+');
      into.querySelector('text').textContent = whole ? 'sum' : all.length * 8.5 < cell.width - 4 ? all : `${ranks[0]}…${ranks.at(-1)}`;
      const high = (cell.height - 2) * ranks.length / this.size;
      const level = into.querySelector('.level');
      level.setAttribute('height', high);
      level.setAttribute('y', cell.height - 1 - high);
      into.classList.toggle('whole', whole);
    }

    /** Sends a step's messages on their way. */
    send(step) {
      this.messages.forEach((message, me) => {
        const [part] = stepParts(me, step, this.size);
        this.write(message, this.frames[step - 1][me][part]);
        message.style.transform = this.at(me, part);
        message.setAttribute('visibility', 'visible');
        message.getBoundingClientRect(); // it starts here, and not where the last one ended
        message.classList.add('moving');
        message.style.transform = this.at((me + 1) % this.size, part);
      });
      this.part('.bar i').style.width = `${100 * sent(step, this.size, 1) / 2}%`;
    }

    /** Draws what the ranks hold after a step, and what they have sent. */
    hold(step, landed = false) {
      const { size, n } = this;
      this.cells.forEach((cell, at) => {
        const [rank, part] = [Math.floor(at / size), at % size];
        const came = step > 0 && stepParts(rank, step, size)[1] === part;
        this.write(cell, this.frames[step][rank][part]);
        cell.classList.toggle('came', came);
        cell.classList.toggle('landed', came && landed);
      });
      const [now, all] = [sent(step, size, n), total(size, n)];
      for (const text of this.parts('.gone')) text.textContent = `sent ${bytes(now)}`;
      this.part('.bytes').textContent = `Each rank has sent ${bytes(now)} of 2·(p − 1)/p·n = ${bytes(all)}, all together ${bytes(size * now)} of ${bytes(size * all)}.`;
      this.part('.bar i').style.width = `${100 * sent(step, size, 1) / 2}%`;
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('ring-all-reduce', RingAllReduce);
  else module.exports = { stepParts, frames, sent, total };
})();
