// <ring-all-reduce> in a real browser: steps by hand and with the keyboard, what the ranks have at the end, playing
// by itself. Called by browser.mjs for every page that has the element.
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function ringAllReduce({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} ring`;
    const element = tab.locator('ring-all-reduce').first();
    await tab.waitForFunction(() => globalThis.customElements.get('ring-all-reduce'));
    const part = (selector) => element.locator(selector);
    const cells = () => part('.cell text').allTextContents();
    const expect = async (wanted, what) => {
      const found = (await cells()).join(' ');
      if (found !== wanted) fail(where, `${what}: the parts are “${found}”, not “${wanted}”`);
    };
    await expect('0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3', 'at the start');
    if (await part('.play').isVisible()) fail(where, 'offers to move by itself to a reader who asked for less motion');

    await part('.next').click();
    await expect('0 0 3+0 0 1 1 1 0+1 1+2 2 2 2 3 2+3 3 3', 'after a step');
    await part('.back').click();
    await expect('0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3', 'after a step back');

    // With the keyboard: the page neither scrolls nor turns.
    const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
    for (let step = 0; step < 3; step++) await tab.keyboard.press('ArrowRight');
    const held = await cells();
    const whole = held.map((one, at) => (one === 'sum' ? at : -1)).filter((at) => at >= 0);
    if (whole.join() !== '0,5,10,15') fail(where, `after the first half, rank r does not have the sum of part r: ${held.join(' ')}`);
    await tab.keyboard.press('End');
    await expect(Array(16).fill('sum').join(' '), 'at the end');
    if (!(await part('.words').innerText()).includes('every rank holds the whole sum')) fail(where, 'does not say that it has ended');
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('Home');
    await expect('0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3', 'back at the start');
    if (tab.url() !== address || await tab.evaluate(() => scrollY) !== top) fail(where, 'scrolls or turns the page');

    // What is sent is what the formula says, for every ring.
    for (const [size, n] of [[2, 12e6], [3, 1.2e9], [5, 120e6], [6, 1.2e9]]) {
      await part('.ranks').selectOption(`${size}`);
      await part('.buffer').selectOption(`${n}`);
      await part('.back').focus();
      for (const steps of [0, 1, 2 * size - 2]) {
        await tab.keyboard.press('Home');
        for (let at = 0; at < steps; at++) await tab.keyboard.press('ArrowRight');
        const said = await part('.bytes').innerText();
        const found = [...said.matchAll(/([\d.]+) (MB|GB)/g)].map(([, count, unit]) => Number(count) * (unit === 'GB' ? 1e9 : 1e6));
        const [one, all] = [steps * n / size, 2 * (size - 1) / size * n];
        const wanted = [one, all, size * one, size * all];
        if (found.length !== 4 || wanted.some((count, at) => Math.abs(found[at] - count) > 0.001 * count)) fail(where, `with ${size} ranks and ${n} bytes, after ${steps} steps it says “${said}”, not ${wanted}`);
      }
      if ((await cells()).some((one) => one !== 'sum')) fail(where, `with ${size} ranks the last step leaves ${(await cells()).join(' ')}`);
    }
    await sound({ tab, where: `${where} of six`, element, tag: 'ring-all-reduce', axe, rules, fail });
    await part('.ranks').selectOption('4');
    await expect('0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3', 'with other ranks');
    await part('.buffer').selectOption('120000000');

    // Nothing travels for a reader who asked for less motion.
    await part('.next').click();
    const moves = await element.evaluate((one) => one.shadowRoot.querySelectorAll('.moving').length + one.shadowRoot.getAnimations().length);
    if (moves) fail(where, `${moves} parts travel with reduced motion`);
    await sound({ tab, where, element, tag: 'ring-all-reduce', axe, rules, fail });
    await shoot({ element, shots, page, name: `ring-${colorScheme}-${viewport.width}` });
    await close();
  }

  // It plays and pauses, and a message on its way arrives.
  const playing = await open({ reducedMotion: 'no-preference' }, page);
  const element = playing.tab.locator('ring-all-reduce').first();
  const play = element.locator('.play');
  await play.click();
  if (await play.innerText() !== 'Pause') fail(playing.where, 'the ring does not say how to pause it');
  // Between two steps none is.
  await playing.tab.waitForFunction((one) => one.shadowRoot.querySelector('.message')?.getAttribute('visibility') === 'visible', await element.elementHandle())
    .catch(() => fail(playing.where, 'no message of the ring is on its way'));
  await play.click();
  if (await play.innerText() !== 'Play') fail(playing.where, 'the ring does not pause');
  await element.locator('.cell text').filter({ hasText: '3+0' }).first().waitFor({ timeout: 60_000 }).catch(() => fail(playing.where, 'a message of the ring does not arrive'));

  // Part 3 of rank 0 goes right to rank 1, in between it is between them, and it counts when it is there.
  const travel = await element.evaluate(async (one) => {
    one.go(0);
    one.go(1);
    const message = one.shadowRoot.querySelector('.message');
    const bytes = () => one.shadowRoot.querySelector('.bytes').textContent.match(/sent (\S+ MB)/)[1];
    const x = (part) => part.getBoundingClientRect().left;
    const begin = bytes();
    for (const moving of message.getAnimations()) { moving.pause(); moving.currentTime = 300; }
    const cells = [...one.shadowRoot.querySelectorAll('.cell')];
    const [from, at, to] = [x(cells[3]), x(message), x(cells[7])];
    one.go(2);
    one.go(1);
    return { from, at, to, begin, after: bytes(), left: one.shadowRoot.querySelectorAll('.moving').length };
  });
  if (!(travel.from + 20 < travel.at && travel.at < travel.to - 20)) fail(playing.where, `half way a part of the ring is at ${travel.at}, from ${travel.from} to ${travel.to}`);
  if (travel.begin !== '0 MB' || travel.after !== '30 MB') fail(playing.where, `counts ${travel.begin} on the way and ${travel.after} after it`);
  if (travel.left) fail(playing.where, 'a step back of the ring travels');
  await playing.close();

  await withoutScript({ open, page, tag: 'ring-all-reduce', fail });
}
