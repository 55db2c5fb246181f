// <gpt-count> in a real browser: known models and one's own, invalid sizes, the measured rate of the page's machine, with
// the keyboard. Called by browser.mjs for every page that has the element. That it counts as the crates do is a test of
// chapter 9's: chapters/09-language-model/tests/it/gpt_count.rs.
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function gptCount({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} gpt-count`;
    const element = tab.locator('gpt-count').first();
    await tab.waitForFunction(() => globalThis.customElements.get('gpt-count'));
    const part = (selector) => element.locator(`.desk ${selector}`);
    const read = async (selector) => (await part(selector).innerText()).trim();
    const expect = async (selector, wanted) => {
      const found = await read(selector);
      if (found !== wanted) fail(where, `${selector} is “${found}”, not “${wanted}”`);
    };
    const field = (name) => part(`[name=${name}]`);

    // What the page derives for `small`: 5,344,512 parameters, 7% for attention, 277 MiB and some 8 between the layers.
    await expect('.parameters', '5.34 million');
    await expect('.share', '6.9%');
    await expect('.longer', '22.8%, 54.1%, 82.5%');
    await expect('.activations', '285 MiB');
    await expect('.cache', '3 MiB');
    if (await field('tokens').inputValue() !== '106890240') fail(where, 'does not take 20 tokens a parameter');

    // The time is that of the rate in the page, of the machine that is shown.
    const rate = () => element.evaluate((e) => Number(e.querySelector('.rate [data-machine]:not([hidden]) data')?.value));
    const before = await rate();
    if (!(before > 1e9)) fail(where, `finds no measured rate: ${before}`);
    const here = await read('dd.here');
    if (!/[ \u00a0](min|h|days) on \S+$/.test(here)) fail(where, `says “${here}” of this machine`);
    const machines = element.locator('.rate [data-machine]');
    if (await machines.count() > 1) {
      await element.evaluate((e) => [...e.querySelectorAll('.rate [data-machine]')].forEach((one) => one.toggleAttribute('hidden')));
      if (await read('dd.here') === here) fail(where, 'does not follow the page’s machine');
      await element.evaluate((e) => [...e.querySelectorAll('.rate [data-machine]')].forEach((one) => one.toggleAttribute('hidden')));
    }

    // Known models; the large one fits into one card and not into another.
    await field('model').selectOption('tiny');
    await expect('.parameters', '935 thousand');
    await field('model').selectOption('7b');
    await expect('td.h100', 'does not fit into its memory');
    if (!/ to /.test(await read('td.h200'))) fail(where, 'knows no time for the H200');

    // Attention takes half of the operations at some 3,500 tokens of `small`, and tokens of one's own stay.
    await field('model').selectOption('small');
    await field('context').fill('3,600');
    if (await field('model').inputValue() !== 'own') fail(where, 'still calls changed sizes by a known name');
    if (Math.abs(Number.parseFloat(await read('.share')) - 50) > 3) fail(where, `gives attention ${await read('.share')}`);
    await field('tokens').fill('1000000');
    await field('layers').fill('12');
    if (await field('tokens').inputValue() !== '1000000') fail(where, 'replaces the reader’s tokens');
    await part('.fit').click();
    if (await field('tokens').inputValue() === '1000000') fail(where, 'does not go back to 20 tokens a parameter');

    // Sizes that no model has.
    for (const [name, bad] of [['width', 'a word'], ['layers', '0'], ['context', ''], ['batch', '1.5'], ['heads', '7']]) {
      const good = await field(name).inputValue();
      await field(name).fill(bad);
      if (await read('#problem') === '') fail(where, `takes “${bad}” for ${name}`);
      await field(name).fill(good);
      if (await read('#problem') !== '') fail(where, `still complains about ${name}`);
    }

    // With the keyboard: an arrow in a field turns no page, and s opens no search.
    await field('width').focus();
    const address = tab.url();
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('s');
    if (tab.url() !== address || await tab.locator('#mdbook-searchbar').isVisible()) fail(where, 'turns the page, or searches it');
    await field('model').selectOption('small');

    await sound({ tab, where, element, tag: 'gpt-count', axe, rules, fail });
    await shoot({ element, shots, page, name: `gpt-count-${colorScheme}-${viewport.width}` });
    await close();
  }

  await withoutScript({ open, page, tag: 'gpt-count', shows: ['table'], fail });
}
