// <gpu-product> on the software adapter that Chromium brings: what its kernels compute, what it says of a wrong one, and what
// is left without WebGPU.
import { createRequire } from 'node:module';
import { LOOKS } from '../widget.mjs';

export const beside = '.wide, textarea';
export const still = ['p'];

// Rows of A, columns of B, and what lies between: odd, thin, empty, and several tiles of each kernel.
const SHAPES = [[1, 1, 1], [3, 2, 5], [16, 16, 16], [17, 31, 33], [65, 129, 67], [1, 200, 3], [200, 1, 3], [64, 64, 0], [130, 70, 257]];

const { fragmentOf, resultIn } = createRequire(import.meta.url)('../../../book/theme/gpu-product.js');
const NAMES = ['naive', 'tile2d', 'cpu'];
const SENT = { n: 1024, gpu: 'vendor <b>& name', times: { naive: 0.0123, tile2d: 0.00098, cpu: 1.5 } };
/** What a link may not hold: too long, of a size or a program that there is not, times that no GPU has, hidden letters. */
const REFUSED = ['', 'n=1024', 'n=1024&gpu=x', 'n=1024&gpu=x&cpu=1', 'n=1000&gpu=x&naive=1', 'n=1e3&gpu=x&naive=1', 'n=1024&gpu=&naive=1',
  'n=1024&gpu=x&naive=', 'n=1024&gpu=x&naive=-1', 'n=1024&gpu=x&naive=NaN', 'n=1024&gpu=x&naive=Infinity', 'n=1024&gpu=x&naive=0x1', 'n=1024&gpu=x&naive=1e9',
  'n=4096&gpu=x&naive=1e-7', 'n=1024&gpu=x&naive=1&other=1', 'n=1024&gpu=x&naive=1&__proto__=1', `n=1024&gpu=${'x'.repeat(81)}&naive=1`,
  'n=1024&gpu=a%E2%80%AEb&naive=1', 'n=1024&gpu=a%00b&naive=1', `n=1024&gpu=x&naive=1${'0'.repeat(600)}`];
const RIGHT = /^All \d kernels are right\./;

const done = ({ tab }) => tab.waitForFunction(() => !document.querySelector('gpu-product').working);
/** Times a software adapter as if it were a GPU: its numbers mean nothing. */
const timed = ({ element }, seconds = '0.01') => element.evaluate((one, seconds) => one.setAttribute('data-time-software', seconds), seconds);

/** Runs the kernels at a size, if one is given, and holds what is said then to `wanted`. */
async function runs(kit, wanted, size) {
  if (size) await kit.choose('.size', size);
  await kit.part('.run').click();
  await done(kit);
  const said = await kit.read('.status');
  kit.expect(`says: ${said}`, wanted.test(said));
}

