// <step-player>: walks through a diagram step by step.
//
// The diagram in it says how: `data-steps` on the <svg> is how many rounds there are. An element with
// `data-shift="DX DY"` moves by that much each round; one with `data-show="PHASE"` shows in that phase alone.
// The items of the list in the element are the phases of a round. Without JavaScript the diagram and the
// list stand as they are.
(() => {
  'use strict';

  const { Player } = globalThis.throughputWidgets;

  const STYLE = `
    .controls { margin-block: 0.4rem 1.6rem; }
    output { min-width: 13rem; }
    slot { display: contents; }
    @media print { .controls { display: none; } }
  `;

  class StepPlayer extends Player {
    made() {
      this.svg = this.querySelector('svg[data-steps]');
      if (!this.svg) return;
      this.phases = [...this.querySelectorAll('li')];
      this.per = Math.max(this.phases.length, 1);
      this.rounds = Number(this.svg.dataset.steps);
      this.end = this.rounds * this.per - 1;
      const buttons = Player.controls('Steps of the diagram', ['back', 'play', 'next']);
      this.fill(STYLE, `<slot></slot>${buttons}<span class="aloud" role="status" aria-live="polite"></span>`);
      for (const part of this.svg.querySelectorAll('[data-shift]')) {
        if (!this.still) part.style.transition = 'transform 0.6s ease-in-out';
      }
      this.plays(1800);
      this.move(0);
      this.say('.aloud', ''); // nobody has asked yet
    }

    /** Shows a step: its round and its phase. */
    show() {
      const [round, phase] = [Math.floor(this.step / this.per), this.step % this.per];
      for (const part of this.svg.querySelectorAll('[data-shift]')) {
        const [dx, dy] = part.dataset.shift.split(' ').map((by) => by * round);
        part.style.transform = `translate(${dx}px, ${dy}px)`;
      }
      for (const part of this.svg.querySelectorAll('[data-show]')) {
        part.setAttribute('visibility', Number(part.dataset.show) === phase ? 'visible' : 'hidden');
      }
      this.phases.forEach((item, at) => {
        if (at === phase) item.setAttribute('aria-current', 'step');
        else item.removeAttribute('aria-current');
      });
      const where = `Round ${round + 1} of ${this.rounds}, step ${phase + 1} of ${this.per}`;
      this.part('output').textContent = where;
      this.say('.aloud', `${where}. ${this.phases[phase]?.textContent ?? ''}`);
    }
  }

  customElements.define('step-player', StepPlayer);
})();
