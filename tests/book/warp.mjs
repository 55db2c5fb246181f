// <warp-viewer> in a real browser: patterns chosen and turned, steps by hand and with the keyboard, a prediction
// first, playing by itself. Called by browser.mjs for every page that has the element.
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

/** Looks at both memories of `page`; `fail(where, what)` is told what is wrong. */
export async function warpViewer({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    await tab.waitForFunction(() => globalThis.customElements.get('warp-viewer'));
    for (const memory of ['global', 'shared']) {
      const where = `${at} ${memory} warp`;
      const shared = memory === 'shared';
      const element = tab.locator(`warp-viewer[memory=${memory}]`).first();
      const part = (selector) => element.locator(selector);
      const says = async (wanted, what, selector = '.total') => {
        const found = await part(selector).innerText();
        if (!found.includes(wanted)) fail(where, `${what}: it says “${found}”, not “${wanted}”`);
      };
      const count = async (selector, wanted, what) => {
        const found = await part(selector).count();
        if (found !== wanted) fail(where, `${what}: ${found} of ${selector}, not ${wanted}`);
      };
      await says(shared ? '1 wavefront' : '4 sectors of 32 bytes, in 1 line', 'neighbours');
      if (await part('.play').isVisible()) fail(where, 'offers to move by itself to a reader who asked for less motion');

      await part('[type=range]').fill('2');
      await says(shared ? '2 wavefronts. Conflicts cost 1 of them.' : '8 sectors of 32 bytes, in 2 lines of 128: 256 bytes are fetched, of which 128 are wanted, 50%', 'a stride of 2');
      await count('.grid .wanted', 32, 'a stride of 2');
      await part('.type').selectOption('float4');
      await says(shared ? '8 wavefronts' : '32 sectors', 'a stride of 2 with 16 bytes');
      await part('.type').selectOption('f32');
      await part('.pattern').selectOption('column');
      await says(shared ? '32 wavefronts. Conflicts cost 31' : '32 sectors', 'a column');
      await count('.grid .crowded', shared ? 32 : 0, 'a column');

      // Step by step, and with the keyboard: the page neither scrolls nor turns.
      await part('.next').click();
      await says(shared ? 'Wavefront 1: bank 3 gives one word, for thread 0.' : 'Sector 0, bytes 0 to 31, for thread 0.', 'the first step', '.step');
      await count('.grid .wanted.now', 1, 'the first step');
      const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
      await tab.keyboard.press('ArrowRight');
      await says('thread 1.', 'the second step', '.step');
      await tab.keyboard.press('End');
      await says('thread 31.', 'the last step', '.step');
      await says(shared ? '32 wavefronts so far: 32 of 32 threads' : '32 sectors so far: 1024 bytes fetched, 128 of them wanted, 12.5%.', 'the last step', '.tally');
      await tab.keyboard.press('ArrowRight');
      if (await part('.next').getAttribute('aria-disabled') !== 'true') fail(where, 'goes on after the end');
      await tab.keyboard.press('Home');
      if (await part('.tally').innerText() !== '') fail(where, 'counts before the first step');
      await count('.grid .later', 0, 'back at the start');
      await count('.grid .now', 0, 'back at the start');
      await part('.threads button').first().focus();
      for (const key of ['ArrowRight', 'ArrowDown', 's']) await tab.keyboard.press(key);
      const thread = viewport.width < 620 ? 9 : 17;
      await says(`Thread ${thread} wants bytes`, 'a thread', '.step');
      await count('.grid .mine', 1, 'a thread');
      await count('.threads [tabindex="0"]', 1, 'stops of the Tab key');
      if (tab.url() !== address || Math.abs(await tab.evaluate(() => scrollY) - top) > viewport.height) fail(where, 'scrolls or turns the page');

      if (shared) {
        await part('[type=range]').fill('1');
        await says('1 wavefront. No bank', 'a column of a tile with padding');
      }
      // After the last step the tally is what the load costs, whatever the pattern.
      if (!shared) {
        for (const [pattern, knob, type] of [['stride', '3', 'f32'], ['shift', '5', 'f16'], ['stride', '2', 'float4'], ['scattered', null, 'f32'], ['same', null, 'f16']]) {
          await part('.pattern').selectOption(pattern);
          await part('.type').selectOption(type);
          if (knob) await part('[type=range]').fill(knob);
          await part('.next').focus();
          await tab.keyboard.press('End');
          const [, sectors, fetched, wanted, share] = (await part('.total').innerText()).match(/^(\d+) sectors? .*: (\d+) bytes are fetched, of which (all|\d+) are wanted, ([\d.]+%)/);
          await says(`${sectors} ${sectors === '1' ? 'sector' : 'sectors'} so far: ${fetched} bytes fetched, ${wanted === 'all' ? fetched : wanted} of them wanted, ${share}.`, `${pattern} ${knob} ${type}`, '.tally');
        }
        await part('.type').selectOption('f32');
        await part('.pattern').selectOption('column');
      }
      // Nothing moves for a reader who asked for less motion.
      if (await part('.sweep').isVisible() || await element.evaluate((one) => one.shadowRoot.getAnimations().length)) fail(where, 'moves with reduced motion');
      // A prediction first.
      await part('[type=checkbox]').check();
      const ticks = await tab.locator('warp-viewer [type=checkbox]').evaluateAll((all) => all.map((one) => one.checked));
      if (!ticks.every(Boolean) || !(await tab.evaluate(() => globalThis.throughputAsk.on))) fail(where, 'has a tick that the page does not know');
      if (await part('.answer').isVisible() || await part('.total').innerText() !== '') fail(where, 'gives the answer before it is asked for');
      await part('.guess input').fill('3');
      await part('.guess input').press('Enter');
      await says(`You said 3, and it is ${shared ? 1 : 32}.`, 'a wrong prediction');
      await part('.pattern').selectOption('same');
      if (await part('.answer').isVisible()) fail(where, 'gives the next answer before it is asked for');
      await part('.guess input').fill('1');
      await part('.guess button').click();
      await says('You said 1: right.', 'a right prediction');

      await part('.pattern').selectOption('stride');
      await part('[type=range]').fill('3');
      await part('[type=checkbox]').uncheck();
      await part('.next').click();
      await sound({ tab, where, element, tag: `warp-viewer[memory=${memory}]`, axe, rules, fail });
      await shoot({ element, shots, page, name: `warp-${memory}-${colorScheme}-${viewport.width}` });
    }
    await close();
  }

  // It plays and pauses.
  const playing = await open({ reducedMotion: 'no-preference' }, page);
  const element = playing.tab.locator('warp-viewer').first();
  const play = element.locator('.play');
  await play.click();
  if (await play.innerText() !== 'Pause') fail(playing.where, 'the warp does not say how to pause it');
  await element.locator('output').filter({ hasText: 'Sector 2 of 4' }).waitFor({ timeout: 60_000 }).catch(() => fail(playing.where, 'the warp does not play'));
  await play.click();
  if (await play.innerText() !== 'Play') fail(playing.where, 'the warp does not pause');

  // Words come from where they were: from the threads in a step, from their old places with another pattern.
  const moving = (selector) => element.evaluate((one, selector) => [...one.shadowRoot.querySelectorAll(selector)].filter((cell) => cell.getAnimations().length).length, selector);
  await element.evaluate((one) => { one.go(0); one.go(1); });
  if (await moving('.wanted.now') !== 8) fail(playing.where, `${await moving('.wanted.now')} words come from the threads of a sector`);
  await element.evaluate((one) => one.shadowRoot.getAnimations().forEach((motion) => motion.finish()));
  await element.locator('[type=range]').fill('2');
  if (await moving('.wanted') !== 31) fail(playing.where, `${await moving('.wanted')} words move with a stride of 2`);
  // The knob turns by itself to its end, and stops when somebody chooses.
  await element.locator('.sweep').click();
  await element.locator('.turn span').filter({ hasText: 'Stride s: 4' }).waitFor({ timeout: 60_000 }).catch(() => fail(playing.where, 'the knob does not turn'));
  await element.locator('.pattern').selectOption('shift');
  if (await element.evaluate((one) => one.sweeping !== undefined)) fail(playing.where, 'the knob turns on after a choice');
  await element.locator('[type=range]').fill('30');
  await element.locator('.sweep').click();
  await element.locator('.sweep').filter({ hasText: 'Sweep' }).waitFor({ timeout: 60_000 });
  if (await element.locator('[type=range]').inputValue() !== '31') fail(playing.where, 'the knob does not reach its end');
  await playing.close();

  await withoutScript({ open, page, tag: 'warp-viewer', fail });
}
