// <digit-canvas>: a digit written with the pointer and with the keyboard, what is said of it, and what is said where there is
// no model.

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
const script = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

export const set = { 'data-model-8': always(7, 8, 9758) };

/** An empty paper: a digit that the page has drawn is read when it is seen. */
async function begin({ element, part }) {
  await part('.paper').scrollIntoViewIfNeeded();
  const drawn = await element.getAttribute('data-drawn') !== null;
  if (drawn) await part('.clear').click();
  return drawn;
}

/** A 7, in fractions of the paper. */
async function write(kit) {
  const box = await kit.part('.paper').boundingBox();
  const { mouse } = kit.tab;
  const at = (x, y) => [box.x + x * box.width, box.y + y * box.height];
  await mouse.move(...at(0.3, 0.25));
  await mouse.down();
  await mouse.move(...at(0.7, 0.25), { steps: 4 });
  await mouse.move(...at(0.45, 0.8), { steps: 4 });
  await mouse.up();
}

/** What `look` finds in the bytes of a canvas, in a copy: a browser warns of a canvas that is drawn and read by turns. */
const pixels = ({ part }, selector, look) => part(selector).evaluate((canvas, text) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return new Function('data', text)(copy.getImageData(0, 0, canvas.width, canvas.height).data);
}, look);
/** How many of its pixels have ink. */
const inked = (kit, selector) => pixels(kit, selector, 'return data.filter((byte, at) => at % 4 === 3 && byte > 127).length');

export async function tried(kit) {
  const { tab, element, part, read, is, says, expect, choose, sound, shoot } = kit;
  const asked = () => tab.locator('head script[src^="data:"]').count();
  const drawn = await begin(kit);
  await says('.status', 'Nothing is written yet.');
  expect('asks for the model before anything is written', drawn || await asked() === 0);
  await write(kit);
  await says('.status', 'It reads a 7 (86%).');
  expect(`asks ${await asked()} times for the model`, await asked() === 1);
  const [paper, seen] = [await inked(kit, '.paper'), await inked(kit, '.seen')];
  expect(`has ${paper} pixels of ink on its paper, and ${seen} in what the model sees`, paper > 3000 && seen > 40 && seen < 250);
  expect('shows the wrong bars', (await read('li.best')).replace(/\s+/g, ' ') === '7 86%' && await part('li').count() === 10);
  await is('.cost', '97.58% of 10,000 test images right, 8 kB of weights.');
  await sound();
  await shoot('written');
  // With more bits it is another model, and what it costs is another number.
  await element.evaluate((one, from) => one.setAttribute('data-model-16', from), always(3, 16, 9762));
  await choose('.bits', '16');
  await says('.status', 'It reads a 3 (86%).');
  await is('.cost', '97.62% of 10,000 test images right, 16 kB of weights.');
  await choose('.bits', '8');
  await says('.status', 'It reads a 7 (86%).');
  // Ink takes the other theme's colour at once.
  const turn = () => tab.evaluate(() => { for (const name of ['light', 'navy']) document.documentElement.classList.toggle(name); });
  const colour = () => pixels(kit, '.paper', 'return data.slice(4 * (70 * 280 + 140)).slice(0, 4).join()');
  const before = await colour();
  await turn();
  expect('keeps the ink of the other theme', before.endsWith(',255') && await colour() !== before);
  await turn();
  await part('.clear').click();
  await says('.status', 'Nothing is written yet.');
  expect('is not cleared', await inked(kit, '.paper') === 0 && await inked(kit, '.seen') === 0 && await part('li.best').count() === 0);
}

/** With the keyboard: down, a stroke, up. */
export async function moved(kit) {
  const { part, is, says, expect, keys } = kit;
  await begin(kit);
  await part('.paper').focus();
  await keys('ArrowLeft'); // the pen is lifted
  await is('.status', 'Nothing is written yet.');
  await keys(' ', ...Array(12).fill('ArrowDown'), ' ', 'ArrowRight');
  await says('.status', 'It reads a 7 (86%).');
  // A bar of 20 rows, a few pixels wide.
  const seen = await inked(kit, '.seen');
  expect(`sees ${seen} pixels of a line`, seen >= 40 && seen <= 140);
}

export async function visited(visit) {
  const written = async (options) => {
    const kit = await visit(options);
    await begin(kit);
    await write(kit);
    return kit;
  };
  // What the model learned from decides what it sees: dark on light, it is a light square but for the digit.
  const form = { source: 'negatives', paper: 1, ink: 0, side: 20, centre: [14.5, 14.5], turn: 0 };
  const one = await written({ set: { 'data-model-8': always(7, 8, 9758, form) } });
  await one.says('.status', 'It reads a 7 (86%).');
  const seen = await inked(one, '.seen');
  one.expect(`sees ${seen} pixels of paper`, seen > 784 - 250 && seen < 784 - 40);
  const other = await written({ set: { 'data-model-8': always(7, 8, 9758, { ...form, turn: null }) } });
  await other.says('.status', 'This model learned from other images than digits: negatives.');
  // No model: the script says so, or is not there at all.
  for (const model of [script('globalThis.digitModel = null;'), 'missing.js']) {
    const kit = await written({ viewport: { width: 360, height: 740 }, set: { 'data-model-8': model }, watch: model !== 'missing.js' });
    await kit.says('.status', 'No trained model yet: run cargo run -- train, then build the book again.');
    kit.expect('does not show what a model would see', await inked(kit, '.seen') > 40);
  }
  // The book's own model: there is one, or its script says that there is none.
  const own = await written();
  await own.says('.status', /^(It reads a \d \(\d+%\)|No trained model yet: .*)\.$/);
}
