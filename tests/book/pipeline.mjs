// <pipeline-player> in a real browser: schedules chosen, time gone through by clicks and with the keyboard, what is said
// of it. Called by browser.mjs for every page that has the element. That its schedules are the crate's is a test of the
// crate: chapters/07-multi-gpu/tests/it/pipeline_player.rs.
import { shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function pipelinePlayer({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport, reducedMotion] of [['light', { width: 1280, height: 900 }, 'no-preference'], ['dark', { width: 360, height: 740 }, 'reduce']]) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion }, page);
    const where = `${at} pipeline`;
    const element = tab.locator('pipeline-player').first();
    await tab.waitForFunction(() => globalThis.customElements.get('pipeline-player'));
    const part = (selector) => element.locator(selector);
    const expect = async (selector, wanted) => {
      const found = await part(selector).innerText();
      if (found !== wanted) fail(where, `${selector} is “${found}”, not “${wanted}”`);
    };
    // Four stages, four micro-batches: (4 + 4 - 1) units of 1 + 2.
    await expect('.time', '21 of 21');
    await expect('.peak', '4 · 4 · 4 · 4');
    await expect('.idle', '42.9% of each stage\'s time');
    await part('.schedule').selectOption('1f1b');
    await expect('.peak', '4 · 3 · 2 · 1');
    await part('.micros').selectOption('8');
    await expect('.time', '33 of 33');
    await expect('.peak', '4 · 3 · 2 · 1');
    await part('.schedule').selectOption('gpipe');
    await expect('.peak', '8 · 8 · 8 · 8');
    await part('.stages').selectOption('2');
    await expect('.idle', '11.1% of each stage\'s time');

    // Through time, by clicks, and no further than its ends.
    await part('.first').click();
    await expect('.time', '0 of 27');
    if (await part('.view rect').count() !== 0) fail(where, 'shows work before it began');
    await part('.back').focus(); // used up, and still focusable
    await tab.keyboard.press('Enter');
    await expect('.time', '0 of 27');
    await part('.next').click();
    await expect('.kept', '1 · 0');
    if (await part('.view rect').count() !== 1) fail(where, 'does not show the first work');
    if (await part('.aloud').innerText() !== 'Time 1 of 27: stage 1 forward 1.') fail(where, `says “${await part('.aloud').innerText()}”`);

    // With the keyboard. The page neither scrolls nor turns.
    await part('.view').focus();
    const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
    await tab.keyboard.press('ArrowRight');
    await expect('.time', '2 of 27');
    await tab.keyboard.press('End');
    await expect('.time', '27 of 27');
    await tab.keyboard.press('ArrowRight');
    await expect('.time', '27 of 27');
    await tab.keyboard.press('Home');
    await tab.keyboard.press('ArrowLeft');
    await expect('.time', '0 of 27');
    if (tab.url() !== address || await tab.evaluate(() => scrollY) !== top) fail(where, 'scrolls or turns the page');

    // It moves by itself only for those who like that.
    if (await part('.play').isVisible() !== (reducedMotion !== 'reduce')) fail(where, `offers to play with ${reducedMotion}`);
    if (reducedMotion !== 'reduce') {
      await part('.play').click();
      await tab.waitForFunction(() => document.querySelector('pipeline-player').step > 1);
      await part('.play').click();
      if (await element.evaluate((one) => one.timer !== undefined)) fail(where, 'does not stop');
    }
    await part('.last').click();

    await sound({ tab, where, element, tag: 'pipeline-player', axe, rules, fail });
    await shoot({ element, shots, page, name: `pipeline-${colorScheme}-${viewport.width}` });
    await close();
  }

  await withoutScript({ open, page, tag: 'pipeline-player', fail });
}