/** By keyboard, and what has run also fits when the width changes. */
export async function tried(kit) {
  const { tab, element, part, read, expect, choose, sound, shoot, narrow } = kit;
  await choose('.size', '64');
  await part('.run').focus();
  await tab.keyboard.press('Enter');
  await done(kit);
  const said = await read('.status');
  expect(`says: ${said}`, /^All \d kernels are right\. This is a software adapter: correctness only\.$/.test(said));
  expect('loses the focus', await element.evaluate((one) => one.shadowRoot.activeElement?.className.includes('run')));
  expect('shows times of a software adapter', await part('.bars').count() === 0 && !(await part('.compare').isVisible()));
  expect('lets a software adapter take on n = 4096', await part('.size option[value="4096"]').evaluate((option) => option.disabled));
  await timed(kit);
  await runs(kit, /^All \d kernels are right\. At n = 16 .* reaches [\d.]+ [kMGT]FLOP\/s, .*JavaScript/, '16');
  expect('draws no bars', await part('.bars i').count() >= 3);
  const last = await element.evaluate((one) => one.last);
  for (const { name, time } of [...last.rows, last.cpu]) {
    expect(`times ${name} as ${JSON.stringify(time)}`, time && time.median > 0 && time.median < 60 && time.samples >= 3);
  }
  await part('.compare').evaluate((button) => { button.hidden = false; });
  await part('.size').evaluate((select) => { for (const option of select.options) option.disabled = false; });
  await choose('.size', '32');
  await part('.compare').click();
  await done(kit);
  expect(`says: ${await read('.status')}`, /n = \d+/.test(await read('.status')) && await part('.curves .plot svg').isVisible());
  await part('.curves summary').click();
  await part('.sources').evaluate((one) => { one.closest('details').open = true; });
  await sound();
  await shoot('run');
  // An open table of contents leaves a phone no room.
  if (!narrow) await tab.locator('#mdbook-sidebar-toggle').click();
  await tab.setViewportSize(LOOKS[narrow ? 0 : 1][1]);
  await tab.waitForFunction(() => { // the plot is drawn again
    const curves = document.querySelector('gpu-product').shadowRoot.querySelector('.curves');
    return curves.dataset.drawn.startsWith(`${curves.clientWidth} `);
  });
}

/** Every kernel, every shape, every element. */
async function computes({ element, expect }) {
  const names = await element.locator('script[data-kernel]').evaluateAll((all) => all.map((one) => one.dataset.kernel));
  expect(`has the kernels ${names}`, names.length >= 2);
  for (const name of names) {
    const verify = (shape) => element.evaluate((one, [name, ...shape]) => one.verify(name, ...shape), [name, ...shape]);
    for (const shape of SHAPES) {
      const found = await verify(shape);
      expect(`${name} ${shape}: ${JSON.stringify(found)}`, found?.right && found.checked === shape[0] * shape[1]);
    }
    // Large enough to go in strips of rows, and to be checked by sampled rows.
    const found = await verify([448, 320, 128]);
    expect(`${name} in strips: ${JSON.stringify(found)}`, found?.right && found.checked === 12 * 320);
  }
}

/** A result goes into a link and comes out of it; what is not one, or is more than that, is not shown. */
async function sends(kit) {
  const { tab, element, part, expect, sound, shoot } = kit;
  expect(`reads ${JSON.stringify(resultIn(fragmentOf(SENT), NAMES))}`, JSON.stringify(resultIn(fragmentOf(SENT), NAMES)) === JSON.stringify(SENT));
  expect('takes another fragment for a result', resultIn('#three-doors', NAMES) === null && resultIn('', NAMES) === null);
  for (const text of REFUSED) expect(`takes ${text.slice(0, 60)} for a result`, resultIn(`#gpu-result?${text}`, NAMES) === undefined);
  expect('shows a result that nobody sent', !(await part('.sent').isVisible()));
  await timed(kit);
  await runs(kit, RIGHT, '16');
  const [link, last] = await element.evaluate((one) => [one.link(), one.last]);
  await part('.copy').click();
  await part('.copied').filter({ hasText: /^Cop/ }).waitFor();
  const arrived = async (fragment) => {
    await tab.evaluate((hash) => { location.hash = hash; }, fragment);
    await part('.sent').waitFor();
    return part('.sent').innerText();
  };
  const shown = await arrived(new URL(link).hash);
  expect(`shows of its own link: ${shown}`, shown.includes('not measured here') && shown.includes('n = k = 16') && await part('.sent tbody tr').count() === last.rows.length + 1);
  const hostile = await arrived(fragmentOf({ ...SENT, gpu: '<img src=x onerror="alert(1)">', times: { naive: 0.01 } }));
  expect(`makes elements of a link: ${hostile}`, hostile.includes('<img src=x') && await part('.sent img').count() === 0);
  const top = await part('.sent').evaluate((one) => one.getBoundingClientRect().top);
  expect(`is at ${top}`, Math.abs(top) < 400);
  await sound();
  await shoot('sent');
  const refused = await arrived('#gpu-result?n=7');
  expect(`shows of a broken link: ${refused}`, refused.includes('can’t be read') && await part('.sent table').count() === 0);
}

