// <digit-canvas> in a real browser: a digit written with the pointer and with the keyboard, what is said of it,
// and what is said where there is no model. Called by browser.mjs for every page that has the element.
import { LOOKS, shoot, sound } from './widget.mjs';

/** A model for which every digit is the same: no weights, and a bias of 4 for it, so 4 = ln(0.86 / 0.14 · 9). */
function always(digit, bits, right, form) {
  const scales = bits === 8 ? 10 : 0;
  const bytes = Buffer.alloc(4 * (scales + 10) + 7840 * bits / 8);
  for (let at = 0; at < scales; at++) bytes.writeFloatLE(1, 4 * at);
  bytes.writeFloatLE(4, 4 * (scales + digit));
  const tested = { images: 10_000, right: { [bits]: right } };
  const layers = [{ kind: 'dense', inputs: 784, units: 10, relu: false }];
  const model = { model: 'linear', bits, bytes: bytes.length, tested, form, layers, weights: bytes.toString('base64') };
  return script(`globalThis.digitModel = ${JSON.stringify(model)};`);
}
const sevens = () => always(7, 8, 9758);

const script = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function digitCanvas({ open, page, axe, rules, shots, fail }) {
  const expect = (where, what, holds) => { if (!holds) fail(where, what); };

  async function visit(options, model, watch = true) {
    const { tab, where, close } = await open({ viewport: { width: 1280, height: 900 }, ...options }, page, watch);
    const element = tab.locator('digit-canvas').first();
    if (model) await element.evaluate((one, from) => one.setAttribute('data-model-8', from), model);
    const part = (selector) => element.locator(selector);
    // Read from a copy: a browser warns of a canvas that is drawn and read by turns.
    const pixels = (selector, look) => part(selector).evaluate((canvas, text) => {
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      return new Function('data', text)(copy.getImageData(0, 0, canvas.width, canvas.height).data);
    }, look);
    await tab.waitForFunction(() => globalThis.customElements.get('digit-canvas'));
    await part('.paper').scrollIntoViewIfNeeded();
    // A digit that the page has drawn is read when it is seen; the tests begin with an empty paper.
    const drawn = await element.getAttribute('data-drawn') !== null;
    if (drawn) await part('.clear').click();
    return {
      drawn, tab, where: `${where} digits`, element, part, close,
      asked: () => tab.locator('head script[src^="data:"]').count(),
      /** Waits until the element says this. */
      says: async (text) => {
        await part('.status').filter({ hasText: text }).waitFor({ timeout: 60_000 })
          .catch(async () => fail(`${where} digits`, `says “${await part('.status').innerText()}”, not “${text}”`));
      },
      pixels,
      /** How many pixels of a canvas have ink. */
      inked: (selector) => pixels(selector, 'return data.filter((byte, at) => at % 4 === 3 && byte > 127).length'),
    };
  }

  /** A 7, in fractions of the paper. */
  async function write({ tab, part }) {
    const box = await part('.paper').boundingBox();
    const at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
    await tab.mouse.move(...at(0.3, 0.25));
    await tab.mouse.down();
    await tab.mouse.move(...at(0.7, 0.25), { steps: 4 });
    await tab.mouse.move(...at(0.45, 0.8), { steps: 4 });
    await tab.mouse.up();
  }

  for (const [colorScheme, viewport] of LOOKS) {
    const one = await visit({ colorScheme, viewport, reducedMotion: 'reduce' }, sevens());
    const { tab, where, element, part, says, inked, close } = one;
    await says('Nothing is written yet.');
    expect(where, 'asks for the model before anything is written', one.drawn || await one.asked() === 0);
    await write(one);
    await says('It reads a 7 (86%).');
    expect(where, `asks ${await one.asked()} times for the model`, await one.asked() === 1);
    const [paper, seen] = [await inked('.paper'), await inked('.seen')];
    expect(where, `has ${paper} pixels of ink on its paper, and ${seen} in what the model sees`, paper > 3000 && seen > 40 && seen < 250);
    expect(where, 'shows the wrong bars', (await part('li.best').innerText()).replace(/\s+/g, ' ').trim() === '7 86%' && await part('li').count() === 10);
    expect(where, `says of the bits: ${await part('.cost').innerText()}`, await part('.cost').innerText() === '97.58% of 10,000 test images right, 8 kB of weights.');
    await sound({ tab, where, element, tag: 'digit-canvas', axe, rules, fail });
    await shoot({ element, shots, page, name: `digits-${colorScheme}-${viewport.width}` });
    // With more bits it is another model, and what it costs is another number.
    await element.evaluate((one, from) => one.setAttribute('data-model-16', from), always(3, 16, 9762));
    await part('.bits').selectOption('16');
    await says('It reads a 3 (86%).');
    expect(where, `says of 16 bits: ${await part('.cost').innerText()}`, await part('.cost').innerText() === '97.62% of 10,000 test images right, 16 kB of weights.');
    await part('.bits').selectOption('8');
    await says('It reads a 7 (86%).');
    // Ink takes the other theme's colour at once.
    const colour = () => one.pixels('.paper', 'return data.slice(4 * (70 * 280 + 140)).slice(0, 4).join()');
    const before = await colour();
    await tab.evaluate(() => { for (const name of ['light', 'navy']) document.documentElement.classList.toggle(name); });
    expect(where, 'keeps the ink of the other theme', before.endsWith(',255') && await colour() !== before);
    await part('.clear').click();
    await says('Nothing is written yet.');
    expect(where, 'is not cleared', await inked('.paper') === 0 && await inked('.seen') === 0 && await part('li.best').count() === 0);
    await close();
  }

  // With the keyboard: down, a stroke, up. The page neither scrolls nor turns.
  {
    const { tab, where, part, says, inked, close } = await visit({}, sevens());
    await part('.paper').focus();
    const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
    await tab.keyboard.press('ArrowLeft');
    expect(where, 'writes with the pen lifted', await part('.status').innerText() === 'Nothing is written yet.');
    await tab.keyboard.press(' ');
    for (let at = 0; at < 12; at++) await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press(' ');
    await tab.keyboard.press('ArrowRight');
    await says('It reads a 7 (86%).');
    expect(where, 'scrolls or turns the page', tab.url() === address && await tab.evaluate(() => scrollY) === top);
    // A bar of 20 rows, a few pixels wide.
    const seen = await inked('.seen');
    expect(where, `sees ${seen} pixels of a line`, seen >= 40 && seen <= 140);
    await close();
  }

  // What the model learned from decides what it sees: dark on light, it is a light square but for the digit.
  {
    const form = { source: 'negatives', paper: 1, ink: 0, side: 20, centre: [14.5, 14.5], turn: 0 };
    const one = await visit({}, always(7, 8, 9758, form));
    await write(one);
    await one.says('It reads a 7 (86%).');
    const seen = await one.inked('.seen');
    expect(one.where, `sees ${seen} pixels of paper`, seen > 784 - 250 && seen < 784 - 40);
    await one.close();
    const other = await visit({}, always(7, 8, 9758, { ...form, turn: null }));
    await write(other);
    await other.says('This model learned from other images than digits: negatives.');
    await other.close();
  }

  // No model: the script says so, or is not there at all.
  for (const model of [script('globalThis.digitModel = null;'), 'missing.js']) {
    const one = await visit({ viewport: { width: 360, height: 740 } }, model, model !== 'missing.js');
    await write(one);
    await one.says('No trained model yet: run cargo run -- train, then build the book again.');
    expect(one.where, 'does not show what a model would see', await one.inked('.seen') > 40);
    await one.close();
  }

  // The book's own model: there is one, or its script says that there is none.
  {
    const one = await visit({}, undefined);
    await write(one);
    await one.says(/^(It reads a \d \(\d+%\)|No trained model yet: .*)\.$/);
    await one.close();
  }

  // Without JavaScript the drawing in it shows.
  {
    const { tab, where, close } = await open({ javaScriptEnabled: false }, page, false);
    expect(where, 'shows nothing without JavaScript', (await tab.locator('digit-canvas').first().innerText()).trim() !== '' || await tab.locator('digit-canvas svg').first().isVisible());
    await close();
  }
}
