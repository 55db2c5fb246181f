// <card-calculator> in a real browser: a reader's job, numbers of one's own, invalid numbers, with the keyboard.
// Called by browser.mjs for every page that has the element.
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function cardCalculator({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} cards`;
    const element = tab.locator('card-calculator').first();
    await tab.waitForFunction(() => globalThis.customElements.get('card-calculator'));
    if (!(await element.locator('table').count())) fail(where, 'has no table for readers without scripts');
    await element.evaluate((e) => e.replaceChildren()); // that table, which would also be found
    const part = (selector) => element.locator(selector);
    const caption = () => part('caption').innerText();
    const names = () => part('tbody th').allInnerTexts();

    const count = (await names()).length;
    if (count < 15) fail(where, `has ${count} cards`);
    if (!(await caption()).startsWith('Cheapest: ')) fail(where, `does not name the cheapest: “${await caption()}”`);

    // Another job: the fields follow, and so do the rows.
    const before = await part('tbody').innerText();
    await part('select').selectOption({ index: 3 });
    if (await part('input[name=cards]').inputValue() === '1') fail(where, 'keeps one card for the cluster');
    if (await part('tbody').innerText() === before) fail(where, 'does not follow another job');

    // A number of one's own: four times the examples cost about four times as much, and the job is one's own.
    await part('select').selectOption({ index: 2 });
    const cost = async () => Number((await caption()).match(/for ([\d.,e]+)/)?.[1].replaceAll(',', ''));
    const [once, examples] = [await cost(), Number(await part('input[name=examples]').inputValue())];
    await part('input[name=examples]').fill(String(4 * examples));
    const ratio = await cost() / once;
    if (!(ratio > 3.8 && ratio < 4.2)) fail(where, `four times the examples cost ${ratio} times as much`);
    if (await part('select').inputValue() !== 'own') fail(where, 'still calls the job by its name');
    await part('input[name=batch]').fill('a word');
    if (await part('#problem').innerText() === '' || await part('input[name=batch]').getAttribute('aria-invalid') !== 'true') fail(where, 'takes a word for a number');
    await part('input[name=batch]').fill('64');
    if (await part('#problem').innerText() !== '') fail(where, 'still complains about a number');

    // With the keyboard: an arrow in a field turns no page.
    await part('input[name=cards]').focus();
    const address = tab.url();
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('s');
    if (tab.url() !== address) fail(where, 'turns the page');
    await part('input[name=cards]').fill('2');
    if (!(await names()).every((name) => name.startsWith('2 × '))) fail(where, 'does not say how many cards');

    await sound({ tab, where, element, tag: 'card-calculator', axe, rules, fail });
    await shoot({ element, shots, page, name: `cards-${colorScheme}-${viewport.width}` });
    await close();
  }

  await withoutScript({ open, page, tag: 'card-calculator', shows: ['table'], fail });
}