/** Wrong kernels are called wrong, whatever is wrong with them. */
async function wrong(kit) {
  const { part, read, expect, choose, element } = kit;
  const source = await part('#source-naive').inputValue();
  const loop = source.match(/for \(var p = 0u; p < sizes\.k; p\+\+\)/)?.[0];
  const edge = source.match(/if \(row >= sizes\.m \|\| column >= sizes\.n\) \{\s*return;\s*\}/)?.[0];
  const store = source.match(/c\[row \* sizes\.n \+ column\] = sum;/)?.[0];
  expect('the kernel `naive` is not the one that this test breaks', loop && edge && store);
  await choose('.size', '16');
  for (const [what, text, says] of [
    ['leaves out a term', source.replace(loop, loop.replace('0u', '1u')), /naive.*elements are wrong|Wrong: naive/],
    ['guards no edge', source.replace(edge, ''), /Wrong: naive/],
    ['writes nothing', source.replace(store, 'if (sum == 1e30) { c[0] = sum; }'), /missing or not a number/],
    ['computes NaN', source.replace(store, 'c[row * sizes.n + column] = sum * bitcast<f32>(sizes.m * 0 + 0x7fc00000u);'), /missing or not a number/],
    ['does not compile', source.replace(store, 'c[row * sizes.n + column] = total;'), /does not compile: line \d+: .*total/],
    ['has no TILE', source.replace('const TILE', 'const SIDE').replaceAll('(TILE, TILE)', '(16, 16)'), /does not compile: it does not say/],
  ]) {
    expect(`the kernel that ${what} is the right one`, text !== source);
    await part('#source-naive').evaluate((area, value) => { area.value = value; }, text);
    await runs(kit, /^Wrong: naive\. Right: /);
    const said = `${await read('.status')} ${await read('.result')}`;
    expect(`a kernel that ${what}: ${said}`, says.test(said));
  }
  // The buttons break others, one at a time, and each runs at once.
  await part('.reset').evaluate((button) => button.click());
  const edits = ['Drop the bounds check', 'Swap an index', 'Wrong stride'];
  for (const [kernel, ...names] of [['shared tiles', 'Leave out the first barrier', ...edits], ['naive', ...edits], ['coalesced', ...edits]]) {
    await choose('.breakable', kernel);
    expect(`the ways to break ${kernel}`, await part('.break button').count() === names.length + 1);
    for (const name of names) {
      await part('.break button').filter({ hasText: name }).click();
      await done(kit);
      const said = `${await read('.status')} ${await read('.result')}`;
      expect(`${kernel}, ${name}: ${said}`, said.startsWith(`Wrong: ${kernel}. Right: `) && /elements are wrong, the first at \(\d+, \d+\): (nothing|−?[\d.]+) instead of −?[\d.]+|written behind the end of C/.test(said));
    }
  }
  await part('.break button').filter({ hasText: 'As it is' }).click();
  await done(kit);
  await runs(kit, RIGHT);
  // What the build put there is what runs.
  await element.evaluate((one) => one.remove());
}

/** A long run can be stopped, and the page stays responsive. */
async function stops(kit) {
  const { tab, part, is, expect, choose } = kit;
  await timed(kit, '');
  await tab.evaluate(() => {
    globalThis.longest = 0;
    let last = performance.now();
    setInterval(() => { globalThis.longest = Math.max(globalThis.longest, performance.now() - last); last = performance.now(); }, 20);
  });
  await choose('.size', '512');
  await part('.run').click();
  await part('.step').filter({ hasText: /^Timing .* at n = / }).waitFor();
  await part('.run').click();
  await done(kit);
  await is('.status', 'Stopped.');
  const longest = await tab.evaluate(() => globalThis.longest);
  expect(`froze the page for ${longest} ms`, longest < 2000);
  await runs(kit, RIGHT, '16');
}

