// <product-race>: one matrix product by several programs, each at the speed that was recorded.
//
// The table in the element says who runs: a row's first cell is the name, the measured number behind it the rate in
// FLOP/s. `data-n` is the n of the n×n matrices. The table is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  const { Widget, duration } = globalThis.throughputWidgets ?? require('./widget.js');

  // ---- The race ------------------------------------------------------------------------------------

  const SIDES = [14, 4]; // of a square, the largest and the smallest, in pixels

  /** The seconds of one product of n×n matrices, 2n³ operations, at a rate in FLOP/s. */
  const seconds = (n, rate) => 2 * n ** 3 / rate;

  /** How many products are whole after `time`: also one that ends at that very moment. */
  const whole = (time, each) => Math.floor(time / each + 1e-9);

  /** The largest squares that show `count` products in a box, and of how many products each one is. */
  function squares(count, width, height) {
    for (let per = 1; ; per *= 10) {
      for (let side = SIDES[0]; side >= SIDES[1]; side--) {
        const [columns, rows] = [width, height].map((length) => Math.max(1, Math.floor(length / side)));
        if (columns * rows * per >= count) return { side, columns, per };
      }
    }
  }

  /** The outline of the first `count` squares, row by row. */
  function outline(count, { side, columns }) {
    const rows = Math.floor(count / columns);
    return `M0 0H${columns * side}V${rows * side}H0ZM0 ${rows * side}h${count % columns * side}v${side}H0Z`;
  }

  /** What the race came to, in a sentence; `lanes` have a name and the seconds of a product. */
  function verdict(lanes) {
    const slow = lanes.reduce((one, two) => (two.each > one.each ? two : one));
    const rest = lanes.filter((lane) => lane !== slow).map((lane) => `${lane.name} made ${whole(slow.each, lane.each)}`);
    return `In the ${duration(slow.each)} that ${slow.name} took for one product, ${rest.join(' and ')}.`;
  }

  // ---- The page ------------------------------------------------------------------------------------

  const STYLE = `
    :host { line-height: 1.4; }
    .desk { gap: 0.8rem; margin-block: 1.6rem; }
    ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 0.8rem; }
    .head { display: flex; gap: 0.3rem 1rem; align-items: baseline; font-size: 0.94em; font-variant-numeric: tabular-nums; }
    .name { font-weight: 600; }
    .each { color: var(--muted); flex: 1; white-space: nowrap; }
    .each a { color: inherit; text-decoration: underline dotted; text-underline-offset: 0.22em; }
    .count { font-weight: 600; white-space: nowrap; }
    svg { display: block; width: 100%; height: 16px; }
    li:nth-child(2) svg { height: 28px; }
    li:nth-child(n + 3) svg { height: 46px; }
    li { --lane: var(--series-2); }
    li:nth-child(2) { --lane: var(--series-5); }
    li:nth-child(n + 3) { --lane: var(--series-1); }
    li:nth-child(n + 4) { --lane: var(--series-3); }
    .todo { opacity: 0.16; }
    .square { fill: var(--lane); }
    .controls { justify-content: start; gap: 0.4rem 1.2rem; min-height: 2.9rem; }
    button { min-width: 9rem; font-weight: 600; }
    .clock { min-width: 14rem; }
    .hint a { color: inherit; }
    slot[data-shown] { display: contents; }
  `;

  const AGAIN = 'Race again', START = 'Start the race';

  class ProductRace extends Widget {
    time = 0;

    made() {
      this.fill(STYLE, `<slot></slot>
        <div class="desk" role="group" aria-label="A race of matrix products">
          <ul></ul>
          <div class="controls"><button type="button" class="play">${START}</button><output class="clock" aria-hidden="true"></output></div>
          <p class="hint"></p>
          <span class="aloud" role="status" aria-live="polite"></span></div>`);
      this.on('.play', 'click', () => (this.running ? this.pause() : this.play()));
      this.part('.play').hidden = this.still; // it would move, which the reader asked not to have
      this.ready();
      this.sized('ul', () => this.layout());
      this.follow(() => this.ready());
      new IntersectionObserver(([{ isIntersecting }]) => {
        if (isIntersecting && !this.begun && !this.still && this.lanes.length) this.play();
      }, { threshold: 0.9 }).observe(this.part('ul'));
    }

    disconnectedCallback() { this.pause(); }

    /** The programs of the table, with the chosen machine's numbers. */
    read() {
      return [...this.querySelectorAll('tbody tr')].flatMap((row) => {
        const link = row.querySelector('a.measured:not([hidden])');
        const rate = Number(link?.querySelector('data')?.value);
        const [name, machine] = [row.cells[0].textContent.trim(), link?.dataset.machine];
        return rate > 0 ? [{ name, machine, link: link.href, each: seconds(Number(this.dataset.n), rate) }] : [];
      });
    }

    /** Puts the programs of the chosen machine at the start; after the first race they start at once. */
    ready() {
      const lanes = this.read();
      const key = JSON.stringify(lanes);
      if (key === this.key) return;
      this.pause();
      Object.assign(this, { key, lanes, total: Math.max(0, ...lanes.map((lane) => lane.each)) });
      this.part('.desk').hidden = lanes.length === 0;
      this.part('slot').toggleAttribute('data-shown', lanes.length === 0);
      if (!lanes.length) return;
      this.part('ul').innerHTML = lanes.map((_, at) => `<li>
        <div class="head"><span class="name"></span><span class="each"><a></a> a product</span><span class="count"></span></div>
        <svg aria-hidden="true"><defs><pattern id="of-${at}" patternUnits="userSpaceOnUse"><rect class="square"></rect></pattern></defs>
          <path class="todo" fill="url(#of-${at})"></path><path class="done" fill="url(#of-${at})"></path></svg></li>`).join('');
      this.parts('li').forEach((li, at) => {
        li.querySelector('.name').textContent = lanes[at].name;
        Object.assign(li.querySelector('a'), { textContent: duration(lanes[at].each), href: lanes[at].link });
      });
      this.say('.aloud', '');
      this.time = this.still ? this.total : 0;
      this.layout();
      if (this.begun && !this.still) this.play();
      else this.label();
    }

    /** Chooses the squares for the room that there is. */
    layout() {
      if (!this.lanes.length) return;
      for (const [at, li] of this.parts('li').entries()) {
        const { width, height } = li.querySelector('svg').getBoundingClientRect();
        const lane = this.lanes[at];
        const count = whole(this.total, lane.each);
        // The slowest makes one product: a bar that fills.
        lane.bar = count < 2 ? width : 0;
        lane.squares = squares(count, width, height);
        const [wide, high] = lane.bar ? [width, height] : [lane.squares.side, lane.squares.side];
        const pattern = li.querySelector('pattern');
        for (const [name, value] of [['width', wide], ['height', high]]) {
          pattern.setAttribute(name, value);
          pattern.firstChild.setAttribute(name, lane.bar ? value : value - Math.max(1, Math.round(value / 7)));
        }
        li.querySelector('.todo').setAttribute('d', lane.bar ? `M0 0H${width}V${height}H0Z` : outline(Math.ceil(count / lane.squares.per), lane.squares));
      }
      const { machine } = this.lanes[0];
      const most = Math.max(...this.lanes.map((lane) => lane.squares.per));
      this.part('.hint').textContent = `A bar or square is one product of ${this.dataset.n}×${this.dataset.n} matrices${most > 1 ? `, or ${most}` : ''}, in ${this.lanes.some((lane) => !lane.machine) ? 'recorded time' : `the time recorded on ${machine === 'yours' ? 'your machine' : machine}`}.`;
      this.draw();
    }

    /** Shows what is done by now. */
    draw() {
      for (const [at, li] of this.parts('li').entries()) {
        const { each, bar, squares: fit } = this.lanes[at];
        const count = whole(this.time, each);
        const filled = bar ? `M0 0H${bar * Math.min(1, this.time / each)}V99H0Z` : outline(Math.floor(count / fit.per), fit);
        li.querySelector('.done').setAttribute('d', filled);
        li.querySelector('.count').textContent = bar && !count ? `${Math.floor(100 * this.time / each)}% of one` : `${count} made`;
      }
      this.part('.clock').textContent = `${this.time.toFixed(2)} s of ${duration(this.total)}`;
    }

    /** The button says what it does next. */
    label() {
      this.part('.play').textContent = this.running ? 'Pause' : this.time === 0 ? START : this.time < this.total ? 'Go on' : AGAIN;
    }

    play() {
      if (this.time >= this.total) this.time = 0;
      this.begun = true;
      this.say('.aloud', '');
      let last = performance.now();
      const frame = (now) => {
        this.time = Math.min(this.time + Math.max(0, now - last) / 1000, this.total);
        last = now;
        this.draw();
        if (this.time < this.total) {
          this.running = requestAnimationFrame(frame);
          return;
        }
        this.pause();
        this.say('.aloud', verdict(this.lanes));
      };
      this.running = requestAnimationFrame(frame);
      this.label();
    }

    pause() {
      cancelAnimationFrame(this.running);
      this.running = undefined;
      if (this.shadowRoot) this.label();
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('product-race', ProductRace);
  else module.exports = { seconds, whole, squares, outline, verdict };
})();
