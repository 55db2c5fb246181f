// <gpu-product> on the software adapter that Chromium brings: what its kernels compute, what it says of a wrong one, and what
// is left without WebGPU.
import { createRequire } from 'node:module';
import { LOOKS, accessible } from '../widget.mjs';

/** What the browser is started with. */
export const flags = ['--enable-unsafe-webgpu'];

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

/** What there is to look at in the first element of `page`: parts that can be done at once, by their names. */
export function jobs({ open: opened, page, axe, rules, shots, fail }) {
  const parts = [];
  const job = (name, work) => parts.push([`${page}: <gpu-product> ${name}`, work]);

  async function open(name, options = {}) {
    const { tab, close } = await opened({ viewport: LOOKS[0][1], name, ...options }, page);
    const where = `${page} ${name}`;
    if (options.javaScriptEnabled !== false) await tab.waitForFunction(() => globalThis.customElements.get('gpu-product'));
    const element = tab.locator('gpu-product').first();
    return {
      where, tab, element, close,
      part: (selector, options) => element.locator(selector, options),
      status: () => element.locator('.status').innerText(),
      done: () => tab.waitForFunction(() => !document.querySelector('gpu-product').working),
      shoot: async (name) => { if (shots) await element.screenshot({ path: `${shots}/${page.replaceAll('/', '_')}-${name}.png` }); },
    };
  }
  const expect = (where, what, holds) => { if (!holds) fail(where, what); };

  // Every kernel, every shape, every element.
  job('computes', async () => {
    const { tab, where, close } = await open('computes');
    const names = await tab.locator('gpu-product script[data-kernel]').evaluateAll((all) => all.map((one) => one.dataset.kernel));
    expect(where, `has the kernels ${names}`, names.length >= 2);
    for (const name of names) {
      for (const shape of SHAPES) {
        const found = await tab.evaluate(([kernel, m, n, k]) => document.querySelector('gpu-product').verify(kernel, m, n, k), [name, ...shape]);
        expect(where, `${name} ${shape}: ${JSON.stringify(found)}`, found?.right && found.checked === shape[0] * shape[1]);
      }
      // Large enough to go in strips of rows, and to be checked by sampled rows.
      const found = await tab.evaluate((kernel) => document.querySelector('gpu-product').verify(kernel, 448, 320, 128), name);
      expect(where, `${name} in strips: ${JSON.stringify(found)}`, found?.right && found.checked === 12 * 320);
    }
    await close();
  });

  // A run by keyboard, in both themes, on a desktop and on a phone: what has run also fits when the width changes.
  const SIZES = LOOKS.map(([, size]) => size);
  for (const [colorScheme, viewport, other] of [['light', ...SIZES], ['dark', ...SIZES.toReversed()]]) {
    job(`runs ${colorScheme} ${viewport.width}`, async () => {
      const { tab, where, element, part, status, done, shoot, close } = await open(`runs ${colorScheme} ${viewport.width}`, { colorScheme, viewport, reducedMotion: 'reduce' });
      await part('.size').selectOption('64');
      await part('.run').focus();
      await tab.keyboard.press('Enter');
      await done();
      const said = await status();
      expect(where, `says: ${said}`, /^All \d kernels are right\. This is a software adapter: correctness only\.$/.test(said));
      expect(where, 'loses the focus', await tab.evaluate(() => document.querySelector('gpu-product').shadowRoot.activeElement?.className.includes('run')));
      expect(where, 'shows times of a software adapter', await part('.bars').count() === 0 && !(await part('.sweep').isVisible()));
      expect(where, 'lets a software adapter take on n = 4096', await part('.size option[value="4096"]').evaluate((option) => option.disabled));
      // With its numbers, as on a GPU: they mean nothing here, but they must fit.
      await element.evaluate((one) => one.setAttribute('data-time-software', '0.01'));
      await part('.size').selectOption('16');
      await part('.run').click();
      await done();
      const timed = await status();
      expect(where, `says: ${timed}`, /^All \d kernels are right\. At n = 16 .* reaches [\d.]+ [GT]FLOP\/s, .*JavaScript/.test(timed));
      expect(where, 'draws no bars', await part('.bars i').count() >= 3);
      const last = await element.evaluate((one) => one.last);
      for (const { name, time } of [...last.rows, last.cpu]) {
        expect(where, `times ${name} as ${JSON.stringify(time)}`, time && time.median > 0 && time.median < 60 && time.samples >= 3);
      }
      await part('.sweep').evaluate((button) => { button.hidden = false; });
      await part('.size').evaluate((select) => { for (const option of select.options) option.disabled = false; });
      await part('.size').selectOption('32');
      await part('.sweep').click();
      await done();
      expect(where, `says: ${await status()}`, /n = \d+/.test(await status()) && await part('.curves .plot svg').isVisible());
      await part('.curves summary').click();
      await part('.sources').evaluate((one) => { one.closest('details').open = true; });
      const fits = async ({ width }) => {
        const wide = await element.evaluate((one) => {
          const limit = document.documentElement.clientWidth;
          const over = [...one.shadowRoot.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > limit + 1 && !e.closest('.wide, textarea'));
          return document.documentElement.scrollWidth > limit ? ['the page'] : over.map((e) => e.outerHTML.slice(0, 100));
        });
        expect(where, `scrolls sideways at ${width}: ${wide[0]}`, wide.length === 0);
        await shoot(`webgpu-${colorScheme}-${width}`);
      };
      await fits(viewport);
      await accessible({ tab, where, tag: 'gpu-product', axe, rules, fail });
      // An open table of contents leaves a phone no room.
      if (other.width < viewport.width) await tab.locator('#mdbook-sidebar-toggle').click();
      await tab.setViewportSize(other);
      await tab.waitForFunction(() => { // the plot is drawn again
        const curves = document.querySelector('gpu-product').shadowRoot.querySelector('.curves');
        return curves.dataset.drawn.startsWith(`${curves.clientWidth} `);
      });
      await fits(other);
      await close();
    });
  }

  // A result goes into a link and comes out of it; what is not one, or is more than that, is not shown.
  job('sends a result', async () => {
    const { tab, where, element, part, status, done, shoot, close } = await open('sends a result', { viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' });
    expect(where, `reads ${JSON.stringify(resultIn(fragmentOf(SENT), NAMES))}`, JSON.stringify(resultIn(fragmentOf(SENT), NAMES)) === JSON.stringify(SENT));
    expect(where, 'takes another fragment for a result', resultIn('#three-doors', NAMES) === null && resultIn('', NAMES) === null);
    for (const text of REFUSED) expect(where, `takes ${text.slice(0, 60)} for a result`, resultIn(`#gpu-result?${text}`, NAMES) === undefined);
    expect(where, 'shows a result that nobody sent', !(await part('.sent').isVisible()));
    await element.evaluate((one) => one.setAttribute('data-time-software', '0.01'));
    await part('.size').selectOption('16');
    await part('.run').click();
    await done();
    expect(where, `offers no link: ${await status()}`, await part('.copy').isVisible());
    const [link, last] = await element.evaluate((one) => [one.link(), one.last]);
    await part('.copy').click();
    await part('.copied', { hasText: /^Cop/ }).waitFor();
    const arrived = async (fragment) => {
      await tab.evaluate((hash) => { location.hash = hash; }, fragment);
      await part('.sent').waitFor();
      return part('.sent').innerText();
    };
    const shown = await arrived(new URL(link).hash);
    expect(where, `shows of its own link: ${shown}`, shown.includes('not measured here') && shown.includes('n = k = 16') && await part('.sent tbody tr').count() === last.rows.length + 1);
    const hostile = await arrived(fragmentOf({ ...SENT, gpu: '<img src=x onerror="alert(1)">', times: { naive: 0.01 } }));
    expect(where, `makes elements of a link: ${hostile}`, hostile.includes('<img src=x') && await part('.sent img').count() === 0);
    expect(where, `is at ${await part('.sent').evaluate((one) => one.getBoundingClientRect().top)}`, await part('.sent').evaluate((one) => Math.abs(one.getBoundingClientRect().top) < 400));
    await accessible({ tab, where, tag: 'gpu-product', axe, rules, fail });
    await shoot('webgpu-sent');
    const refused = await arrived('#gpu-result?n=7');
    expect(where, `shows of a broken link: ${refused}`, refused.includes('can’t be read') && await part('.sent table').count() === 0);
    await close();
  });

  // Wrong kernels are called wrong, whatever is wrong with them. A compiler's words may go to the console.
  job('wrong kernels', async () => {
    const { where, element, part, status, done, close } = await open('wrong kernels', { watch: false });
    const source = await part('#source-naive').inputValue();
    const loop = source.match(/for \(var p = 0u; p < sizes\.k; p\+\+\)/)?.[0];
    const edge = source.match(/if \(row >= sizes\.m \|\| column >= sizes\.n\) \{\s*return;\s*\}/)?.[0];
    const store = source.match(/c\[row \* sizes\.n \+ column\] = sum;/)?.[0];
    if (!loop || !edge || !store) fail(where, 'the kernel `naive` is not the one that this test breaks');
    await part('.size').selectOption('16');
    for (const [what, text, says] of [
      ['leaves out a term', source.replace(loop, loop.replace('0u', '1u')), /naive.*elements are wrong|Wrong: naive/],
      ['guards no edge', source.replace(edge, ''), /Wrong: naive/],
      ['writes nothing', source.replace(store, 'if (sum == 1e30) { c[0] = sum; }'), /missing or not a number/],
      ['computes NaN', source.replace(store, 'c[row * sizes.n + column] = sum * bitcast<f32>(sizes.m * 0 + 0x7fc00000u);'), /missing or not a number/],
      ['does not compile', source.replace(store, 'c[row * sizes.n + column] = total;'), /does not compile: line \d+: .*total/],
      ['has no TILE', source.replace('const TILE', 'const SIDE').replaceAll('(TILE, TILE)', '(16, 16)'), /does not compile: it does not say/],
    ]) {
      expect(where, `the kernel that ${what} is the right one`, text !== source);
      await part('#source-naive').evaluate((area, value) => { area.value = value; }, text);
      await part('.run').click();
      await done();
      const said = `${await status()} ${await part('.result').innerText()}`;
      expect(where, `a kernel that ${what}: ${said}`, says.test(said) && /^Wrong: naive\. Right: /.test(said));
    }
    // The buttons break others, one at a time, and each runs at once.
    await part('.reset').evaluate((button) => button.click());
    const edits = ['Drop the bounds check', 'Swap an index', 'Wrong stride'];
    for (const [kernel, ...names] of [['shared tiles', 'Leave out the first barrier', ...edits], ['naive', ...edits], ['coalesced', ...edits]]) {
      await part('.breakable').selectOption(kernel);
      expect(where, `the ways to break ${kernel}`, await part('.break button').count() === names.length + 1);
      for (const name of names) {
        await part('.break button', { hasText: name }).click();
        await done();
        const said = `${await status()} ${await part('.result').innerText()}`;
        expect(where, `${kernel}, ${name}: ${said}`, said.startsWith(`Wrong: ${kernel}. Right: `) && /elements are wrong, the first at \(\d+, \d+\): (nothing|−?[\d.]+) instead of −?[\d.]+|written behind the end of C/.test(said));
      }
    }
    await part('.break button', { hasText: 'As it is' }).click();
    await done();
    expect(where, `as it is: ${await status()}`, /^All/.test(await status()));
    await part('.run').click();
    await done();
    expect(where, `after the reset: ${await status()}`, /^All/.test(await status()));
    // What the build put there is what runs.
    await element.evaluate((one) => one.remove());
    await close();
  });

  // A long run can be stopped, and the page stays responsive.
  job('is stopped', async () => {
    const { where, element, part, status, done, tab, close } = await open('is stopped');
    await element.evaluate((one) => one.setAttribute('data-time-software', ''));
    await tab.evaluate(() => {
      globalThis.longest = 0;
      let last = performance.now();
      setInterval(() => { globalThis.longest = Math.max(globalThis.longest, performance.now() - last); last = performance.now(); }, 20);
    });
    await part('.size').selectOption('512');
    await part('.run').click();
    await part('.step', { hasText: /^Timing .* at n = / }).waitFor();
    await part('.run').click();
    await done();
    expect(where, `says: ${await status()}`, await status() === 'Stopped.');
    const longest = await tab.evaluate(() => globalThis.longest);
    expect(where, `froze the page for ${longest} ms`, longest < 2000);
    await part('.size').selectOption('16');
    await part('.run').click();
    await done();
    expect(where, `does not run again: ${await status()}`, /^All/.test(await status()));
    await close();
  });

  // A slow one takes on what it does within a second.
  job('is slow', async () => {
    const { where, element, part, status, done, close } = await open('is slow');
    await part('.size').selectOption('16');
    await part('.run').click();
    await done();
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
    await part('.size').selectOption('256');
    await part('.run').click();
    await done();
    expect(where, `says: ${await status()}`, /^All \d kernels are right\..* n = 256 would keep this GPU busy for too long: 128 is /.test(await status()));
    expect(where, 'still asks for 256', await part('.size').inputValue() === '128' && await element.evaluate((one) => one.last.n) === 128);
    await element.evaluate((one) => one.setAttribute('data-time-software', '0.01'));
    await part('.sweep').evaluate((button) => { button.hidden = false; button.click(); });
    await done();
    expect(where, `says: ${await status()}`, / It stops at n = 32: /.test(await status()) && await element.evaluate((one) => one.points.points.length) === 2);
    await close();
  });

  // The GPU goes away in the middle, has no room, or is not there.
  job('is lost', async () => {
    const { where, element, part, status, done, close } = await open('is lost', {
      init: () => {
        const request = GPUAdapter.prototype.requestDevice;
        GPUAdapter.prototype.requestDevice = async function (...all) {
          globalThis.device = await request.apply(this, all);
          return globalThis.device;
        };
      },
    });
    await element.evaluate((one) => {
      one.note = (text) => { if (text.startsWith('Checking')) globalThis.device.destroy(); };
    });
    await part('.run').click();
    await done();
    await element.evaluate((one) => { delete one.note; });
    expect(where, `says: ${await status()}`, /^The GPU was lost/.test(await status()));
    await part('.size').selectOption('16');
    await part('.run').click();
    await done();
    expect(where, `does not run again: ${await status()}`, /^All/.test(await status()));
    await close();
  });
  job('has no room', async () => {
    const { where, part, status, done, close } = await open('has no room', {
      init: () => {
        const pop = GPUDevice.prototype.popErrorScope;
        let scopes = 0;
        const push = GPUDevice.prototype.pushErrorScope;
        const kinds = [];
        GPUDevice.prototype.pushErrorScope = function (kind) { kinds.push(kind); return push.call(this, kind); };
        GPUDevice.prototype.popErrorScope = async function () {
          const kind = kinds.pop();
          const error = await pop.call(this);
          return kind === 'out-of-memory' && scopes++ === 0 ? new GPUOutOfMemoryError('no room') : error;
        };
      },
    });
    await part('.run').click();
    await done();
    expect(where, `says: ${await status()}`, /^The GPU has no room for matrices/.test(await status()));
    await close();
  });
  for (const [name, init, press, says] of [
    ['has no WebGPU', () => { delete Navigator.prototype.gpu; }, false, /offers no WebGPU/],
    ['has no adapter', () => { GPU.prototype.requestAdapter = async () => null; }, true, /offers no GPU here/],
    ['is refused', () => { GPU.prototype.requestAdapter = async () => { throw new Error('not today'); }; }, true, null],
  ]) job(name, async () => {
    const { where, tab, part, status, done, close } = await open(name, { init, viewport: { width: 360, height: 740 } });
    if (press) {
      await part('.run').click();
      await done();
    }
    if (says) {
      expect(where, `says: ${await part('.why').innerText()}`, says.test(await part('.why').innerText()));
      expect(where, 'shows what can’t run', !(await part('.panel').isVisible()));
      const text = await tab.locator('gpu-product > p').first();
      expect(where, 'does not show its text', await text.isVisible() && /WebGPU/.test(await tab.locator('gpu-product').innerText()));
      await accessible({ tab, where, tag: 'gpu-product', axe, rules, fail });
    } else {
      expect(where, `says: ${await status()}`, /gives no access to the GPU: not today/.test(await status()));
    }
    await close();
  });
  job('has no JavaScript', async () => {
    const { where, tab, close } = await open('has no JavaScript', { javaScriptEnabled: false });
    expect(where, 'does not show its text', await tab.locator('gpu-product > p').first().isVisible());
    expect(where, 'shows the kernels’ text twice', !(await tab.locator('gpu-product script').first().isVisible()));
    await close();
  });
  return parts;
}
