// What is tried on every element that runs something: that it fits, that its controls are large enough, that axe finds
// nothing, and that its drawing shows without JavaScript.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** A desktop in light and a phone in dark: so both themes and both widths are seen. */
export const LOOKS = [['light', { width: 1280, height: 900 }], ['dark', { width: 360, height: 740 }]];

/** What `axe` finds wrong with the elements `tag`. */
export async function accessible({ tab, where, tag, axe, rules, fail }) {
  await tab.evaluate(axe);
  await tab.evaluate(() => scrollTo(0, 0)); // the bar that stays covers nothing then
  const { violations } = await tab.evaluate(([runOnly, tag]) => globalThis.axe.run(tag, { runOnly, resultTypes: ['violations'], preload: false }), [rules, tag]);
  for (const { id, nodes } of violations) fail(where, `axe ${id}: ${nodes[0].target} (${nodes[0].any[0]?.message ?? ''})`);
}

/**
 * Looks at an element as it is now, for axe by the selector `tag`. What scrolls sideways on purpose, `beside`, may be
 * wider than the page, and what it holds.
 */
export async function sound({ tab, where, element, tag, beside = '.view, .wide', axe, rules, fail }) {
  const over = await element.evaluate((all, beside) => [...all.shadowRoot.querySelectorAll('*')]
    .filter((e) => !e.parentElement?.closest(beside) && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((e) => e.outerHTML.slice(0, 100)), beside);
  if (over.length) fail(where, `is too wide: ${over[0]}`);
  // In one go: an element may draw its controls anew between two.
  const small = await element.evaluate((all) => [...all.shadowRoot.querySelectorAll('button, input, select')].filter((one) => one.checkVisibility({ visibilityProperty: true })).map((one) => [one.outerHTML.slice(0, 100), one.getBoundingClientRect()])
    .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html));
  if (small.length) fail(where, `has ${small.length} controls of less than 24 pixels, such as ${small[0]}`);
  await accessible({ tab, where, tag, axe, rules, fail });
}

/** Leaves a screenshot of an element in `shots`. */
export async function shoot({ element, shots, page, name }) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await element.screenshot({ path: join(shots, `${page.replaceAll('/', '_')}-${name}.png`) });
}

/** Without JavaScript the element's content shows. */
export async function withoutScript({ open, page, tag, shows = ['svg'], fail }) {
  const { tab, where, close } = await open({ javaScriptEnabled: false }, page, false);
  for (const what of shows) {
    for (const one of await tab.locator(tag).all()) {
      if (!await one.locator(what).first().isVisible()) fail(where, `<${tag}> shows no ${what} without JavaScript`);
    }
  }
  await close();
}
