import { serve } from './budget.mjs';

// The cards of what a page refers to, the glossary in the search, and the way on from an address that leads nowhere.
const POINTED = [['a.term', 'term'], ['a.measured:not([hidden])', 'number'], ['.footnote-reference a', 'source']];

/** By mouse, by keyboard and by finger, on one page that has all three. */
export async function cards({ open, page, fail, shots }) {
  const { tab, where } = await open({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' }, page);
  for (const [selector, what] of POINTED) {
    const link = tab.locator(`main ${selector}`).first();
    if (!(await link.count())) { fail(where, `has no ${what} to point at`); continue; }
    await link.scrollIntoViewIfNeeded();
    const title = await link.getAttribute('title');
    const before = await tab.evaluate(() => document.documentElement.scrollHeight);
    await link.hover();
    const card = tab.locator('#card');
    await card.waitFor({ state: 'visible', timeout: 20_000 }).catch(() => fail(where, `shows no card for a ${what}`));
    const text = await card.innerText().catch(() => '');
    if (text.length < 10) fail(where, `the card of a ${what} says "${text}"`);
    if (title && (await link.getAttribute('title'))) fail(where, `the browser's tip stands on the card of a ${what}`);
    if ((await tab.evaluate(() => document.documentElement.scrollHeight)) !== before) fail(where, `the card of a ${what} moves the page`);
    const box = await card.boundingBox();
    if (box && (box.x < 0 || box.x + box.width > 1280)) fail(where, `the card of a ${what} leaves the window`);
    if (shots) await tab.screenshot({ path: `${shots}/card-${what}.png` });
    await tab.keyboard.press('Escape');
    if (await card.isVisible()) fail(where, `Escape leaves the card of a ${what}`);
    if (title && (await link.getAttribute('title'))?.slice(0, 20) !== title.slice(0, 20)) fail(where, `a ${what} loses its title`);
    await tab.mouse.move(0, 0);
  }

  const phone = await open({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }, page);
  const link = phone.tab.locator('main a.term').first();
  await link.scrollIntoViewIfNeeded();
  const at = phone.tab.url();
  await link.tap();
  const card = phone.tab.locator('#card');
  await card.waitFor({ state: 'visible', timeout: 20_000 }).catch(() => fail(phone.where, 'a tap shows no card'));
  const box = await card.boundingBox();
  if (box && (box.x < 0 || box.x + box.width > 360)) fail(phone.where, 'a card leaves the phone');
  if (phone.tab.url() !== at) fail(phone.where, 'the first tap follows the link');
  if (shots) await phone.tab.screenshot({ path: `${shots}/card-phone.png` });
  await link.tap();
  await phone.tab.waitForURL(/glossary\.html/, { timeout: 5000 }).catch(() => fail(phone.where, 'the second tap does not follow the link'));
}

/** Each term of the glossary is the first thing that a search for it shows, or for another of its names, and its link leads somewhere. */
export async function terms({ open, fail, shots }) {
  const { tab, where } = await open({ viewport: { width: 1280, height: 800 } }, 'glossary.html');
  const plain = (text) => text.trim().replaceAll('’', "'");
  const names = (await tab.locator('main dt').allInnerTexts()).map(plain);
  if (names.length < 3) fail(where, `lists ${names.length} terms`);
  await tab.keyboard.press('s');
  const bar = tab.locator('#mdbook-searchbar');
  await bar.fill(names[0]);
  await tab.locator('#term-results a').first().waitFor();
  // Other names, which are in the definitions; and a name in one word.
  const others = await tab.locator('main dd').evaluateAll((all) => all.map((dd) => [dd.previousElementSibling.innerText, /lso called (.+?)(?:,| or | \(|\.)/.exec(dd.innerText)?.[1]]).filter(([, other]) => other));
  const whole = names.filter((name) => /^\p{L}+[- ]\p{L}+$/u.test(name)).map((name) => [name, name.replace(/[- ]/, '')]);
  if (names.length > 50 && (others.length < 20 || whole.length < 20)) fail(where, `has ${others.length} other names`);
  const find = (all) => bar.evaluate((bar, all) => all.map((asked) => {
    bar.value = asked;
    bar.dispatchEvent(new Event('input'));
    return [...document.querySelectorAll('#term-results a')].map((a) => a.innerText);
  }), all);
  for (const [at, [said = 'nothing']] of (await find(names)).entries()) {
    if (plain(said) !== names[at]) fail(where, `a search for ${names[at]} begins with ${said}`);
  }
  const more = [...others, ...whole];
  for (const [at, said] of (await find(more.map(([, asked]) => asked))).entries()) {
    const [name, asked] = more[at];
    if (!said.map(plain).includes(plain(name))) fail(where, `a search for ${asked} finds ${said.join(', ') || 'no term'}, not ${name}`);
  }
  await bar.fill(names[0]);
  if (shots) await tab.screenshot({ path: `${shots}/term-results.png` });
  await tab.locator('#term-results a').first().click();
  await tab.waitForURL(/#/, { timeout: 5000 }).catch(() => fail(where, 'a term leads nowhere'));
  if (!(await tab.evaluate(() => document.querySelector(':target')))) fail(where, `${tab.url()} has no such place`);
}

/** An address that leads nowhere offers a search for its words. */
export async function lost({ browser, folder, fail }) {
  const { base, close } = await serve(folder);
  const [context, where] = [await browser.newContext(), '404.html'];
  const tab = await context.newPage();
  await tab.goto(`${base}01-matmul/roofline-ridge.html`);
  const link = tab.locator('#lost a');
  await link.waitFor({ timeout: 5000 }).catch(() => fail(where, 'offers no search'));
  if (!/roofline ridge/.test(await link.innerText().catch(() => ''))) fail(where, 'does not search for the words of the address');
  await link.click();
  await tab.waitForFunction(() => document.querySelectorAll('#mdbook-searchresults li > a').length > 0, null, { timeout: 30000 }).catch(() => fail(where, 'its search finds nothing'));
  await context.close();
  close();
}
