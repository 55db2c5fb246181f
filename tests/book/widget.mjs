// What every element that runs something is held to: it fits, its controls are large enough, axe finds nothing, its keys are
// its own, it moves by itself only for those who like that, and its drawing shows without JavaScript.
//
// `widgets` has a file for each element, of its name, which may export
//
// - `tried(kit)`: what is tried on it in each of `LOOKS`, for a reader who asked for less motion;
// - `moved(kit)`: the same for a reader who did not;
// - `visited(visit)`: visits of its own, `visit(options)`, one after the other; `options.set` has attributes for it;
// - `kinds`: selectors of the elements of a page that are tried one by one;
// - `beside`: what scrolls sideways on purpose;
// - `still`: what shows without JavaScript.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** A desktop in light and a phone in dark: so both themes and both widths are seen. */
export const LOOKS = [['light', { width: 1280, height: 900 }], ['dark', { width: 360, height: 740 }]];

/** What `axe` finds wrong with the elements `tag`. */
export async function accessible({ tab, where, tag, axe, rules, fail }) {
  await tab.evaluate(axe);
  await tab.evaluate(() => scrollTo(0, 0)); // the bar that stays covers nothing then
  const { violations } = await tab.evaluate(([runOnly, tag]) => globalThis.axe.run(tag, { runOnly, resultTypes: ['violations'], preload: false }), [rules, tag]);
  for (const { id, nodes } of violations) fail(where, `axe ${id}: ${nodes[0].target} (${nodes[0].any[0]?.message ?? ''})`);
}

/** Holds the element `tag` of a page to all that, and tries what is its `own`. */
export async function laws({ tag, own, open, page, axe, rules, shots, fail: told }) {
  async function visit({ kind = '', set = {}, ...options } = {}) {
    const { tab, where: at } = await open({ viewport: LOOKS[0][1], ...options }, page);
    const where = `${at} <${tag}${kind}>`;
    const element = tab.locator(tag + kind).first();
    await element.evaluate((one, set) => { for (const [name, value] of Object.entries(set)) one.setAttribute(name, value); }, set);
    await tab.waitForFunction((tag) => globalThis.customElements.get(tag), tag);
    // What stands in the element for readers without JavaScript is not looked for.
    const inside = await element.evaluate((one) => Boolean(one.shadowRoot.querySelector('.desk'))) ? element.locator('.desk') : element;
    const fail = (what) => told(where, what);
    const part = (selector) => inside.locator(selector);
    const read = async (selector) => (await part(selector).innerText()).trim();
    const place = () => tab.evaluate(() => [location.href, Math.round(scrollY)].join());
    const kit = {
      tab, where, element, part, read, fail, kind,
      narrow: options.viewport?.width < 620,
      expect: (what, holds) => { if (!holds) fail(what); },
      /** That a part reads so. */
      async is(selector, wanted) {
        const found = await read(selector);
        if (found !== wanted) fail(`${selector} is “${found}”, not “${wanted}”`);
      },
      /** That a part has these words, sooner or later. */
      async says(selector, wanted) {
        const hasText = wanted instanceof RegExp ? wanted : new RegExp(wanted.replace(/[^\w\s]/g, '\\$&'));
        await part(selector).filter({ hasText }).first().waitFor({ timeout: 60_000 })
          .catch(async () => fail(`${selector} says “${await part(selector).first().innerText()}”, not “${wanted}”`));
      },
      choose: (selector, value) => part(selector).selectOption(value),
      /** Presses keys on what has the focus: the page neither scrolls nor turns. */
      async keys(...all) {
        const before = await place();
        for (const key of all) await tab.keyboard.press(key);
        const after = await place();
        if (after !== before) fail(`${all} lead from ${before} to ${after}`);
      },
      /** The element as it is now. */
      async sound() {
        const { over, small } = await element.evaluate((one, beside) => {
          const all = [...one.shadowRoot.querySelectorAll('*')];
          const box = (e) => e.getBoundingClientRect();
          const text = (e) => e.outerHTML.slice(0, 100);
          const controls = all.filter((e) => e.matches('button, input, select') && e.checkVisibility({ visibilityProperty: true }));
          return {
            over: all.filter((e) => !e.parentElement?.closest(beside) && box(e).right > document.documentElement.clientWidth + 1).map(text),
            small: controls.filter((e) => box(e).width < 24 || box(e).height < 24).map(text),
          };
        }, own.beside ?? '.view, .wide');
        if (over.length) fail(`is too wide: ${over[0]}`);
        if (small.length) fail(`has ${small.length} controls of less than 24 pixels, such as ${small[0]}`);
        await accessible({ tab, where, tag: tag + kind, axe, rules, fail: told });
      },
      /** Leaves a screenshot of it. */
      async shoot(name = '') {
        if (!shots) return;
        mkdirSync(shots, { recursive: true });
        const of = [page.replaceAll('/', '_'), tag + kind.replace(/\W+/g, '-'), name, options.colorScheme, options.viewport?.width];
        await element.screenshot({ path: join(shots, `${of.filter(Boolean).join('-')}.png`) });
      },
    };
    return kit;
  }

  for (const kind of own.kinds ?? ['']) {
    for (const [colorScheme, viewport] of LOOKS) {
      const kit = await visit({ kind, colorScheme, viewport, hasTouch: viewport.width < 620, reducedMotion: 'reduce', set: own.set });
      await own.tried?.(kit);
      await kit.sound();
      await kit.shoot();
      await calm(kit);
      await keyed(kit);
    }
  }
  const lively = await visit({ reducedMotion: 'no-preference', set: own.set });
  await plays(lively);
  await own.moved?.(lively);
  await own.visited?.(visit);

  // Without JavaScript what stands in it shows.
  const { tab, where } = await open({ javaScriptEnabled: false }, page);
  for (const what of own.still ?? ['svg']) {
    for (const one of await tab.locator(tag).all()) {
      if (!await one.locator(what).first().isVisible()) told(where, `<${tag}> shows no ${what} without JavaScript`);
    }
  }
}