/** A slow one takes on what it does within a second. */
async function waits(kit) {
  const { element, part, read, expect } = kit;
  await runs(kit, RIGHT, '16');
  await element.evaluate((one) => {
    const { once, roundTrips } = one.gpu;
    one.gpu.once = async function (kernel, problem, ...rest) {
      if (problem.n === 128) await new Promise((wake) => setTimeout(wake, 200));
      return once.call(this, kernel, problem, ...rest);
    };
    one.gpu.roundTrips = async function (kernel, problem, ...rest) {
      const found = await roundTrips.call(this, kernel, problem, ...rest);
      return problem.n === 32 ? { ...found, median: 0.2 } : found;
    };
  });
  await runs(kit, /^All \d kernels are right\..* n = 256 would keep this GPU busy for too long: 128 is /, '256');
  expect('still asks for 256', await part('.size').inputValue() === '128' && await element.evaluate((one) => one.last.n) === 128);
  await timed(kit);
  await part('.compare').evaluate((button) => { button.hidden = false; button.click(); });
  await done(kit);
  expect(`says: ${await read('.status')}`, / It stops at n = 32: /.test(await read('.status')) && await element.evaluate((one) => one.points.points.length) === 2);
}

/** The GPU goes away in the middle. */
async function lost(kit) {
  await kit.element.evaluate((one) => {
    one.note = (text) => { if (text.startsWith('Checking')) globalThis.device.destroy(); };
  });
  await runs(kit, /^The GPU was lost/);
  await kit.element.evaluate((one) => { delete one.note; });
  await runs(kit, RIGHT, '16');
}

const keepsDevice = () => {
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...all) {
    globalThis.device = await request.apply(this, all);
    return globalThis.device;
  };
};
const hasNoRoom = () => {
  const { pushErrorScope: push, popErrorScope: pop } = GPUDevice.prototype;
  let scopes = 0;
  const kinds = [];
  GPUDevice.prototype.pushErrorScope = function (kind) { kinds.push(kind); return push.call(this, kind); };
  GPUDevice.prototype.popErrorScope = async function () {
    const kind = kinds.pop();
    const error = await pop.call(this);
    return kind === 'out-of-memory' && scopes++ === 0 ? new GPUOutOfMemoryError('no room') : error;
  };
};

/** What shows where there is nothing to run on. */
async function misses({ tab, element, part, expect, sound }, why) {
  await part('.why').filter({ hasText: why }).waitFor();
  expect('shows what can’t run', !(await part('.panel').isVisible()));
  const text = tab.locator('gpu-product > p').first();
  expect('does not show its text', await text.isVisible() && /WebGPU/.test(await element.innerText()));
  await sound();
}

export async function visited(visit) {
  for (const [work, options] of [
    [computes], [sends, { viewport: LOOKS[1][1], reducedMotion: 'reduce' }],
    [wrong, { watch: false }], // a compiler's words may go to the console
    [stops], [waits], [lost, { init: keepsDevice }],
    [(kit) => runs(kit, /^The GPU has no room for matrices/), { init: hasNoRoom }],
    [(kit) => misses(kit, /offers no WebGPU/), { viewport: LOOKS[1][1], init: () => { delete Navigator.prototype.gpu; } }],
    [async (kit) => {
      await kit.part('.run').click();
      await misses(kit, /offers no GPU here/);
    }, { viewport: LOOKS[1][1], init: () => { GPU.prototype.requestAdapter = async () => null; } }],
    [(kit) => runs(kit, /gives no access to the GPU: not today/), { init: () => { GPU.prototype.requestAdapter = async () => { throw new Error('not today'); }; } }],
  ]) {
    const kit = await visit({ name: work.name, ...options });
    await work(kit);
  }
}
