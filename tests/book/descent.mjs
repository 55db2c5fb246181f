// <descent-playground> in a real browser: rates below and above the limit, every rule, the start moved with the
// pointer and with the keyboard, steps by hand, playing by itself. Called by browser.mjs for every page that has
// the element.
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function descentPlayground({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} descent`;
    const element = tab.locator('descent-playground').first();
    await tab.waitForFunction(() => globalThis.customElements.get('descent-playground'));
    const part = (selector) => element.locator(selector);
    const says = async (wanted, what, selector = '.says') => {
      const found = await part(selector).innerText();
      if (!found.includes(wanted)) fail(where, `${what}: it says “${found}”, not “${wanted}”`);
    };
    const points = async (view = '.plane .way') => (await part(view).getAttribute('points')).split(' ').filter(Boolean);
    if (await part('.play').isVisible()) fail(where, 'offers to move by itself to a reader who asked for less motion');
    if (await part('.level').count() < 5) fail(where, 'draws no lines of equal loss');

    // A bowl of steepness 20: plain descent has its limit at 0.1, momentum at 0.19.
    await says('It arrives', 'plain descent below the limit');
    await says('2/λ = 0.1, with λ = 20', 'plain descent');
    await part('.rate').fill('-0.98');
    await says('It diverges', 'plain descent above the limit');
    await part('.rule').selectOption('momentum');
    await part('.rate').fill('-0.98');
    await says('2(1 + μ)/λ = 0.19', 'momentum');
    await part('.rate').fill('-0.7');
    await says('It diverges', 'momentum above the limit');
    // What is kept to compare stays when the rule changes, and goes with the loss.
    await part('.keep').click();
    if (!(await part('.keep').innerText()).includes('Momentum, η 0.2')) fail(where, 'does not say what is kept');
    for (const rule of ['rmsprop', 'adam', 'adamw', 'sgd']) {
      await part('.rule').selectOption(rule);
      const found = await part('.says').innerText();
      if (!/^(It arrives|It jumps|It is on its way)/.test(found)) fail(where, `${rule} at its first rate: ${found}`);
    }
    if ((await points('.chart .kept')).length < 20) fail(where, 'forgets what is kept');
    await part('.k').fill('6');
    await says('2/λ = 0.02, with λ = 100', 'a steeper bowl');
    if ((await points('.chart .kept')).length) fail(where, 'keeps the way of another loss');

    // Batches, and the other losses.
    await part('.landscape').selectOption('valley');
    if (await part('.k').isVisible()) fail(where, 'asks how steep a valley is that has one shape');
    await part('.batch').selectOption('1');
    await says('pull it to and fro', 'batches of one example');
    await part('.batch').selectOption('8');
    await part('.rule').selectOption('sgd');
    await part('.rate').fill('-1');
    await says('It diverges', 'plain descent in the valley');
    await part('.landscape').selectOption('network');
    const before = await points();
    if (before.length !== 201) fail(where, `${before.length} points, not 201`);

    // Another start: by the keyboard, by the pointer, and by a touch of the map.
    const start = part('.start');
    const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
    await start.focus();
    const scrolled = await tab.evaluate(() => scrollY);
    const name = () => start.getAttribute('aria-label');
    if (await name() !== 'Starting point: x −0.4, y 2.3') fail(where, `begins at ${await name()}`);
    for (const key of ['ArrowRight', 'ArrowDown', 's']) await tab.keyboard.press(key);
    if (await name() !== 'Starting point: x −0.3, y 2.2') fail(where, `the arrow keys lead to ${await name()}`);
    if ((await points()).join() === before.join()) fail(where, 'another start has the same way');
    if (tab.url() !== address || await tab.evaluate(() => scrollY) !== scrolled) fail(where, `scrolls or turns the page (it was at ${top})`);
    await part('.plane').scrollIntoViewIfNeeded();
    const box = await part('.plane').boundingBox();
    await part('.plane').click({ position: { x: box.width / 4, y: 3 * box.height / 4 } });
    if (await name() !== 'Starting point: x −1.5, y −1.5') fail(where, `a touch of the map leads to ${await name()}`);
    await start.scrollIntoViewIfNeeded();
    const ring = await start.boundingBox();
    await tab.mouse.move(ring.x + ring.width / 2, ring.y + ring.height / 2);
    await tab.mouse.down();
    const drag = await part('.plane').boundingBox();
    await tab.mouse.move(drag.x + drag.width / 2, drag.y + drag.height / 2, { steps: 4 });
    await tab.mouse.up();
    if (await name() !== 'Starting point: x 0, y 0') fail(where, `the pointer leads to ${await name()}`);
    await says('It stands still', 'the middle of the network');

    // Step by step.
    await part('.first').click();
    if ((await points()).length !== 1) fail(where, 'has a way before the first step');
    await part('.next').click();
    await tab.keyboard.press('ArrowRight');
    if ((await points()).length !== 3) fail(where, 'two steps are not two');
    await says('Step 2:', 'two steps', '.now >> nth=0');
    await tab.keyboard.press('End');
    if ((await points('.chart .way')).length !== 201) fail(where, 'does not go to the end');

    await sound({ tab, where, element, tag: 'descent-playground', beside: 'svg', axe, rules, fail });
    await shoot({ element, shots, page, name: `descent-${colorScheme}-${viewport.width}` });
    await close();
  }

  // It plays and pauses.
  const playing = await open({ reducedMotion: 'no-preference' }, page);
  const element = playing.tab.locator('descent-playground').first();
  const play = element.locator('.play');
  await play.click();
  if (await play.innerText() !== 'Pause') fail(playing.where, 'the descent does not say how to pause it');
  await element.locator('output').filter({ hasText: /^Step [1-9]\d? of/ }).waitFor({ timeout: 60_000 }).catch(() => fail(playing.where, 'the descent does not play'));
  await play.click();
  if (await play.innerText() !== 'Play') fail(playing.where, 'the descent does not pause');
  await playing.close();

  await withoutScript({ open, page, tag: 'descent-playground', fail });
}
