// <memory-planner> in a real browser: plans that fit and that do not, the changes that are offered, invalid numbers, with
// the keyboard. Called by browser.mjs for every page that has the element. That it counts as the crates do is a test of
// chapter 8's: chapters/08-hardware/tests/it/memory_planner.rs.
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function memoryPlanner({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} memory`;
    const element = tab.locator('memory-planner').first();
    await tab.waitForFunction(() => globalThis.customElements.get('memory-planner'));
    const part = (selector) => element.locator(`.desk ${selector}`);
    const read = async (selector) => (await part(selector).innerText()).trim();
    const says = async (wanted) => {
      const found = await read('.says');
      if (!found.startsWith(wanted)) fail(where, `says “${found}”, not “${wanted}…”`);
    };
    const expect = async (selector, wanted) => {
      const found = await read(selector);
      if (found !== wanted) fail(where, `${selector} is “${found}”, not “${wanted}”`);
    };
    const choose = (name, value) => part(`[name=${name}]`).selectOption(value);
    const bars = () => element.evaluate((e) => [...e.shadowRoot.querySelectorAll('svg text')].filter((t) => / fit(s)?$/.test(t.textContent)).length);

    // What the page says of VGG16: 251 fit into 24 GiB, and 256 do not.
    await says('It does not fit: 24.4 GiB, and the card has 24 GiB.');
    const offered = await part('.fixes button').allInnerTexts();
    if (!offered.includes('batch 251') || !offered.includes('recompute activations')) fail(where, `offers only ${offered.join(', ')}`);
    if (await bars() !== offered.length + 1) fail(where, `draws ${await bars()} bars for ${offered.length} changes`);
    await element.locator('.fixes button', { hasText: 'batch 251' }).click();
    await says('It fits: 24 GiB of 24 GiB. The largest batch that does is 251.');
    if (await part('[name=batch]').inputValue() !== '251') fail(where, 'does not take the change into its field');
    if (await element.evaluate((e) => e.shadowRoot.activeElement?.name) !== 'batch') fail(where, 'loses the focus with the button');
    if (await part('.fixes button').count() !== 0) fail(where, 'offers changes to a plan that fits');

    // Each of the settings counts: 138,357,544 weights.
    await part('[name=batch]').fill('32');
    await expect('.weights', '528 MiB');
    await says('It fits: 5.04 GiB');
    await choose('precision', 'amp');
    await expect('.weights', '264 MiB');
    await expect('.masters', '528 MiB');
    await choose('precision', 'f32');
    await choose('moves', 'sgd');
    await expect('.optimizer', '0 B');
    await choose('moves', 'adam');
    if (await part('[name=zero]').isEnabled()) fail(where, 'cuts over one device');
    await choose('devices', '4');
    await choose('zero', '1');
    await expect('.optimizer', '264 MiB');
    await expect('.gradients', '528 MiB');
    await choose('zero', '3');
    await expect('.gradients', '132 MiB');
    await expect('.activations', '512 MiB');
    await choose('devices', '1');
    await choose('pieces', '2');
    await expect('.activations', '1 GiB');
    await choose('pieces', '1');
    const kept = await read('.activations');
    await part('[name=recompute]').check();
    if (await read('.activations') === kept) fail(where, 'keeps as much when it computes again');
    await part('[name=recompute]').uncheck();

    // A card of the table brings its memory, and a memory of one's own is no card.
    await choose('card', { label: 'NVIDIA H100 SXM' });
    await expect('.says', 'It fits: 5.04 GiB of 74.5 GiB. The largest batch that does is 835.');
    await part('[name=gib]').fill('2');
    if (await part('[name=card]').inputValue() !== 'own') fail(where, 'still calls the memory by a card’s name');
    await says('It does not fit');

    // A large model: no single change, and two that do.
    await part('[name=gib]').fill('24');
    await choose('model', { label: 'gpt-1.3b, 2,048 tokens' });
    await part('[name=batch]').fill('8');
    await says('It does not fit: 77.9 GiB, and the card has 24 GiB. No single change makes it fit');
    await choose('precision', 'amp');
    await part('.fixes button').first().click();
    if (await part('[name=pieces]').inputValue() !== '8') fail(where, 'does not accumulate over eight pieces');
    await says('It fits: 23.2 GiB');

    // A transformer of one's own, and invalid numbers.
    if (await part('[name=layers]').isVisible()) fail(where, 'asks for the sizes of a known model');
    await choose('model', 'own');
    for (const [name, value] of [['layers', '24'], ['width', '2,048'], ['sequence', '2048'], ['vocabulary', '50257']]) await part(`[name=${name}]`).fill(value);
    await says('It fits: 23.2 GiB');
    for (const bad of ['a word', '', '0', '1.5']) {
      await part('[name=width]').fill(bad);
      if (await read('#problem') === '' || await part('[name=width]').getAttribute('aria-invalid') !== 'true') fail(where, `takes “${bad}” for a width`);
    }
    await part('[name=width]').fill('2048');
    if (await read('#problem') !== '') fail(where, 'still complains about a number');

    // With the keyboard: an arrow in a field turns no page, and s opens no search.
    await part('[name=batch]').focus();
    const address = tab.url();
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('s');
    if (tab.url() !== address || await tab.locator('#mdbook-searchbar').isVisible()) fail(where, 'turns the page, or searches it');
    await part('[name=batch]').fill('256');
    await choose('model', { label: 'vgg16' });
    await choose('pieces', '1');
    await choose('precision', 'f32');

    await sound({ tab, where, element, tag: 'memory-planner', axe, rules, fail });
    await shoot({ element, shots, page, name: `memory-${colorScheme}-${viewport.width}` });
    await close();
  }

  await withoutScript({ open, page, tag: 'memory-planner', fail });
}
