// <pipeline-player>: who computes what when in a pipeline, step by step.
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

  // ---- The picture ---------------------------------------------------------------------------------

  const NAMES = { gpipe: 'GPipe', '1f1b': 'one forward, one backward' };

  /** The plan as a drawing, up to a time. */
  function picture(schedule, stages, micros, until = Infinity) {
    const slots = plan(schedule, stages, micros);
    const end = Math.max(...slots.map((slot) => slot.end));
    const [left, unit, row] = [74, 26, 38];
    const [width, height] = [left + end * unit + 6, stages * row + 34];
    const tint = { forward: 'var(--series-1, #2a52d4)', backward: 'var(--series-2, #7a2e00)' };
    const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="inherit" font-size="15" fill="currentColor">`,
      `<desc>${stages} stages as rows, time to the right, ${micros} micro-batches, ${NAMES[schedule]}. A full box is a micro-batch forward, a box with a frame one backward, which takes twice as long; where a row is empty, its stage waits.</desc>`];
    for (let stage = 0; stage < stages; stage += 1) {
      const y = stage * row + 4;
      parts.push(`<text x="2" y="${y + 20}">stage ${stage + 1}</text><path d="M${left} ${y + 32.5}h${end * unit}" stroke="currentColor" stroke-opacity="0.25"/>`);
    }
    for (const { stage, work: { direction, micro }, start, end: to } of slots) {
      if (start >= until) continue;
      const [x, y, w] = [left + start * unit, stage * row + 4, (to - start) * unit];
      const box = `x="${x + 1.5}" y="${y + 1.5}" width="${w - 3}" height="27" rx="3"`;
      const colour = tint[direction];
      parts.push(direction === 'forward'
        ? `<rect ${box} fill="${colour}" fill-opacity="0.22"/>`
        : `<rect ${box} fill="none" stroke="${colour}" stroke-width="2"/>`);
      parts.push(`<text x="${x + w / 2}" y="${y + 20}" text-anchor="middle" fill="${colour}">${micro + 1}</text>`);
    }
    if (until < end) parts.push(`<path d="M${left + until * unit} 0V${stages * row}" stroke="currentColor" stroke-dasharray="4 3"/>`);
    parts.push(`<text x="${left}" y="${height - 8}">time →</text></svg>`);
    return parts.join('\n');
  }

  // Without a page, in the tests, there are only the schedules.
  if (typeof customElements === 'undefined') {
    module.exports = { order, timeline, plan, bubble, kept, peaks, picture };
    return;
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Player } = globalThis.throughputWidgets;

  const STYLE = `
    .ask { display: flex; flex-wrap: wrap; gap: 0.8rem 1.6rem; align-items: end; }
    .controls { justify-content: start; }
    .view { overflow-x: auto; }
    .view svg { display: block; width: 100%; max-width: 90rem; }
    .key { display: flex; flex-wrap: wrap; gap: 0.3rem 1.8rem; }
    .key span::before { content: ''; display: inline-block; width: 1.6em; height: 0.9em; margin-inline-end: 0.5em; border: 2px solid var(--part); border-radius: 3px; vertical-align: -0.05em; }
    .forward { --part: var(--series-1); } .backward { --part: var(--series-2); }
    .key .forward::before { border-color: transparent; background: color-mix(in srgb, var(--part) 22%, transparent); }
    dl { display: flex; flex-wrap: wrap; gap: 0.2rem 2.4rem; margin: 0; font-variant-numeric: tabular-nums; }
    dl div { display: flex; gap: 0.5rem; } dt { color: var(--muted); } dd { margin: 0; font-weight: 600; }
  `;

  const numbers = (from, to, chosen) => Array.from({ length: to - from + 1 }, (_, i) => `<option${from + i === chosen ? ' selected' : ''}>${from + i}</option>`).join('');
  const percent = (share) => `${(100 * share).toFixed(1)}%`;

  class PipelinePlayer extends Player {
    made() {
      this.fill(STYLE, `<slot></slot>
        <div class="desk">
          <div class="ask">
            <label>Schedule<select class="schedule"><option value="gpipe">GPipe: all forward, then all backward</option><option value="1f1b">1F1B: one forward, one backward</option></select></label>
            <label>Stages<select class="stages">${numbers(2, 6, 4)}</select></label>
            <label>Micro-batches<select class="micros">${numbers(1, 8, 4)}</select></label>
          </div>
          <div class="key hint"><span class="forward">forward</span><span class="backward">backward, twice as long</span></div>
          <div class="view" tabindex="0" role="group" aria-label="The pipeline; the arrow keys go through time" aria-describedby="how"></div>
          ${Player.controls('Time', ['first', 'back', 'play', 'next', 'last'], '')}
          <dl><div><dt>time</dt><dd class="time"></dd></div><div><dt>kept now, by stage</dt><dd class="kept"></dd></div><div><dt>kept at most</dt><dd class="peak"></dd></div><div><dt>waiting in all</dt><dd class="idle"></dd></div></dl>
          <p id="how" class="hint">Each step is one unit of time. With the keyboard: Tab to the picture, then the arrow keys, Home and End.</p>
          <p class="aloud" role="status" aria-live="polite"></p>
        </div>`);
      for (const select of this.parts('select')) select.addEventListener('change', () => this.chosen());
      this.plays(700, '.view');
      this.chosen();
    }

    /** The reader chose another pipeline: it shows whole. */
    chosen() {
      this.pause();
      this.schedule = this.part('.schedule').value;
      this.stages = Number(this.part('.stages').value);
      this.micros = Number(this.part('.micros').value);
      this.slots = plan(this.schedule, this.stages, this.micros);
      this.end = Math.max(...this.slots.map((slot) => slot.end));
      this.part('.peak').textContent = peaks(this.slots, this.stages).join(' · ');
      this.part('.idle').textContent = `${percent(bubble(this.stages, this.micros))} of each stage's time`;
      this.move(this.end);
    }

    /** Shows what has begun before a time. */
    show(quiet) {
      const { step: time } = this;
      this.part('.view').innerHTML = picture(this.schedule, this.stages, this.micros, time === this.end ? Infinity : time);
      const svg = this.part('svg');
      svg.style.minWidth = `${74 + this.end * 17}px`;
      svg.setAttribute('role', 'img');
      svg.setAttribute('aria-label', svg.querySelector('desc').textContent);
      this.part('.time').textContent = `${time} of ${this.end}`;
      this.part('.kept').textContent = kept(this.slots, this.stages, time).join(' · ');
      if (quiet) return;
      const now = this.slots.filter((slot) => slot.start < time && slot.end >= time);
      const words = now.map(({ stage, work: { direction, micro } }) => `stage ${stage + 1} ${direction} ${micro + 1}`);
      this.say('.aloud', `Time ${time} of ${this.end}: ${words.join(', ') || 'nothing yet'}.`);
    }
  }

  customElements.define('pipeline-player', PipelinePlayer);
})();