/** Nothing moves, or offers to, for a reader who asked for less motion. */
async function calm({ element, fail }) {
  const moving = await element.evaluate((one) => [...one.shadowRoot.querySelectorAll('.play, .sweep')].filter((e) => e.checkVisibility()).length + one.shadowRoot.getAnimations().length);
  if (moving) fail(`${moving} parts move with reduced motion`);
}

/** A key that is pressed on a control turns no page, and opens no search. */
async function keyed({ tab, element, fail }) {
  const address = tab.url();
  const controls = element.locator('button:not([tabindex="-1"]), input, select, textarea, [tabindex="0"]');
  for (const control of await controls.elementHandles()) {
    // Another one may have been drawn in its place meanwhile.
    if (!await control.evaluate((e) => e.isConnected && !e.disabled && e.checkVisibility() && e.getRootNode() !== document)) continue;
    await control.focus();
    for (const key of ['ArrowRight', 's']) await tab.keyboard.press(key);
    if (tab.url() === address && !await tab.locator('#mdbook-searchbar').isVisible()) continue;
    fail(`a key on ${await control.evaluate((e) => e.outerHTML.slice(0, 80))} turns the page, or searches it`);
    return;
  }
}

/** What has steps plays them, and pauses. */
async function plays({ tab, element, fail }) {
  if (!await element.evaluate((one) => Boolean(one.every))) return;
  const play = element.locator('.play');
  await play.click();
  if (await play.innerText() !== 'Pause') fail('does not say how to pause it');
  await tab.waitForFunction((one) => one.timer && one.step > 0 && one.step < one.end, await element.elementHandle(), { timeout: 60_000 }).catch(() => fail('does not play'));
  await play.click();
  if (await play.innerText() !== 'Play' || await element.evaluate((one) => one.timer !== undefined)) fail('does not pause');
}
