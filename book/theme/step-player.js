// <step-player>: walks through a diagram step by step.
//
// The diagram in it says how: `data-steps` on the <svg> is how many rounds there are. An element with
// `data-shift="DX DY"` moves by that much each round; one with `data-show="PHASE"` shows in that phase alone.
// The items of the list in the element are the phases of a round. Without JavaScript the diagram and the
// list stand as they are.
(() => {
  'use strict';

  const STYLE = `
    .controls { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: center; justify-content: center; margin-block: 0.4rem 1.6rem; }
    button { font: inherit; min-height: 3.2rem; padding: 0.3rem 1.4rem; color: var(--fg); background: var(--surface); border: 1px solid var(--searchbar-border-color, currentColor); border-radius: 4px; cursor: pointer; }
    button[aria-disabled=true] { opacity: 0.55; cursor: default; }
    button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    output { color: var(--muted); font-variant-numeric: tabular-nums; min-width: 13rem; }
    .aloud { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    [hidden] { display: none; }
    @media print { .controls { display: none; } }
  `;

  class StepPlayer extends HTMLElement {
    connectedCallback() {
      this.svg = this.querySelector('svg[data-steps]');
      if (!this.svg || this.shadowRoot) return;
      this.phases = [...this.querySelectorAll('li')];
      const per = Math.max(this.phases.length, 1);
      this.steps = Number(this.svg.dataset.steps) * per;
      this.step = 0;
      this.attachShadow({ mode: 'open' }).innerHTML = `<style>${STYLE}</style><slot></slot>
        <div class="controls" role="group" aria-label="Steps of the diagram">
          <button type="button" class="back">Back</button><button type="button" class="play">Play</button>
          <button type="button" class="next">Next</button><output aria-hidden="true"></output>
          <span class="aloud" role="status" aria-live="polite"></span></div>`;
      const $ = (name) => this.shadowRoot.querySelector(name);
      const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
      for (const part of this.svg.querySelectorAll('[data-shift]')) {
        if (!still) part.style.transition = 'transform 0.6s ease-in-out';
      }
      $('.play').hidden = still; // it moves by itself, which the reader asked not to have
      $('.back').addEventListener('click', () => { this.pause(); this.go(this.step - 1); });
      $('.next').addEventListener('click', () => { this.pause(); this.go(this.step + 1); });
      $('.play').addEventListener('click', () => (this.timer ? this.pause() : this.play()));
      this.go(0, false);
    }

    disconnectedCallback() { this.pause(); }

    play() {
      if (this.step === this.steps - 1) this.go(0);
      this.timer = setInterval(() => {
        this.go(this.step + 1);
        if (this.step === this.steps - 1) this.pause();
      }, 1800);
      this.shadowRoot.querySelector('.play').textContent = 'Pause';
    }

    pause() {
      clearInterval(this.timer);
      this.timer = undefined;
      if (this.shadowRoot) this.shadowRoot.querySelector('.play').textContent = 'Play';
    }

    /** Shows a step: its round and its phase. */
    go(step, aloud = true) {
      this.step = Math.min(Math.max(step, 0), this.steps - 1);
      const per = Math.max(this.phases.length, 1);
      const [round, phase] = [Math.floor(this.step / per), this.step % per];
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
      const $ = (name) => this.shadowRoot.querySelector(name);
      const where = `Round ${round + 1} of ${this.steps / per}, step ${phase + 1} of ${per}`;
      $('output').textContent = where;
      if (aloud) $('.aloud').textContent = `${where}. ${this.phases[phase]?.textContent ?? ''}`;
      // A button that is used up keeps the focus: only its look says so.
      $('.back').setAttribute('aria-disabled', this.step === 0);
      $('.next').setAttribute('aria-disabled', this.step === this.steps - 1);
    }
  }

  customElements.define('step-player', StepPlayer);
})();
