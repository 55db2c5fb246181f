// <bit-explorer> in a real browser: a number typed, a bit turned over by a click and with the keyboard, what is
// said of it. Called by browser.mjs for every page that has the element.
import { LOOKS, shoot, sound } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function bitExplorer({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} bits`;
    const element = tab.locator('bit-explorer').first();
    await tab.waitForFunction(() => globalThis.customElements.get('bit-explorer'));
    const part = (selector) => element.locator(selector);
    const row = (name) => part('.row').filter({ hasText: new RegExp(`^\\s*${name}\\b`) });
    const expect = async (name, fact, wanted) => {
      const found = await row(name).locator(`dd.${fact}`).innerText();
      if (found !== wanted) fail(where, `${name} ${fact} is “${found}”, not “${wanted}”`);
    };
    await expect('bf16', 'value', '0.100097656');

    await part('input').fill('70000');
    await expect('f16', 'value', 'infinity');
    await expect('f16', 'error', 'too large');
    await expect('f16', 'below', '65504');
    await expect('E4M3', 'value', 'NaN');
    await part('input').fill('a word');
    if (await part('#problem').innerText() === '' || await part('input').getAttribute('aria-invalid') !== 'true') fail(where, 'takes a word for a number');

    // A click on the lowest bit of f16's 1: the next number, to which the others follow.
    await part('input').fill('1');
    await row('f16').locator('.bits button').last().click();
    await expect('f16', 'value', '1.00097656');
    await expect('bf16', 'value', '1');
    if (await part('input').inputValue() !== '1.00097656') fail(where, 'keeps the old number after a bit was turned');

    // With the keyboard: the sign of bf16, then its highest exponent bit. The page neither scrolls nor turns.
    await part('input').fill('1');
    await row('bf16').locator('.bits button').first().focus();
    const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
    await tab.keyboard.press('Enter');
    await expect('bf16', 'value', '−1');
    if (await part('.aloud').innerText() !== 'bf16 is −1') fail(where, 'does not say what a bit has changed');
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('Enter');
    await expect('bf16', 'value', '−infinity');
    await tab.keyboard.press('ArrowRight');
    if (tab.url() !== address || await tab.evaluate(() => scrollY) !== top) fail(where, 'scrolls or turns the page');
    if (await row('bf16').locator('.bits button[tabindex="0"]').count() !== 1) fail(where, 'is more than one stop of the Tab key');

    await sound({ tab, where, element, tag: 'bit-explorer', axe, rules, fail });
    await shoot({ element, shots, page, name: `bits-${colorScheme}-${viewport.width}` });
    await close();
  }

  // Without JavaScript the drawing in it shows.
  const { tab, where, close } = await open({ javaScriptEnabled: false }, page, false);
  const element = tab.locator('bit-explorer');
  if ((await element.first().innerText()).trim() === '' && !await element.locator('svg').first().isVisible()) fail(where, 'shows nothing without JavaScript');
  await close();
}
