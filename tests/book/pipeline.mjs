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
    await expect('.waited', '36 of 84 units, 42.9%');
    await expect('.idle', '3/7 = 42.9%');
    await part('.schedule').selectOption('1f1b');
    await expect('.peak', '4 · 3 · 2 · 1');
    await part('.micros').selectOption('8');
    await expect('.time', '33 of 33');
    await expect('.peak', '4 · 3 · 2 · 1');
    await part('.schedule').selectOption('gpipe');
    await expect('.peak', '8 · 8 · 8 · 8');
    await part('.stages').selectOption('2');
    await expect('.idle', '1/9 = 11.1%');

    // Through time, by clicks, and no further than its ends.
    await part('.first').click();
    await expect('.time', '0 of 27');
    if (await part('.view :is(.work, .bubble)').count() !== 0) fail(where, 'shows work before it began');
    await part('.back').focus(); // used up, and still focusable
    await tab.keyboard.press('Enter');
    await expect('.time', '0 of 27');
    await part('.next').click();
    await expect('.kept', '1 · 0');
    if (await part('.view .work').count() !== 1 || await part('.view .bubble').count() !== 1) fail(where, 'does not show the first work and that stage 2 waits');
    await expect('.waited', '1 of 2 units, 50.0%');
    if (await part('.aloud').innerText() !== 'Time 1 of 27: stage 1 forward 1. Bubble so far: 1 of 2 units, 50.0%.') fail(where, `says “${await part('.aloud').innerText()}”`);

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
    // At the end the bubble has the share of the formula, and at its longest the picture is neither cut nor tiny.
    for (const [schedule, stages, micros] of [['gpipe', 2, 1], ['1f1b', 3, 5], ['gpipe', 5, 2], ['1f1b', 6, 8]]) {
      for (const [select, value] of [['.schedule', schedule], ['.stages', `${stages}`], ['.micros', `${micros}`]]) await part(select).selectOption(value);
      const [lost, all] = [3 * (stages - 1) * stages, 3 * (micros + stages - 1) * stages];
      await expect('.waited', `${lost} of ${all} units, ${(100 * (stages - 1) / (micros + stages - 1)).toFixed(1)}%`);
      const seen = await part('.view').evaluate((view) => {
        const { right } = view.getBoundingClientRect();
        const texts = [...view.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
        return { cut: view.scrollWidth > view.clientWidth || texts.some((text) => text.right > right + 1), small: texts.filter((text) => text.height < 11).length };
      });
      if (seen.cut || seen.small) fail(where, `with ${stages} stages and ${micros} micro-batches the picture is cut: ${seen.cut}, with ${seen.small} small words`);
    }
    if (tab.url() !== address || await tab.evaluate(() => scrollY) !== top) fail(where, 'scrolls or turns the page');

    // It moves by itself only for those who like that.
    if (await part('.play').isVisible() !== (reducedMotion !== 'reduce')) fail(where, `offers to play with ${reducedMotion}`);
    if (reducedMotion !== 'reduce') {
      await part('.play').click();
      await tab.waitForFunction(() => {
        const { step, shadowRoot } = document.querySelector('pipeline-player');
        return step > 1 && shadowRoot.querySelector('.now').getAnimations().length === 1; // now moves
      });
      await part('.play').click();
      if (await element.evaluate((one) => one.timer !== undefined)) fail(where, 'does not stop');
    }
    await part('.back').click();
    if (await element.evaluate((one) => one.shadowRoot.querySelector('.now').getAnimations().length)) fail(where, 'a step by hand moves by itself');

    await sound({ tab, where, element, tag: 'pipeline-player', axe, rules, fail });
    await shoot({ element, shots, page, name: `pipeline-${colorScheme}-${viewport.width}` });
    await close();
  }

  await withoutScript({ open, page, tag: 'pipeline-player', fail });
}
