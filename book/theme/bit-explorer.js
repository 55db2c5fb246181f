// <bit-explorer>: a number in six formats at once, and in a block of four bits each, as bits that can be turned over.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- Arithmetic, the same as in chapter 6's crate: formats/format.rs and formats/round.rs -----------

  const made = (format) => {
    const { exponent, mantissa, lastIsNan, finite } = format;
    const bits = 1 + exponent + mantissa;
    const sign = 2 ** (bits - 1);
    const infinity = (2 ** exponent - 1) * 2 ** mantissa;
    const max = finite ? sign - 1 : lastIsNan ? sign - 2 : infinity - 1;
    const over = finite ? max : max + 1;
    const nan = lastIsNan || finite ? over : infinity + 2 ** (mantissa - 1);
    return { ...format, bits, bias: 2 ** (exponent - 1) - 1, infinity, max, over, nan, sign };
  };

  const FORMATS = [
    { name: 'f32', exponent: 8, mantissa: 23 },
    { name: 'tf32', exponent: 8, mantissa: 10 },
    { name: 'f16', exponent: 5, mantissa: 10 },
    { name: 'bf16', exponent: 8, mantissa: 7 },
    { name: 'E4M3', exponent: 4, mantissa: 3, lastIsNan: true },
    { name: 'E5M2', exponent: 5, mantissa: 2 },
  ].map(made);

  /** Four bits, all of them finite numbers: what is too large becomes 6, and a block's scale brings numbers into reach. */
  const E2M1 = made({ name: 'E2M1', exponent: 2, mantissa: 1, finite: true });
  const SHOWN = [...FORMATS, E2M1];

  /** The number that a code means. */
  function decode(format, code) {
    const magnitude = code % format.sign;
    const mantissa = magnitude % 2 ** format.mantissa;
    const stored = Math.floor(magnitude / 2 ** format.mantissa);
    let value = (mantissa + (stored > 0 ? 2 ** format.mantissa : 0)) * 2 ** (Math.max(stored, 1) - format.bias - format.mantissa);
    if (magnitude > format.max) value = magnitude === format.infinity && !format.lastIsNan ? Infinity : NaN;
    return code >= format.sign ? -value : value;
  }

  /** The exponent of the highest binary digit of a number. */
  function exponentOf(x) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x);
    return Math.max(view.getUint16(0) >> 4 & 0x7ff, 1) - 1023;
  }

  /** The code of the nearest number, ties to even; infinity or NaN for what is too large. */
  function encode(format, x) {
    if (Number.isNaN(x)) return format.nan;
    const sign = x < 0 || Object.is(x, -0) ? format.sign : 0;
    if (!Number.isFinite(x)) return sign + format.over;
    const stored = Math.max(exponentOf(x) + format.bias, 1);
    // In units of the gap between neighbours. A power of two rounds nothing.
    const gaps = Math.abs(x) * 2 ** (format.bias + format.mantissa - stored);
    const kept = Math.floor(gaps);
    const cut = gaps - kept;
    const up = cut > 0.5 || (cut === 0.5 && kept % 2 === 1) ? 1 : 0;
    return sign + Math.min((stored - 1) * 2 ** format.mantissa + kept + up, format.over);
  }

  /** The numbers next to that of a code, below and above; null where there is none. */
  function neighbours(format, code) {
    const value = decode(format, code);
    if (Number.isNaN(value)) return [null, null];
    const magnitude = code % format.sign;
    const next = decode(format, magnitude + 1);
    const outward = magnitude + 1 < format.sign && Number.isFinite(next) ? next : null;
    if (magnitude === 0) return [outward === null ? null : -outward, outward];
    const inward = decode(format, magnitude - 1);
    return value < 0 ? [outward === null ? null : -outward, -inward] : [inward, outward];
  }

  /** A block's scale: the power of two that brings its largest number between 4 and 8, the end of E2M1. */
  const scaleOf = (largest) => 2 ** (exponentOf(largest) - 2);

  // ---- The page ------------------------------------------------------------------------------------

  const { Widget } = globalThis.throughputWidgets ?? require('./widget.js');

  const START = '0.1';
  const LARGEST = ['0.1', '1', '10', '100', '1000'];
  const EXAMPLES = ['0.1', '1', '3.14159', '65504', '70000', '500', '0.00000003', '1e-40', '-0', 'NaN'];

  const STYLE = `
    .desk { gap: 1.4rem; }
    .ask button { padding-inline: 0.9rem; }
    :focus-visible { position: relative; z-index: 1; }
    .ask { display: flex; flex-wrap: wrap; gap: 0.8rem 1.2rem; align-items: end; }
    input { font-family: var(--mono-font, monospace); width: 22rem; max-width: 100%; }
    .examples { display: flex; flex-wrap: wrap; gap: 0.5rem; }
    .key { display: flex; flex-wrap: wrap; gap: 0.3rem 1.8rem; }
    .sign { --part: var(--series-2); } .exponent { --part: var(--series-1); } .mantissa { --part: var(--series-3); }
    .key span { color: var(--part); font-weight: 600; }
    .key span { border-block-end: 3px solid var(--part); }
    .key .exponent { border-block-end-style: double; } .key .mantissa { border-block-end-style: dotted; }
    .row { display: grid; grid-template-columns: 5rem minmax(0, 1fr); gap: 0.2rem 1rem; padding-block: 0.9rem; border-block-start: 1px solid var(--line, currentColor); }
    .name { font-weight: 600; line-height: 2.6rem; }
    .bits { display: flex; flex-wrap: wrap; gap: 0.6rem 0.8rem; }
    .part { display: flex; flex-wrap: wrap; border-block-end: 3px solid var(--part); }
    .part.exponent { border-block-end-style: double; } .part.mantissa { border-block-end-style: dotted; }
    .part button { font-family: var(--mono-font, monospace); width: 2.4rem; height: 2.8rem; min-width: 24px; min-height: 24px; padding: 0; border: 0; border-radius: 3px; color: var(--part); background: transparent; cursor: pointer; }
    .part button.one { font-weight: 700; background: var(--surface); }
    dl { grid-column: 2; display: flex; flex-wrap: wrap; gap: 0.1rem 2rem; margin: 0.3rem 0 0; font-variant-numeric: tabular-nums; font-size: 0.94em; line-height: 1.45; }
    dl div { display: flex; gap: 0.5rem; }
    dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; } dd.value { font-weight: 600; }
    @media (max-width: 480px) { .row { grid-template-columns: minmax(0, 1fr); } dl { grid-column: 1; } }
  `;

  /** A number for people: nine digits, which are enough to tell any two numbers of f32 apart. */
  function text(x) {
    if (x === null) return 'none';
    if (Number.isNaN(x)) return 'NaN';
    if (!Number.isFinite(x)) return x > 0 ? 'infinity' : '−infinity';
    const short = Object.is(x, -0) ? '-0' : String(Number(x.toPrecision(9)));
    return short.replace('e+', 'e').replaceAll('-', '−');
  }

  /** How far the number of a format is from the one that was asked for. */
  function error(wanted, value) {
    if (Object.is(wanted, value) || wanted === value) return 'none';
    if (!Number.isFinite(wanted)) return `the format has no ${Number.isNaN(wanted) ? 'NaN' : 'infinity'}`;
    if (!Number.isFinite(value)) return 'too large';
    if (value === 0) return 'all of it: too small';
    const share = 100 * Math.abs((value - wanted) / wanted);
    return `${text(Number(share.toPrecision(3)))}%`;
  }

  class BitExplorer extends Widget {
    made() {
      const block = `<div><dt><label for="largest">largest number of its block</label></dt><dd><select id="largest">${LARGEST.map((one) => `<option>${one}</option>`).join('')}</select></dd></div>
        <div><dt>scale</dt><dd class="scale"></dd></div>`;
      const rows = SHOWN.map(({ name, exponent, mantissa, finite }, row) => {
        const parts = [['sign', 1], ['exponent', exponent], ['mantissa', mantissa]].map(([part, count]) => {
          const bits = Array.from({ length: count }, () => '<button type="button" tabindex="-1">0</button>');
          return `<div class="part ${part}">${bits.join('')}</div>`;
        });
        const facts = [['is', 'value'], ['error', 'error'], ['below', 'below'], ['above', 'above']]
          .map(([term, part]) => `<div><dt>${term}</dt><dd class="${part}"></dd></div>`);
        return `<div class="row" data-row="${row}"><span class="name" id="name-${row}">${name}</span>
          <div class="bits" role="group" aria-labelledby="name-${row}" aria-describedby="how">${parts.join('')}</div><dl>${facts.join('')}${finite ? block : ''}</dl></div>`;
      });
      this.desk(STYLE, `
        <div class="ask"><label>A number<input type="text" inputmode="text" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="how problem"></label>
          <div class="examples" role="group" aria-label="Examples">${EXAMPLES.map((one) => `<button type="button">${one}</button>`).join('')}</div></div>
        <p id="problem" class="hint" role="status"></p>
        <p id="how" class="hint">Type a number, or turn a bit over by a click. With the keyboard: Tab goes from format to format, the arrow keys from bit to bit, Enter turns it over.</p>
        <div class="key hint"><span class="sign">sign</span><span class="exponent">exponent</span><span class="mantissa">mantissa</span></div>
        <div>${rows.join('')}</div>
        <p class="aloud" role="status" aria-live="polite"></p>`);
      this.input = this.part('input');
      this.input.value = START;
      this.rows = this.parts('.row');
      this.input.addEventListener('input', () => this.typed());
      this.part('.examples').addEventListener('click', ({ target }) => {
        if (!target.matches('button')) return;
        this.input.value = target.textContent;
        this.typed();
      });
      this.rows.forEach((row, format) => {
        const buttons = [...row.querySelectorAll('button')];
        buttons[0].tabIndex = 0;
        buttons.forEach((button, at) => {
          button.addEventListener('click', () => this.turn(format, at));
          button.addEventListener('focus', () => buttons.forEach((one) => { one.tabIndex = one === button ? 0 : -1; }));
        });
        row.addEventListener('keydown', (event) => this.move(event, buttons));
      });
      this.part('select').addEventListener('change', () => this.typed());
      this.typed();
    }

    /** What a row's numbers are multiples of. */
    scale({ finite }) {
      return finite ? scaleOf(Number(this.part('select').value)) : 1;
    }

    /** The number that the reader typed. */
    typed() {
      const asked = this.input.value.trim().replaceAll('−', '-').replace(',', '.');
      const words = { nan: NaN, inf: Infinity, infinity: Infinity, '-inf': -Infinity, '-infinity': -Infinity };
      const x = words[asked.toLowerCase()] ?? Number(asked);
      const wrong = asked === '' || (Number.isNaN(x) && asked.toLowerCase() !== 'nan');
      this.input.setAttribute('aria-invalid', String(wrong));
      this.part('#problem').textContent = wrong ? 'This is no number. Try 0.1, 1e-5, inf or NaN.' : '';
      if (!wrong) this.show(x, SHOWN.map((format) => encode(format, x / this.scale(format))));
    }

    /** Turns over one bit of one format; the others follow. */
    turn(row, at) {
      const format = SHOWN[row];
      const weight = 2 ** (format.bits - 1 - at);
      const old = this.codes[row];
      const code = old + (Math.floor(old / weight) % 2 ? -weight : weight);
      const x = decode(format, code) * this.scale(format);
      this.input.value = text(x).replaceAll('−', '-');
      this.input.setAttribute('aria-invalid', 'false');
      this.part('#problem').textContent = '';
      // A NaN keeps the bits that the reader gave it.
      this.show(x, SHOWN.map((other, i) => (i === row ? code : encode(other, x / this.scale(other)))));
      this.part('.aloud').textContent = `${format.name} is ${text(x)}`;
    }

    move(event, buttons) {
      const at = buttons.indexOf(this.shadowRoot.activeElement);
      const to = Widget.pressed(event, { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 });
      if (at < 0 || to === undefined) return;
      buttons[Math.min(Math.max(to, 0), buttons.length - 1)].focus();
    }

    show(x, codes) {
      this.codes = codes;
      this.rows.forEach((row, i) => {
        const [format, code] = [SHOWN[i], codes[i]];
        row.querySelectorAll('button').forEach((button, at) => {
          const place = format.bits - 1 - at;
          const bit = Math.floor(code / 2 ** place) % 2;
          const part = at === 0 ? 'sign' : at <= format.exponent ? `exponent, bit ${place - format.mantissa}` : `mantissa, bit ${place}`;
          button.textContent = bit;
          button.classList.toggle('one', bit === 1);
          button.setAttribute('aria-label', `${bit}: ${part}`);
        });
        const scale = this.scale(format);
        const value = decode(format, code) * scale;
        const [below, above] = neighbours(format, code).map((next) => (next === null ? null : next * scale));
        const facts = { value: text(value), error: error(x, value), below: text(below), above: text(above) };
        for (const [name, fact] of Object.entries(facts)) row.querySelector(`dd.${name}`).textContent = fact;
        if (format.finite) row.querySelector('dd.scale').textContent = text(scale);
      });
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('bit-explorer', BitExplorer);
  else module.exports = { FORMATS, E2M1, decode, encode, neighbours, scaleOf };
})();
