// <ring-all-reduce>: four ranks sum their numbers round a ring, step by step.
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

  // Without a page, in the tests, there is only the order.
  if (typeof customElements === 'undefined') {
    module.exports = { stepParts, frames };
    return;
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Player } = globalThis.throughputWidgets;

  const SIZE = 4;
  const STEPS = 2 * SIZE - 2;
  const CELL = 52;
  const BOX = { width: SIZE * CELL + 12, height: 92 };
  /** Where the ranks stand: round the ring, clockwise from the left upper corner. */
  const PLACES = [[8, 8], [262, 8], [262, 138], [8, 138]];
  /** From each rank to the next. */
  const ARROWS = ['M 230 54 H 258', 'M 372 102 V 134', 'M 260 184 H 232', 'M 118 136 V 104'];

  const STYLE = `
    .desk { display: block; }
    svg { display: block; width: 100%; max-width: 56rem; height: auto; margin-inline: auto; font-family: inherit; }
    text { fill: var(--fg); font-size: 15px; text-anchor: middle; font-variant-numeric: tabular-nums; }
    .name { text-anchor: start; font-weight: 600; }
    .box { fill: none; stroke: var(--line, currentColor); }
    .cell rect { fill: var(--bg); stroke: var(--line, currentColor); }
    .cell.whole rect { fill: var(--surface); stroke: var(--series-3); stroke-width: 3; }
    .cell.whole text { font-weight: 700; }
    .cell.came rect { stroke: var(--series-1); stroke-width: 3; }
    .arrow { fill: none; stroke: var(--muted); stroke-width: 2; }
    .head { fill: var(--muted); }
    .message rect { fill: var(--bg); stroke: var(--series-1); stroke-width: 2; }
    .message.moving { transition: transform 0.9s ease-in-out; }
    .controls { margin-block: 1rem 0.6rem; }
    output { min-width: 9rem; }
    p { margin: 0; text-align: center; min-height: 4.8rem; }
  `;

  /** What a part holds, in short. */
  const text = (ranks) => (ranks.length === SIZE ? 'sum' : ranks.join('+'));

  /** Writes what a part holds; a long one is made to fit. */
  function write(into, ranks) {
    into.textContent = text(ranks);
    if (ranks.length === SIZE - 1) into.setAttribute('textLength', CELL - 10);
    else into.removeAttribute('textLength');
    into.setAttribute('lengthAdjust', 'spacingAndGlyphs');
  }

  /** What a step does, in words. */
  function words(step) {
    if (step === 0) return 'Each rank has its own numbers, cut into four parts. A part shows whose numbers are in it.';
    const half = step < SIZE ? 'Reduce-scatter' : 'All-gather';
    const says = Array.from({ length: SIZE }, (_, me) => `rank ${me} sends part ${stepParts(me, step, SIZE)[0]}`);
    const then = {
      [SIZE - 1]: ' Now each rank holds one part of the whole sum.',
      [STEPS]: ' Now every rank holds the whole sum.',
    };
    return `${half}: ${says.join(', ')}, each to the next rank.${then[step] ?? ''}`;
  }

  class RingAllReduce extends Player {
    end = STEPS;

    made() {
      this.frames = frames(SIZE);
      const boxes = PLACES.map(([x, y], rank) => {
        const cells = Array.from({ length: SIZE }, (_, part) => `<g class="cell" transform="translate(${x + 7 + part * CELL} ${y + 34})">
          <rect width="${CELL - 4}" height="48" rx="4"></rect><text x="${CELL / 2 - 2}" y="30"></text></g>`);
        return `<rect class="box" x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6"></rect>
          <text class="name" x="${x + 10}" y="${y + 23}">rank ${rank}</text>${cells.join('')}`;
      });
      const messages = PLACES.map(() => `<g class="message" visibility="hidden"><rect width="${CELL - 4}" height="48" rx="4"></rect><text x="${CELL / 2 - 2}" y="30"></text></g>`);
      const arrows = ARROWS.map((way) => `<path class="arrow" d="${way}" marker-end="url(#head)"></path>`);
      this.fill(STYLE, `<slot></slot>
        <div class="desk">
          <svg viewBox="0 0 490 238" role="img" aria-label="Four ranks in a ring, each with four parts of its numbers">
            <defs><marker id="head" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto" markerUnits="userSpaceOnUse"><path class="head" d="M 0 0 L 9 4 L 0 8 Z"></path></marker></defs>
            ${arrows.join('')}${boxes.join('')}${messages.join('')}</svg>
          ${Player.controls('Steps of the ring', ['back', 'play', 'next'])}
          <p role="status" aria-live="polite"></p></div>`);
      this.cells = this.parts('.cell');
      this.messages = this.parts('.message');
      this.plays(2400);
      this.move(0);
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.arrival);
    }

    /** Shows what the ranks hold after a step; a step forward moves the messages first. */
    show(_, before) {
      const { step } = this;
      clearTimeout(this.arrival);
      this.rest();
      if (step === before + 1 && !this.still) {
        this.hold(before);
        this.send(step);
        this.arrival = setTimeout(() => { this.rest(); this.hold(step); }, 1000);
      } else {
        this.hold(step);
      }
      this.say('p', words(step));
      this.part('output').textContent = `Step ${step} of ${STEPS}`;
    }

    /** Takes the messages off their way. */
    rest() {
      for (const message of this.messages) {
        message.classList.remove('moving');
        message.setAttribute('visibility', 'hidden');
      }
    }

    /** Where a part of a rank is drawn. */
    at(rank, part) { return `translate(${PLACES[rank][0] + 7 + part * CELL}px, ${PLACES[rank][1] + 34}px)`; }

    /** Sends a step's messages on their way. */
    send(step) {
      this.messages.forEach((message, me) => {
        const [part] = stepParts(me, step, SIZE);
        write(message.querySelector('text'), this.frames[step - 1][me][part]);
        message.style.transform = this.at(me, part);
        message.setAttribute('visibility', 'visible');
        message.getBoundingClientRect(); // it starts here, and not where the last one ended
        message.classList.add('moving');
        message.style.transform = this.at((me + 1) % SIZE, part);
      });
    }

    /** Draws what the ranks hold after a step. */
    hold(step) {
      this.cells.forEach((cell, at) => {
        const [rank, part] = [Math.floor(at / SIZE), at % SIZE];
        const held = this.frames[step][rank][part];
        write(cell.querySelector('text'), held);
        cell.classList.toggle('whole', held.length === SIZE);
        cell.classList.toggle('came', step > 0 && stepParts(rank, step, SIZE)[1] === part);
      });
    }
  }

  customElements.define('ring-all-reduce', RingAllReduce);
})();
