// <pipeline-player>: who computes what when in a pipeline, and who waits, step by step.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- The schedules, the same as in chapter 7's crate: split/schedule.rs --------------------------------

  /** What stage `stage` of `stages` does with `micros` micro-batches, in order. */
  function order(schedule, stage, stages, micros) {
    const ahead = schedule === 'gpipe' ? micros : Math.min(stages - stage, micros);
    const list = Array.from({ length: ahead }, (_, micro) => ({ direction: 'forward', micro }));
    for (let micro = 0; micro < micros; micro += 1) {
      list.push({ direction: 'backward', micro });
      if (ahead + micro < micros) list.push({ direction: 'forward', micro: ahead + micro });
    }
    return list;
  }

  /** When each stage does what, if a micro-batch takes it `seconds[stage]`: [forward, backward]. */
  function timeline(orders, seconds) {
    const stages = orders.length;
    const [next, free, slots] = [orders.map(() => 0), orders.map(() => 0), []];
    const done = (stage, direction, micro) => slots.find((slot) => slot.stage === stage && slot.work.direction === direction && slot.work.micro === micro)?.end;
    const ready = ({ direction, micro }, stage) => {
      if (direction === 'forward') return stage === 0 ? 0 : done(stage - 1, 'forward', micro);
      const own = done(stage, 'forward', micro);
      return stage + 1 === stages || own === undefined ? own : done(stage + 1, 'backward', micro);
    };
    while (orders.some((list, stage) => next[stage] < list.length)) {
      const before = slots.length;
      orders.forEach((list, stage) => {
        const work = list[next[stage]];
        const from = work && ready(work, stage);
        if (from === undefined) return;
        const start = Math.max(from, free[stage]);
        const end = start + seconds[stage][work.direction === 'forward' ? 0 : 1];
        slots.push({ stage, work, start, end });
        [next[stage], free[stage]] = [next[stage] + 1, end];
      });
      if (slots.length === before) throw new Error('a stage waits for itself');
    }
    return slots;
  }

  /** The whole plan: forward takes one unit of time, backward two. */
  function plan(schedule, stages, micros) {
    const orders = Array.from({ length: stages }, (_, stage) => order(schedule, stage, stages, micros));
    return timeline(orders, orders.map(() => [1, 2]));
  }

  /** The share of its time in which a stage waits. */
  const bubble = (stages, micros) => (stages - 1) / (micros + stages - 1);

  /** How many micro-batches each stage keeps activations of at a time. */
  function kept(slots, stages, time) {
    return Array.from({ length: stages }, (_, stage) => slots
      .filter((slot) => slot.stage === stage)
      .reduce((sum, { work, start, end }) => sum + (work.direction === 'forward' ? start < time : -(end <= time)), 0));
  }

  /** The most that each stage keeps at any time. */
  function peaks(slots, stages) {
    const times = slots.map((slot) => slot.end);
    return Array.from({ length: stages }, (_, stage) => Math.max(0, ...times.map((time) => kept(slots, stages, time)[stage])));
  }

  /** When each stage waits: its bubble. */
  function gaps(slots, stages) {
    const end = Math.max(...slots.map((slot) => slot.end));
    return Array.from({ length: stages }, (_, stage) => {
      const own = slots.filter((slot) => slot.stage === stage).sort((a, b) => a.start - b.start);
      const edges = [0, ...own.flatMap(({ start, end: to }) => [start, to]), end];
      return own.concat(null).map((_, at) => ({ stage, start: edges[2 * at], end: edges[2 * at + 1] })).filter((gap) => gap.start < gap.end);
    }).flat();
  }

  /** How long all stages together have waited. */
  const waited = (slots, stages, time) => gaps(slots, stages).reduce((sum, { start, end }) => sum + Math.max(0, Math.min(end, time) - start), 0);

  // ---- The picture ---------------------------------------------------------------------------------

  const NAMES = { gpipe: 'GPipe', '1f1b': 'one forward, one backward' };
  const READABLE = 15; // pixels for a unit of time with a number in it

  /**
   * Where things are: time goes to the right, or down where that leaves too little room. Without a width it is the
   * picture on paper.
   */
  function space(stages, end, width) {
    const [left, row] = [74, 38];
    const unit = width ? Math.min(40, (width - left - 6) / end) : 26;
    if (unit >= READABLE) {
      return {
        tall: false, unit, size: [width ?? left + end * unit + 6, stages * row + 34],
        box: ({ stage, start, end: to }) => [left + start * unit, stage * row + 4, (to - start) * unit, 30],
        line: (time) => [left + time * unit, 0, left + time * unit, stages * row],
      };
    }
    const [top, down] = [26, READABLE];
    const column = Math.min(80, (width - 4) / stages);
    return {
      tall: true, unit: down, size: [width, top + end * down + 6],
      box: ({ stage, start, end: to }) => [2 + stage * column, top + start * down, column - 6, (to - start) * down],
      line: (time) => [0, top + time * down, stages * column, top + time * down],
    };
  }

  /** The plan as a drawing, up to a time. */
  function picture(schedule, stages, micros, until = Infinity, width = undefined) {
    const slots = plan(schedule, stages, micros);
    const end = Math.max(...slots.map((slot) => slot.end));
    const { tall, size, box, line } = space(stages, end, width);
    const tint = { forward: 'var(--series-1, #2a52d4)', backward: 'var(--series-2, #7a2e00)' };
    const [rows, onward] = tall ? ['columns', 'down'] : ['rows', 'to the right'];
    const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.join(' ')}" font-family="inherit" font-size="${tall ? 13 : 15}" fill="currentColor">`,
      `<desc>${stages} stages as ${rows}, time ${onward}, ${micros} micro-batches, ${NAMES[schedule]}. A full box is a micro-batch forward, a box with a frame one backward, which takes twice as long; where a stage is hatched, it waits: this is the bubble.</desc>`,
      '<defs><pattern id="bubble-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" stroke="currentColor" stroke-opacity="0.45" stroke-width="1.6"/></pattern></defs>'];
    const inner = ([x, y, w, h]) => `x="${x + 1.5}" y="${y + 1.5}" width="${w - 3}" height="${h - 3}" rx="3"`;
    const label = ([x, y, w, h], text, more) => `<text x="${x + w / 2}" y="${y + h / 2 + 5}" text-anchor="middle" ${more}>${text}</text>`;
    for (let stage = 0; stage < stages; stage += 1) {
      const [x, y, w] = box({ stage, start: 0, end });
      parts.push(tall ? `<text x="${x + w / 2}" y="16" text-anchor="middle">stage ${stage}</text>` : `<text x="2" y="${y + 20}">stage ${stage}</text><path d="M${x} ${y + 32.5}h${w}" stroke="currentColor" stroke-opacity="0.25"/>`);
    }
    for (const gap of gaps(slots, stages)) {
      if (gap.start >= until) continue;
      const place = box({ ...gap, end: Math.min(gap.end, until) });
      parts.push(`<rect class="bubble" ${inner(place)} fill="url(#bubble-hatch)"/>`);
      if (place[2] > 62 && place[3] > 24) parts.push(label(place, 'bubble', 'font-size="13" paint-order="stroke" stroke="var(--bg, #fff)" stroke-width="4"'));
    }
    for (const slot of slots) {
      if (slot.start >= until) continue;
      const { direction, micro } = slot.work;
      const colour = tint[direction];
      parts.push(`<rect class="work" ${inner(box(slot))} ${direction === 'forward' ? `fill="${colour}" fill-opacity="0.22"` : `fill="none" stroke="${colour}" stroke-width="2"`}/>`);
      parts.push(label(box(slot), micro + 1, `fill="${colour}"`));
    }
    if (until < end) {
      // What has begun shows up to now.
      const [x, y, u, v] = line(until);
      parts.push(`<g class="now"><rect class="cover" x="${x}" y="${y}" width="${size[0]}" height="${tall ? size[1] : v}" fill="var(--bg, #fff)"/><path d="M${x} ${y}L${u} ${v}" stroke="var(--accent, currentColor)" stroke-width="2.5"/></g>`);
    }
    if (!tall) parts.push(`<text x="${line(0)[0]}" y="${size[1] - 8}">time →</text>`);
    return [...parts, '</svg>'].join('\n');
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Player, facts, select } = globalThis.throughputWidgets ?? require('./widget.js');

  const STYLE = `
    .ask { display: flex; flex-wrap: wrap; gap: 0.8rem 1.6rem; align-items: end; }
    .controls { justify-content: start; }
    .view { overflow: hidden; }
    .view svg { display: block; width: 100%; }
    .key { display: flex; flex-wrap: wrap; gap: 0.3rem 1.8rem; }
    .key span::before { content: ''; display: inline-block; width: 1.6em; height: 0.9em; margin-inline-end: 0.5em; border: 2px solid var(--part); border-radius: 3px; vertical-align: -0.05em; }
    .key .waits::before { border-color: transparent; background: repeating-linear-gradient(135deg, var(--muted) 0 1.5px, transparent 1.5px 5px); }
    .forward { --part: var(--series-1); } .backward { --part: var(--series-2); }
    .key .forward::before { border-color: transparent; background: color-mix(in srgb, var(--part) 22%, transparent); }
    dl { display: flex; flex-wrap: wrap; gap: 0.2rem 2.4rem; margin: 0; font-variant-numeric: tabular-nums; }
    dl div { display: flex; flex-wrap: wrap; gap: 0 0.5rem; } dt { font-size: inherit; } dd { font-weight: 600; }
  `;

  const EVERY = 700; // ms for a unit of time

  const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => [from + i]);
  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  class PipelinePlayer extends Player {
    made() {
      this.desk(STYLE, `
        <div class="ask">
          ${select('schedule', 'Schedule', [['gpipe', 'GPipe: all forward, then all backward'], ['1f1b', '1F1B: one forward, one backward']])}
          ${select('stages', 'Stages', numbers(2, 6))}${select('micros', 'Micro-batches', numbers(1, 8))}
        </div>
        <div class="key hint"><span class="forward">forward</span><span class="backward">backward, twice as long</span><span class="waits">waiting: the bubble</span></div>
        ${Player.controls('Time', ['first', 'back', 'play', 'next', 'last'], '')}
        <div class="view" tabindex="0" role="group" aria-label="The pipeline; the arrow keys go through time" aria-describedby="how"></div>
        ${facts({ time: 'time', kept: 'kept now, by stage', peak: 'kept at most', waited: 'bubble so far', idle: 'formula (p − 1)/(m + p − 1)' })}
        <p id="how" class="hint">Each step is one unit of time. With the keyboard: Tab to the picture, then the arrow keys, Home and End.</p>
        <p class="aloud" role="status" aria-live="polite"></p>`);
      for (const name of ['stages', 'micros']) this.input(name).value = 4;
      this.on('.ask', 'change', () => this.chosen());
      this.plays(EVERY, '.view');
      this.chosen();
      this.sized('.view', () => this.width !== this.part('.view').clientWidth && this.draw());
    }

    /** The reader chose another pipeline: it shows whole. */
    chosen() {
      this.pause();
      this.schedule = this.input('schedule').value;
      [this.stages, this.micros] = ['stages', 'micros'].map((name) => Number(this.input(name).value));
      this.slots = plan(this.schedule, this.stages, this.micros);
      this.end = Math.max(...this.slots.map((slot) => slot.end));
      this.facts({
        peak: peaks(this.slots, this.stages).join(' · '),
        idle: `${this.stages - 1}/${this.micros + this.stages - 1} = ${percent(bubble(this.stages, this.micros))}`,
      });
      this.move(this.end);
    }

    draw() {
      const view = this.part('.view');
      this.width = view.clientWidth;
      view.innerHTML = picture(this.schedule, this.stages, this.micros, this.step === this.end ? Infinity : this.step, this.width || undefined);
      const svg = this.part('svg');
      svg.setAttribute('role', 'img');
      svg.setAttribute('aria-label', svg.querySelector('desc').textContent);
    }

    /** Shows what has begun before a time; while it plays, time goes on evenly. */
    show(quiet, before) {
      const { step: time } = this;
      this.draw();
      const { tall, unit } = space(this.stages, this.end, this.width || undefined);
      if (quiet && !this.still && time === before + 1) {
        this.part('.now')?.animate([{ transform: `translate${tall ? 'Y' : 'X'}(${-unit}px)` }, { transform: 'none' }], this.every);
      }
      const [lost, all] = [waited(this.slots, this.stages, time), this.stages * time];
      const bubbles = `${lost} of ${all} units${all ? `, ${percent(lost / all)}` : ''}`;
      this.facts({ time: `${time} of ${this.end}`, kept: kept(this.slots, this.stages, time).join(' · '), waited: bubbles });
      if (quiet) return;
      const now = this.slots.filter((slot) => slot.start < time && slot.end >= time);
      const words = now.map(({ stage, work: { direction, micro } }) => `stage ${stage} ${direction} ${micro + 1}`);
      this.say('.aloud', `Time ${time} of ${this.end}: ${words.join(', ') || 'nothing yet'}. Bubble so far: ${bubbles}.`);
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('pipeline-player', PipelinePlayer);
  else module.exports = { order, timeline, plan, bubble, gaps, waited, kept, peaks, picture };
})();
