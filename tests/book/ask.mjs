// "Ask me first" in a real browser: nothing is covered until the reader asks for it, a prediction uncovers its answer and is
// compared with the number that the page shows, and the tally stays. Called by browser.mjs for pages with such numbers.
import { LOOKS, accessible } from './widget.mjs';

/** Looks at `page`; `fail(where, what)` is told what is wrong. */
export async function askFirst({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} asked`;
    const [tick, tally, form, told, clear] = ['.ask-switch input', '.ask-switch span', 'form.ask-first', '.ask-said', '.ask-switch button'].map((selector) => tab.locator(selector));
    // What answers: the paragraphs (or lists, or tables) around the numbers that the chosen machine has.
    const covered = () => tab.evaluate(() => [...document.querySelectorAll('main [data-ask]')].map((e) => !e.checkVisibility()));
    // The number of the first form's answer, as the page shows it.
    const shown = () => form.first().evaluate((e) => {
      const asked = [...document.querySelectorAll('main [data-ask]')].find((one) => e.textContent.includes(one.dataset.ask) && !one.checkVisibility());
      return asked.querySelector('a.measured:not([hidden])').textContent;
    });
    const says = async (wanted, what) => {
      const found = await told.last().innerText();
      for (const words of wanted) if (!found.includes(words)) fail(where, `${what}: it says “${found}”, not “${words}”`);
    };
    const counts = async (wanted, what) => {
      const found = await tally.innerText();
      if (found !== wanted) fail(where, `${what}: the tally is “${found}”, not “${wanted}”`);
    };

    if ((await covered()).some(Boolean) || await form.count()) fail(where, 'covers an answer before it was asked to');
    await tick.check();
    const asks = await form.count();
    const before = await covered();
    if (!asks || before.filter(Boolean).length !== asks) fail(where, `asks ${asks} times and covers ${before.filter(Boolean).length} answers`);
    const read = await tab.locator('main').ariaSnapshot();
    const answer = await tab.evaluate(() => document.querySelector('.covered:has([data-ask])').textContent.trim().slice(0, 40));
    if (read.includes(answer)) fail(where, 'reads a covered answer aloud');
    if (!(await form.first().innerText()).includes('Your prediction')) fail(where, 'does not ask for a prediction');
    await accessible({ tab, where, tag: '.ask-first', axe, rules, fail });
    await accessible({ tab, where, tag: '.page-bar', axe, rules, fail });
    const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) fail(where, `is ${over} pixels too wide`);
    if (shots) await form.first().evaluate((e) => e.scrollIntoView({ block: 'center' })).then(() => tab.screenshot({ path: `${shots}/ask-${colorScheme}-${viewport.width}.png` }));

    // On paper nothing is covered.
    await tab.emulateMedia({ media: 'print' });
    if ((await covered()).some(Boolean) || await form.first().isVisible()) fail(where, 'covers an answer on paper');
    await tab.emulateMedia({ media: 'screen' });

    // With another machine another number, in its unit.
    const machines = tab.locator('.bar-machine select');
    const names = await machines.count() ? await machines.locator('option').evaluateAll((all) => all.map((one) => one.value)) : [];
    const unit = (text) => text.replace(/^[\d.,]+/, '').trim();
    for (const name of names) {
      await machines.selectOption(name);
      await tab.waitForFunction((name) => [...document.querySelectorAll('main a.measured[data-machine]:not([hidden])')].some((e) => [e.dataset.machine, ...(e.dataset.also ?? '').split(' ')].includes(name)), name).catch(() => {});
      // What the machine lacks, and another one's number stands in for, is not asked.
      const from = await tab.evaluate(() => [...document.querySelectorAll('main [data-ask]:not(:has(a.elsewhere:not([hidden]))) a.measured:not([hidden])')].map((link) => link.dataset.machine ?? ''));
      if (await form.count() !== from.length) fail(where, `asks ${await form.count()} times for the ${from.length} numbers of ${name}`);
      for (const other of from) if (other && other !== name) fail(where, `asks for the number of ${other}, and ${name} was chosen`);
      if (!from.length) continue;
      const number = await shown();
      if (await form.first().locator('.unit').innerText() !== unit(number)) fail(where, `asks in “${await form.first().locator('.unit').innerText()}” for ${number} of ${name}`);
    }
    if (names.length) await machines.selectOption(names[0]);

    // Twice as much, with the keyboard: no page is turned. Then another visit, and what the machine of it has.
    const address = tab.url();
    const number = await shown();
    const value = Number(number.match(/^[\d.,]+/)[0].replaceAll(',', ''));
    await form.first().locator('input').fill(String(2 * value));
    await tab.keyboard.press('ArrowRight');
    await form.first().locator('input').press('Enter');
    await says([`you said ${(2 * value).toLocaleString('en', { maximumSignificantDigits: 6 })}`, `measured ${number}`, '2 times too high'], 'twice as much');
    await counts('1 of 1 within a factor of 2, 0 within 10%', 'twice as much');
    if (tab.url() !== address) fail(where, 'turns the page');
    if ((await covered()).filter(Boolean).length !== await form.count()) fail(where, 'leaves what was predicted covered');
    if (await told.count() !== 1) fail(where, `one prediction answers ${await told.count()} questions`);
    if (!(await told.last().evaluate((e) => e === document.activeElement))) fail(where, 'loses the focus');
    await tab.reload();
    await says([`measured ${number}`, '2 times too high'], 'after a reload');
    await counts('1 of 1 within a factor of 2, 0 within 10%', 'after a reload');
    if (!(await tick.isChecked())) fail(where, 'forgets that it asks first');

    // The comparison follows the machine; the tally does not.
    let said;
    for (const name of names) {
      await machines.selectOption(name);
      await tab.waitForTimeout(50);
      const [text, exact] = await told.first().evaluate((e) => {
        const asked = [...document.querySelectorAll('main [data-ask]')].find((one) => e.textContent.includes(one.dataset.ask));
        const link = asked.querySelector('a.elsewhere:not([hidden])') ? null : asked.querySelector('a.measured:not([hidden])');
        return link ? [link.textContent, Number(link.querySelector('data').value)] : [];
      });
      said ??= 2 * exact;
      const off = said / exact;
      const words = Math.abs(off - 1) <= 0.1 ? 'within 10%' : `${Number(Math.max(off, 1 / off).toPrecision(2))} times too ${off < 1 ? 'low' : 'high'}`;
      await says(text ? [text, words] : ['no number'], `compared on ${name}`);
    }
    await counts('1 of 1 within a factor of 2, 0 within 10%', 'with another machine');
    if (names.length) await machines.selectOption(names[0]);

    // Forgotten; then close, far too low, and a pass.
    await clear.click();
    if (await told.count() || await tally.innerText() || await form.count() === 0) fail(where, 'does not forget');
    const again = await shown();
    const right = Number(again.match(/^[\d.,]+/)[0].replaceAll(',', ''));
    await form.first().locator('input').fill(String(1.05 * right));
    await form.first().getByRole('button', { name: 'Show' }).click();
    await says(['✔', 'within 10%', `measured ${again}`], 'a close prediction');
    await counts('1 of 1 within a factor of 2, 1 within 10%', 'a close prediction');
    await clear.click();
    await form.first().locator('input').fill(String(right / 4));
    await form.first().locator('input').press('Enter');
    await says(['✗', '4 times too low'], 'a quarter');
    await counts('0 of 1 within a factor of 2, 0 within 10%', 'a quarter');
    await clear.click();
    await form.first().getByRole('button', { name: 'I pass' }).click();
    await says(['you passed', `measured ${again}`], 'a pass');
    await counts('', 'a pass');
    if (shots) await tab.screenshot({ path: `${shots}/ask-passed-${colorScheme}-${viewport.width}.png` });
    await tick.uncheck();
    if ((await covered()).some(Boolean) || await told.count() || await form.count()) fail(where, 'does not stop to ask');
  }

  // Where nothing can be stored it works until the page is left.
  const secret = await open({}, page);
  await secret.tab.addInitScript(() => Object.defineProperty(window, 'localStorage', { get() { throw new Error('nothing is stored'); } }));
  await secret.tab.reload();
  await secret.tab.locator('.ask-switch input').check();
  await secret.tab.locator('form.ask-first').first().getByRole('button', { name: 'I pass' }).click();
  if (!(await secret.tab.locator('.ask-said').isVisible())) fail(secret.where, 'answers nothing where nothing can be stored');

  // Without JavaScript everything is there, and no switch.
  const plain = await open({ javaScriptEnabled: false }, page);
  for (const one of await plain.tab.locator('main [data-ask]').all()) {
    if (!(await one.isVisible())) { fail(plain.where, 'covers an answer without JavaScript'); break; }
  }
  if (await plain.tab.locator('.ask-switch').first().isVisible()) fail(plain.where, 'has a switch that does nothing without JavaScript');
}

/** A number that is written with a power of ten, or below zero, is asked for like any other. */
export async function askPowers({ open, page, fail }) {
  const { tab, where } = await open({}, page);
  await tab.locator('.ask-switch input').check();
  const found = await tab.evaluate(() => [...document.querySelectorAll('main [data-ask]')]
    .map((span) => [span.dataset.ask, span.querySelector('a.measured:not([hidden])')?.querySelector('data')])
    .filter(([, data]) => data && /×10|^−/.test(data.closest('a').textContent))
    .map(([ask, data]) => [ask, Math.abs(Number(data.value)), data.closest('a').textContent]));
  for (const [ask, exact, text] of found) {
    const form = tab.locator('form.ask-first').filter({ hasText: ask });
    if (!(await form.count())) { fail(where, `does not ask for ${text}`); continue; }
    await form.locator('input').fill(String(text.includes('%') ? 200 * exact : 2 * exact));
    await form.locator('input').press('Enter');
    const said = await tab.locator('.ask-said').filter({ hasText: ask }).innerText();
    if (!said.includes('2 times too high')) fail(where, `twice ${text}: it says “${said}”`);
  }
  if (!found.length) fail(where, 'asks for no such number');
}
