// <gpu-product>: the matrix product on the reader's own GPU, by WebGPU.
//
// The element runs the kernels that stand in it as <script type="text/wgsl" data-kernel="NAME">: the build
// puts the very files there that the page quotes. A kernel says `const TILE = 16u;`: one workgroup computes
// TILE×TILE elements of C. Bindings: 0 A, 1 B, 2 C, 3 the sizes m, n, k.
//
// A reader can pass a result on: a link whose fragment holds the times. What such a link claims is shown as that.
//
// Everything else in the element is for readers without JavaScript or WebGPU, and for paper.
// `data-time-software` times a software adapter as well, for the book's tests; a number in it is the length
// of a sample in seconds.
(() => {
  'use strict';

  const SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
  // Shapes that are no multiples of a tile; m, n, k. The last one has nothing to add up.
  const ODD = [[1, 1, 1], [7, 5, 3], [17, 33, 65], [67, 129, 35], [130, 64, 100], [5, 9, 0]];
  const SAMPLES = 9;
  const SAMPLE_SECONDS = 0.05; // a coarse clock reads this well enough
  const LONGEST = 0.25; // of one submission: a GPU that answers to nobody for seconds is reset
  const GUARD = 64; // elements behind C that must stay as they are
  const SOFTWARE_LIMIT = 256; // the largest n for an adapter that is a program
  const SLOW = 1; // seconds: a product that takes longer keeps a reader waiting

  // ---- A result in a link --------------------------------------------------------------------------

  const SENT = '#gpu-result?';
  const LONGEST_LINK = 600; // characters behind it
  const LONGEST_NAME = 80; // of a GPU
  const CLAIMS = [1e-7, 1e4]; // the seconds of a product that a link may claim
  const FASTEST = 1e17; // and its rate in FLOP/s

  /** Letters that are seen: others could turn the text round them or hide in it. */
  const visible = (text) => text.replace(/\p{C}+/gu, ' ').trim();

  /** A result as a link's fragment: `#gpu-result?n=1024&gpu=NAME&naive=0.0123&cpu=0.98`, the times in seconds. */
  function fragmentOf({ n, gpu, times }) {
    const parts = new URLSearchParams({ n, gpu: visible(gpu).slice(0, LONGEST_NAME).trim() || 'unknown' });
    for (const [name, seconds] of Object.entries(times)) parts.set(name, seconds.toPrecision(4));
    return SENT + parts;
  }

  /**
   * The result in a fragment; null if it has none, undefined if this page can't have made it. Anybody can write a link:
   * `names` are the programs that it may name.
   */
  function resultIn(fragment, names) {
    if (!fragment.startsWith(SENT)) return null;
    const text = fragment.slice(SENT.length);
    if (text.length > LONGEST_LINK) return undefined;
    const { n: size, gpu, ...rest } = Object.fromEntries(new URLSearchParams(text));
    const n = SIZES.find((one) => String(one) === size);
    const times = names.filter((name) => Object.hasOwn(rest, name)).map((name) => [name, /^[\d.]+(e[+-]?\d+)?$/.test(rest[name]) ? Number(rest[name]) : NaN]);
    const right = n && gpu && gpu.length <= LONGEST_NAME && visible(gpu) === gpu
      && times.length === Object.keys(rest).length && times.some(([name]) => name !== 'cpu')
      && times.every(([, seconds]) => seconds >= CLAIMS[0] && seconds <= CLAIMS[1] && 2 * n ** 3 / seconds <= FASTEST);
    return right ? { n, gpu, times: Object.fromEntries(times) } : undefined;
  }

  class Stopped extends Error {}
  /** What went wrong, as a sentence for the reader. */
  class Trouble extends Error {}

  // ---- The CPU's side ------------------------------------------------------------------------------

  /** Numbers in [-1, 1), the same for the same seed (xorshift32). */
  function random(length, seed) {
    const numbers = new Float32Array(length);
    let x = seed;
    for (let i = 0; i < length; i++) {
      x ^= x << 13; x ^= x >>> 17; x ^= x << 5;
      numbers[i] = x / 2 ** 31;
    }
    return numbers;
  }

  /** Rows `first` to `last` of C = A·B in plain JavaScript: the second rung of chapter 1. */
  function multiplyRows(a, b, c, n, k, first, last) {
    for (let i = first; i < last; i++) {
      const row = c.subarray(i * n, (i + 1) * n);
      row.fill(0);
      for (let p = 0; p < k; p++) {
        const x = a[i * k + p];
        const line = b.subarray(p * n, (p + 1) * n);
        for (let j = 0; j < n; j++) row[j] += x * line[j];
      }
    }
  }

  /** One row of C in double precision, and of the sums of absolute values, by which errors are judged. */
  function exactRow(a, b, n, k, i, sum, size) {
    sum.fill(0);
    size.fill(0);
    for (let p = 0; p < k; p++) {
      const x = a[i * k + p];
      for (let j = 0; j < n; j++) {
        const term = x * b[p * n + j];
        sum[j] += term;
        size[j] += Math.abs(term);
      }
    }
  }

  /** The rows to check: all of a small matrix, else the first, the last and some between. */
  function rowsToCheck(m) {
    if (m <= 256) return Array.from({ length: m }, (_, i) => i);
    const rows = new Set([0, m - 1]);
    const dice = random(64, 7 * m + 1);
    for (let at = 0; rows.size < 12; at++) rows.add(Math.floor((dice[at] + 1) / 2 * m));
    return [...rows];
  }

  // ---- Waiting -------------------------------------------------------------------------------------

  const channel = new MessageChannel();
  const waiting = [];
  channel.port1.onmessage = () => waiting.shift()?.();
  /** Lets the page do what else it has to do. */
  const breathe = () => new Promise((done) => { waiting.push(done); channel.port2.postMessage(0); });

  const now = () => performance.now() / 1000;

  /** The smallest step of the page's clock that shows within some milliseconds. */
  function clockTick() {
    let tick = Infinity;
    for (const end = performance.now() + 8; performance.now() < end;) {
      const start = performance.now();
      let next = start;
      while (next === start) next = performance.now();
      tick = Math.min(tick, next - start);
    }
    return tick / 1000;
  }

  /** Median, and the quartiles as a share of it. */
  function summary(samples) {
    const sorted = [...samples].sort((x, y) => x - y);
    const at = (share) => {
      const place = share * (sorted.length - 1);
      const low = Math.floor(place);
      return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
    };
    const median = at(0.5);
    return { median, spread: (at(0.75) - at(0.25)) / 2 / median, samples: sorted.length };
  }

  // ---- The GPU's side ------------------------------------------------------------------------------

  class Gpu {
    static async open(guard) {
      const adapter = await guard(navigator.gpu.requestAdapter({ powerPreference: 'high-performance' }))
        ?? await guard(navigator.gpu.requestAdapter());
      if (!adapter) return null;
      const gpu = new Gpu();
      const info = adapter.info ?? {};
      gpu.kernels = new Map(); // by their text
      gpu.name = info.description || [info.vendor, info.architecture, info.device].filter(Boolean).join(' ')
        || 'a GPU that the browser does not name';
      gpu.software = Boolean(info.isFallbackAdapter ?? adapter.isFallbackAdapter)
        || /swiftshader|llvmpipe|lavapipe|software|basic render/i.test(`${gpu.name} ${info.vendor} ${info.architecture}`);
      gpu.clock = adapter.features.has('timestamp-query');
      // 64 MiB for n = 4096 fits into what every adapter allows.
      gpu.device = await guard(adapter.requestDevice({ requiredFeatures: gpu.clock ? ['timestamp-query'] : [] }));
      const { maxStorageBufferBindingSize, maxBufferSize } = gpu.device.limits;
      gpu.largest = Math.floor(Math.sqrt(Math.min(maxStorageBufferBindingSize, maxBufferSize) / 4 - GUARD));
      gpu.gone = new Promise((_, fail) => {
        gpu.device.lost.then(({ message }) => {
          gpu.dead = true;
          const why = message ? ` The browser says: “${message.trim().replace(/\.$/, '')}”.` : '';
          fail(new Trouble(`The GPU was lost while it worked: it was reset, or was busy for too long.${why} Choose a smaller n and run again.`));
        });
      });
      gpu.gone.catch(() => {});
      gpu.device.addEventListener('uncapturederror', (event) => {
        event.preventDefault();
        gpu.refused ??= event.error.message;
      });
      if (gpu.clock) {
        const ticks = (usage) => gpu.device.createBuffer({ size: 16, usage });
        gpu.marks = gpu.device.createQuerySet({ type: 'timestamp', count: 2 });
        gpu.ticks = ticks(GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC);
        gpu.ticksOut = ticks(GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ);
      }
      return gpu;
    }

    /** `promise`, or the sentence that says why it can't come. */
    async wait(promise) {
      const result = await Promise.race([promise, this.gone]);
      if (this.refused) {
        const why = this.refused;
        this.refused = undefined;
        throw new Trouble(`The browser refused what this box asked of the GPU: ${why.split('\n')[0]}`);
      }
      return result;
    }

    /** Runs `work`; errors of the GPU in it become sentences. */
    async scoped(what, work) {
      const { device } = this;
      for (const kind of ['validation', 'out-of-memory', 'internal']) device.pushErrorScope(kind);
      let result, thrown;
      try { result = await work(); } catch (error) { thrown = error; }
      const [internal, memory, validation] = await this.wait(Promise.all([1, 2, 3].map(() => device.popErrorScope())));
      if (memory) throw new Trouble(`The GPU has no room for ${what}. Choose a smaller n, or close other tabs that draw a lot.`);
      const wrong = validation ?? internal;
      if (wrong) throw new Trouble(`The browser refused ${what}: ${wrong.message.split('\n')[0]}`);
      if (thrown) throw thrown;
      return result;
    }

    /** A kernel, compiled when its text is new. A mistake in it is a Trouble that names the line. */
    async compile(name, code) {
      if (!this.kernels.has(code)) this.kernels.set(code, await this.translate(name, code));
      return { name, ...this.kernels.get(code) };
    }

    async translate(name, code) {
      const { device } = this;
      const tile = Number(code.match(/\bconst\s+TILE\b[^=]*=\s*(\d+)/)?.[1]);
      if (!tile) throw new Trouble('it does not say `const TILE = …u;`, the rows and columns of C for a workgroup.');
      const entryPoint = code.match(/@compute\b[^]*?\bfn\s+(\w+)/)?.[1];
      if (!entryPoint) throw new Trouble('it has no function marked `@compute`.');
      const first = (text) => text.trim().split('\n')[0];
      for (const kind of ['validation', 'internal']) device.pushErrorScope(kind);
      const module = device.createShaderModule({ code, label: name });
      const messages = module.getCompilationInfo ? (await this.wait(module.getCompilationInfo())).messages : [];
      const made = device.createComputePipelineAsync({ layout: this.layout(), compute: { module, entryPoint } })
        .then((pipeline) => ({ pipeline }), ({ message }) => ({ message }));
      const { pipeline, message } = await this.wait(made);
      const errors = await this.wait(Promise.all([device.popErrorScope(), device.popErrorScope()]));
      const worst = messages.find(({ type }) => type === 'error');
      if (worst) throw new Trouble(`line ${worst.lineNum}: ${first(worst.message)}`);
      const why = errors.find(Boolean)?.message ?? message;
      if (why) throw new Trouble(first(why));
      return { tile, pipeline };
    }

    /** One layout for all kernels, also for those that leave a binding unused. */
    layout() {
      this.groupLayout ??= this.device.createBindGroupLayout({
        entries: ['read-only-storage', 'read-only-storage', 'storage', 'uniform'].map((type, binding) => (
          { binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } })),
      });
      return this.device.createPipelineLayout({ bindGroupLayouts: [this.groupLayout] });
    }

    /** The matrices of one product, on the GPU. C is full of NaN, and so is the guard behind it. */
    async problem(m, n, k) {
      const a = random(m * k, 2 * m + 3 * k + 1), b = random(k * n, 5 * k + 7 * n + 1);
      const { device } = this;
      const bytes = (length) => Math.max(4 * length, 4);
      const made = [];
      const buffer = (size, usage) => { const one = device.createBuffer({ size, usage }); made.push(one); return one; };
      const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
      const problem = {
        m, n, k, a, b, groups: new Map(), poison: new Float32Array(m * n + GUARD).fill(NaN),
        free: () => made.forEach((one) => one.destroy()),
      };
      try {
        await this.scoped(`matrices of n = ${n}`, async () => {
          problem.A = buffer(bytes(m * k), STORAGE | COPY_DST);
          problem.B = buffer(bytes(k * n), STORAGE | COPY_DST);
          problem.C = buffer(bytes(m * n + GUARD), STORAGE | COPY_DST | COPY_SRC);
          problem.out = buffer(bytes(m * n + GUARD), COPY_DST | MAP_READ);
          device.queue.writeBuffer(problem.A, 0, a);
          device.queue.writeBuffer(problem.B, 0, b);
        });
      } catch (error) { problem.free(); throw error; }
      problem.sizes = (rows) => {
        const uniform = buffer(16, GPUBufferUsage.UNIFORM | COPY_DST);
        device.queue.writeBuffer(uniform, 0, new Uint32Array([rows, n, k, 0]));
        return uniform;
      };
      return problem;
    }

    /** The bindings for rows `first` to `first + rows` of C. */
    group({ A, B, C, m, n, k, groups, sizes }, first, rows) {
      const key = `${first} ${rows}`;
      if (!groups.has(key)) {
        const whole = rows === m;
        const part = (buffer, width) => (whole ? { buffer } : { buffer, offset: 4 * first * width, size: 4 * rows * width });
        groups.set(key, this.device.createBindGroup({
          layout: this.groupLayout,
          entries: [part(A, k), { buffer: B }, part(C, n), { buffer: sizes(rows) }]
            .map((resource, binding) => ({ binding, resource })),
        }));
      }
      return groups.get(key);
    }

    /** Puts `repeats` products of some rows into a pass. */
    encode(encoder, kernel, problem, first, rows, repeats, timed) {
      const pass = encoder.beginComputePass(timed ? {
        timestampWrites: { querySet: this.marks, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 },
      } : {});
      pass.setPipeline(kernel.pipeline);
      pass.setBindGroup(0, this.group(problem, first, rows));
      const groups = [Math.ceil(problem.n / kernel.tile), Math.ceil(rows / kernel.tile)];
      for (let at = 0; at < repeats; at++) pass.dispatchWorkgroups(...groups);
      pass.end();
    }

    /** Seconds of one submission, by the GPU's clock where it has one that makes sense, else by the page's. */
    async submit(kernel, problem, first, rows, repeats = 1) {
      const { device } = this;
      const encoder = device.createCommandEncoder();
      this.encode(encoder, kernel, problem, first, rows, repeats, this.clock);
      if (this.clock) {
        encoder.resolveQuerySet(this.marks, 0, 2, this.ticks, 0);
        encoder.copyBufferToBuffer(this.ticks, 0, this.ticksOut, 0, 16);
      }
      const commands = encoder.finish();
      const start = now();
      device.queue.submit([commands]);
      await this.wait(device.queue.onSubmittedWorkDone());
      const wall = now() - start;
      if (this.clock) {
        await this.wait(this.ticksOut.mapAsync(GPUMapMode.READ));
        const [begin, end] = new BigUint64Array(this.ticksOut.getMappedRange().slice(0));
        this.ticksOut.unmap();
        const seconds = Number(end - begin) / 1e9;
        // Some drivers answer zero, or what can't be.
        if (seconds < 0 || seconds > wall + 0.005 || (seconds === 0 && wall > 0.01)) this.clock = false;
        else if (seconds > 0) return { wall, seconds };
      }
      return { wall, seconds: Math.max(wall - (this.idle ?? 0), wall / 100) };
    }

    /** The time of a submission that has nothing to do: what the page's clock sees beside the work. */
    async measureIdle(stop) {
      const times = [];
      for (let at = 0; at < 9; at++) {
        stop();
        const start = now();
        this.device.queue.submit([this.device.createCommandEncoder().finish()]);
        await this.wait(this.device.queue.onSubmittedWorkDone());
        times.push(now() - start);
      }
      this.idle = summary(times).median;
    }

    /**
     * One whole product, in strips of rows that grow for as long as the GPU is quick: no submission may
     * keep it from drawing the page. Returns how many rows it can do at once.
     */
    async once(kernel, problem, stop) {
      const { m, n, k } = problem;
      // A part of a buffer starts at a multiple of 256 bytes.
      const strips = (4 * n) % 256 === 0 && (4 * k) % 256 === 0 && m > 256;
      let rows = strips ? 64 : m, perRow = 0;
      for (let first = 0; first < m;) {
        stop();
        const height = Math.min(rows, m - first);
        const { wall } = await this.submit(kernel, problem, first, height);
        perRow = wall / height;
        first += height;
        if (strips) rows = Math.max(64, Math.min(4 * rows, 64 * Math.floor(LONGEST / perRow / 64)));
      }
      return perRow * m <= LONGEST || !strips ? m : Math.min(rows, m);
    }

    /** Samples of the seconds of one product. */
    async times(kernel, problem, rows, sample, stop) {
      const { m } = problem;
      const whole = rows >= m;
      let repeats = 1;
      const product = async () => {
        let seconds = 0;
        for (let first = 0; first < m; first += rows) {
          stop();
          seconds += (await this.submit(kernel, problem, first, Math.min(rows, m - first), repeats)).seconds;
        }
        return seconds;
      };
      // Repeat a short product until the clock can read it.
      for (let last = whole ? await product() : 1; last < sample && repeats < 1 << 14; last = await product()) {
        repeats = Math.ceil(repeats * Math.min(8, 1.3 * sample / last));
      }
      const samples = [];
      for (let at = 0, begun = now(); at < SAMPLES && now() - begun < (at < 3 ? 8 : 2); at++) {
        samples.push(await product() / repeats);
      }
      return summary(samples);
    }

    /** Samples of the seconds of one product with all that a page waits for: copy in, compute, copy out. */
    async roundTrips(kernel, problem, rows, sample, stop) {
      const { device } = this;
      const { m, n, A, B, C, out, a, b } = problem;
      const result = new Float32Array(m * n);
      const trip = async () => {
        stop();
        device.queue.writeBuffer(A, 0, a);
        device.queue.writeBuffer(B, 0, b);
        for (let first = 0; first < m; first += rows) {
          const encoder = device.createCommandEncoder();
          const height = Math.min(rows, m - first);
          this.encode(encoder, kernel, problem, first, height, 1, false);
          if (first + height >= m) encoder.copyBufferToBuffer(C, 0, out, 0, 4 * m * n);
          device.queue.submit([encoder.finish()]);
        }
        await this.wait(out.mapAsync(GPUMapMode.READ));
        result.set(new Float32Array(out.getMappedRange(0, 4 * m * n)));
        out.unmap();
      };
      await trip();
      const samples = [];
      for (let at = 0, begun = now(); at < SAMPLES && (at < 3 || now() - begun < 1); at++) {
        const start = now();
        let trips = 0;
        do { await trip(); trips++; } while (now() - start < sample);
        samples.push((now() - start) / trips);
      }
      return summary(samples);
    }

    /** Runs the kernel once into a C full of NaN and holds what it left against double precision. */
    async check(kernel, problem, stop) {
      const { device } = this;
      const { m, n, k, a, b, C, out, poison } = problem;
      device.queue.writeBuffer(C, 0, poison);
      const rows = await this.once(kernel, problem, stop);
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(C, 0, out, 0, 4 * (m * n + GUARD));
      device.queue.submit([encoder.finish()]);
      await this.wait(out.mapAsync(GPUMapMode.READ));
      const c = new Float32Array(out.getMappedRange().slice(0));
      out.unmap();
      const found = { m, n, k, rows, checked: 0, wrong: 0, unwritten: 0, past: 0, worst: 0 };
      for (let at = m * n; at < c.length; at++) found.past += !Number.isNaN(c[at]);
      for (let at = 0; at < m * n; at++) {
        found.unwritten += !Number.isFinite(c[at]);
        if (at % (1 << 20) === 0) { stop(); await breathe(); }
      }
      const sum = new Float64Array(n), size = new Float64Array(n);
      // Rounding errors of both signs grow as the square root of k; this leaves them several times the room
      // and still sees one term that is missing.
      const allowed = 4 * Math.sqrt(Math.max(k, 1)) * 2 ** -24;
      let paused = now();
      for (const i of rowsToCheck(m)) {
        exactRow(a, b, n, k, i, sum, size);
        for (let j = 0; j < n; j++) {
          const error = Math.abs(c[i * n + j] - sum[j]);
          if (!(error <= allowed * size[j])) { // NaN is wrong, too
            found.wrong++;
            found.first ??= { i, j, left: c[i * n + j], wanted: sum[j] };
          }
          if (size[j] > 0) found.worst = Math.max(found.worst, error / size[j]);
        }
        found.checked += n;
        if (now() - paused > 0.012) { stop(); await breathe(); paused = now(); }
      }
      found.right = !found.wrong && !found.unwritten && !found.past;
      return found;
    }
  }

  /** Samples of the seconds of one product in plain JavaScript, in slices that leave the page alive. */
  async function cpuTimes({ a, b, m, n, k }, sample, stop) {
    const c = new Float32Array(m * n);
    let first = 0, slice = 1;
    const rows = async (seconds) => {
      let spent = 0, done = 0;
      while (spent < seconds) {
        stop();
        await breathe();
        const start = now();
        let count = 0;
        do {
          const last = Math.min(first + slice, m);
          multiplyRows(a, b, c, n, k, first, last);
          count += last - first;
          first = last % m;
        } while (now() - start < 0.01);
        const took = now() - start;
        spent += took;
        done += count;
        slice = Math.max(1, Math.min(m, Math.floor(0.005 * count / took)));
      }
      return spent / done * m;
    };
    await rows(0.06); // the browser compiles the loops while they run
    const samples = [];
    for (let at = 0; at < SAMPLES; at++) samples.push(await rows(sample));
    return summary(samples);
  }

  // ---- What a reader can break ---------------------------------------------------------------------

  const UNTILED = [
    ['Drop the bounds check', /^[^\S\n]*if \(row >= sizes\.m \|\| column >= sizes\.n\) \{\s*return;\s*\}\n/m, ''],
    ['Swap an index', 'b[p * sizes.n + column]', 'b[column * sizes.n + p]'],
    ['Wrong stride', 'a[row * sizes.k + p]', 'a[row * sizes.n + p]'],
  ];
  /** The ways to break a kernel, by its name: what stands in its text, and what it becomes. */
  const BREAKS = {
    naive: UNTILED,
    coalesced: UNTILED,
    shared: [
      ['Leave out the first barrier', /^[^\S\n]*workgroupBarrier\(\);.*\n/m, ''],
      ['Drop the bounds check', 'if (row < sizes.m && column < sizes.n)', 'if (true)'],
      ['Swap an index', 'b_tile[p][x]', 'b_tile[x][p]'],
      ['Wrong stride', 'c[row * sizes.n + column]', 'c[row * sizes.m + column]'],
    ],
  };
  const BROKEN_FIRST = 'shared';

  // ---- What the reader sees ------------------------------------------------------------------------

  const { Widget, duration, escape, plain, scaled } = globalThis.throughputWidgets ?? require('./widget.js');

  const STYLE = `
    :host { display: block; margin-block: 3.2rem; scroll-margin-block-start: 6rem; }
    .panel { border: 1px solid var(--line); border-radius: var(--radius, 8px); padding: 1.2rem 2rem 1.6rem; background: var(--surface); color: var(--fg); }
    p { margin-block: 0.8rem; line-height: 1.5; }
    .title { font-weight: 600; font-size: 1.15em; }
    .controls { gap: 0.8rem 1.2rem; justify-content: start; }
    slot { display: contents; }
    label { display: inline-flex; gap: 0.8rem; align-items: center; }
    button, select { min-height: 3.6rem; padding: 0.4rem 1.4rem; }
    button { background: var(--bg); font-weight: 600; }
    button.first { background: var(--accent); border-color: var(--accent); color: var(--bg); }
    button:disabled, select:disabled { opacity: 0.55; cursor: default; }
    progress { width: 100%; accent-color: var(--accent); }
    .status { min-height: 1.5em; }
    .trouble { color: var(--blockquote-caution-color, #b3202c); font-weight: 600; overflow-wrap: anywhere; }
    .small { font-size: 0.88em; color: var(--muted); }
    .wide { overflow-x: auto; }
    table { border-collapse: collapse; font-size: 0.9em; font-variant-numeric: tabular-nums; margin-block: 0.8rem; }
    caption { text-align: start; color: var(--muted); padding-block-end: 0.4rem; }
    th, td { padding: 0.4rem 1.2rem 0.4rem 0; border-block-end: 1px solid var(--line); text-align: end; vertical-align: top; white-space: nowrap; }
    th:first-child { text-align: start; }
    td.words { white-space: normal; min-width: 16rem; text-align: start; }
    th[scope=row] { font-weight: 400; }
    .bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: 0.6rem 1rem; align-items: center; margin-block: 1.2rem; }
    .bars > i { height: 1.8rem; border-radius: 2px; min-width: 2px; }
    .bars > span:nth-child(3n) { font-variant-numeric: tabular-nums; white-space: nowrap; }
    .plot svg { display: block; width: 100%; }
    .plot text { fill: currentColor; font-size: 13px; }
    .plot .axis { stroke: currentColor; stroke-opacity: 0.35; fill: none; }
    .plot .line { fill: none; stroke-width: 2; }
    details { margin-block: 0.8rem; padding: 0.4rem 1.2rem; border: 1px solid var(--line); border-radius: var(--radius, 8px); background: var(--bg); }
    summary { cursor: pointer; min-height: 2.8rem; padding-block: 0.4rem; font-weight: 600; }
    textarea { font: inherit; color: var(--fg); border: 1px solid var(--searchbar-border-color, currentColor); border-radius: 4px; display: block; box-sizing: border-box; width: 100%; height: 32rem; padding: 0.8rem; font-family: var(--mono-font, monospace); font-size: 1.35rem; line-height: 1.45; white-space: pre; overflow: auto; background: var(--code-bg); }
    .kernel-name { display: block; margin-block: 1.2rem 0.4rem; font-weight: 600; }
    .reset { margin-block: 1.2rem 0.8rem; }
    .sent { border: 1px dashed var(--searchbar-border-color, currentColor); border-radius: var(--radius, 8px); padding: 0.4rem 2rem; margin-block-end: 1.6rem; }
    .sent p, .sent th { overflow-wrap: anywhere; }
    .share { display: flex; flex-wrap: wrap; gap: 0.6rem 1.2rem; align-items: center; }
    .share input { width: 100%; }
    @media (max-width: 620px) {
      .panel, .sent { padding-inline: 1.2rem; }
      .bars { grid-template-columns: 1fr max-content; grid-auto-flow: row dense; row-gap: 0.2rem; }
      .bars > i { grid-column: 1 / -1; margin-block-end: 0.6rem; }
    }
    @media print { .panel, .sent { display: none !important; } .still { display: block !important; } }
  `;

  const BODY = `
    <div class="sent" role="note" aria-label="A result that a reader sent" hidden></div>
    <div class="still" hidden><p class="why" role="status" hidden></p><slot></slot></div>
    <div class="panel" role="group" aria-label="The matrix product on your GPU" hidden>
      <p class="title">The same kernels on your GPU</p>
      <div class="controls">
        <label>m = n = k <select class="size"></select></label>
        <button type="button" class="run first">Run</button>
        <button type="button" class="compare">Compare all sizes</button>
      </div>
      <p class="status" role="status" aria-live="polite">Nothing has run yet. Run checks every kernel and then times it; it takes some seconds.</p>
      <div class="way" hidden><p class="step small"></p><progress max="1" value="0" aria-label="How far the run is"></progress></div>
      <div class="result"></div>
      <div class="curves"></div>
      <div class="controls break" role="group" aria-label="Break a kernel, and run it" hidden><label>Break <select class="breakable"></select></label><span class="controls ways"></span></div>
      <details><summary>Change the kernels</summary>
        <p class="small">This is the text that runs. Change it, and run again: leave out a barrier or an edge, and see whether the check notices. Nothing is kept when the page is left.</p>
        <div class="sources"></div>
        <button type="button" class="reset">Put the kernels back</button>
      </details>
    </div>`;

  const LABELS = { shared: 'shared tiles', tile2d: '2D register tiles', cpu: 'JavaScript, one core' };
  const label = (name) => LABELS[name] ?? name;
  const plainly = (x) => (Number.isFinite(x) ? x.toFixed(3).replace('-', '−') : 'nothing');
  const rate = (operations, seconds) => scaled(operations / seconds, 'FLOP/s');
  const times = (x) => `${plain(x)}×`;
  const around = ({ spread, samples }) => (samples < 3 ? `${samples === 1 ? 'once' : 'twice'}` : spread < 0.005 ? '±<1%' : `±${Math.round(100 * spread)}%`);

  class GpuProduct extends Widget {
    connectedCallback() {
      super.connectedCallback();
      this.arrive = () => this.receive();
      addEventListener('hashchange', this.arrive);
      this.receive();
      if (!navigator.gpu) {
        this.miss(globalThis.isSecureContext === false
          ? 'This page came over plain http from another machine, and there a browser offers no WebGPU. Over https, from 127.0.0.1 or from a file it does.'
          : 'This browser offers no WebGPU, so this box can’t run here.');
        return;
      }
      this.part('.panel').hidden = false;
      this.part('.still').hidden = true;
    }

    disconnectedCallback() {
      removeEventListener('hashchange', this.arrive);
      this.stopping = true;
      this.gpu?.device.destroy();
      this.gpu = undefined;
    }

    made() {
      this.fill(STYLE, BODY);
      const select = this.part('.size');
      for (const n of SIZES) select.add(new Option(n, n));
      select.value = '1024';
      this.originals = [...this.querySelectorAll('script[type="text/wgsl"]')]
        .map((script) => [script.dataset.kernel, script.textContent.replace(/^\n+|\s+$/g, '') + '\n']);
      this.part('.sources').innerHTML = this.originals.map(([name, text]) => `<label class="kernel-name" for="source-${name}">${escape(name)}.wgsl</label>
        <textarea id="source-${name}" spellcheck="false" autocapitalize="off" autocomplete="off">${escape(text)}</textarea>`).join('');
      const breakable = this.part('.breakable');
      for (const [name] of this.originals) if (BREAKS[name]) breakable.add(new Option(label(name), name));
      if (this.part(`#source-${BROKEN_FIRST}`)) breakable.value = BROKEN_FIRST;
      this.on('.breakable', 'change', () => this.offer(breakable.value));
      if (breakable.value) this.offer(breakable.value);
      this.on('.reset', 'click', () => {
        for (const [name] of this.originals) this.mend(name);
        this.tell('The kernels are as the book has them.');
      });
      const press = (button, work) => this.on(button, 'click', () => {
        if (this.working) { this.stopping = true; this.tell('Stopping after what the GPU has begun…'); return; }
        this.start(button, work);
      });
      press('.run', () => this.run());
      press('.compare', () => this.sweep());
      this.sized('.curves', () => this.plot());
    }

    /** Offers the ways to break a kernel; each runs at once. The one that was broken before is mended. */
    offer(name) {
      const [, whole] = this.originals.find(([other]) => other === name);
      const buttons = [['As it is', '', ''], ...BREAKS[name]].map(([way, from, to]) => {
        const broken = whole.replace(from, to);
        if (from && broken === whole) return undefined;
        const button = Object.assign(document.createElement('button'), { type: 'button', textContent: way });
        button.addEventListener('click', () => {
          if (this.working) return;
          if (this.broken && this.broken !== name) this.mend(this.broken);
          this.broken = name;
          this.part(`#source-${name}`).value = broken;
          this.start('.run', () => this.run());
        });
        return button;
      });
      this.part('.ways').replaceChildren(...buttons.filter(Boolean));
      this.part('.break').hidden = false;
    }

    /** Puts a kernel's text back. */
    mend(name) {
      this.part(`#source-${name}`).value = this.originals.find(([other]) => other === name)[1];
    }

    /** Shows the result in the page's address, if there is one. */
    receive() {
      const place = this.part('.sent');
      const sent = resultIn(location.hash, [...this.originals.map(([name]) => name), 'cpu']);
      place.hidden = sent === null;
      if (sent === null) return;
      if (sent === undefined) {
        place.innerHTML = '<p class="title">A result that can’t be read</p><p>The link that led here should hold a reader’s result. It is cut or changed, so nothing of it is shown.</p>';
      } else {
        const { n, gpu, times: all } = sent;
        const rows = Object.entries(all).map(([name, seconds]) => `<tr><th scope="row">${escape(label(name))}</th><td>${duration(seconds)}</td><td>${rate(2 * n ** 3, seconds)}</td></tr>`);
        place.innerHTML = `<p class="title">Sent by a reader, not measured here</p><p>The GPU, as the link names it: <strong>${escape(gpu)}</strong>. This box measures yours.</p>
          <table><caption>C = A·B with m = n = k = ${n}, in f32</caption><thead><tr><td></td><th scope="col">one product</th><th scope="col">rate</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
      }
      this.scrollIntoView({ block: 'start' });
    }

    /** A link to this page that holds the last result. */
    link() {
      const { n, rows, cpu } = this.last;
      const timed = [...rows, cpu].filter((row) => row?.time && !row.wrong);
      const times = Object.fromEntries(timed.map((row) => [row.name, row.time.median]));
      return location.href.split('#')[0] + fragmentOf({ n, gpu: this.gpu.name, times });
    }

    /** Copies that link; where the browser does not let a page copy, the reader can. */
    async copy() {
      const [link, field] = [this.link(), this.part('.share input')];
      try {
        await navigator.clipboard.writeText(link);
        this.say('.copied', 'Copied.');
      } catch {
        field.hidden = false;
        field.value = link;
        field.select();
        this.say('.copied', 'Copy it from this field:');
      }
    }

    /** Shows what stands in the element, and why. */
    miss(why) {
      this.part('.panel').hidden = true;
      this.part('.still').hidden = false;
      this.part('.why').hidden = false;
      this.part('.why').textContent = why;
    }

    tell(text, trouble = false) {
      this.say('.status', text);
      this.part('.status').classList.toggle('trouble', trouble);
    }

    /** What runs now; unlike what `tell` says it is not read aloud. */
    note(text) { this.part('.step').textContent = text; }

    progress(share) { this.part('progress').value = share; }

    stop = () => { if (this.stopping) throw new Stopped(); };

    async start(button, work) {
      this.working = true;
      this.stopping = false;
      const pressed = this.part(button), name = pressed.textContent;
      const others = ['.run', '.compare', '.size', '.reset'].filter((other) => other !== button).map((other) => this.part(other));
      pressed.textContent = 'Stop';
      others.forEach((other) => { other.disabled = true; });
      this.part('.way').hidden = false;
      this.progress(0);
      this.note('');
      this.tell('Running…');
      try {
        if (await this.open()) await work();
      } catch (error) {
        if (this.gpu?.dead) this.gpu = undefined;
        if (error instanceof Stopped) this.tell('Stopped.');
        else if (error instanceof Trouble) this.tell(error.message, true);
        else if (error instanceof RangeError) this.tell('This page may not have so much memory. Choose a smaller n.', true);
        else this.tell(`The run ended with an error: ${error.message}`, true);
      } finally {
        this.problem?.free();
        this.problem = undefined;
        pressed.textContent = name;
        others.forEach((other) => { other.disabled = false; });
        this.part('.way').hidden = true;
        this.working = false;
      }
    }

    /** Opens the GPU; false if there is none. */
    async open() {
      if (this.gpu) return true;
      this.note('Asking the browser for the GPU…');
      const guard = (promise) => promise.catch((error) => {
        throw new Trouble(`The browser gives no access to the GPU: ${error.message}`);
      });
      this.gpu = await Gpu.open(guard) ?? undefined;
      if (!this.gpu) {
        this.miss('This browser has WebGPU, but offers no GPU here: it found none, or none whose driver it trusts.');
        return false;
      }
      const largest = this.timed ? this.gpu.largest : Math.min(this.gpu.largest, SOFTWARE_LIMIT);
      const select = this.part('.size');
      for (const option of select.options) option.disabled = Number(option.value) > largest;
      if (select.selectedOptions[0].disabled) {
        select.value = String(Math.max(...SIZES.filter((n) => n <= largest)));
      }
      this.part('.compare').hidden = !this.timed;
      return true;
    }

    /** Whether times on this adapter say anything. */
    get timed() { return !this.gpu.software || this.hasAttribute('data-time-software'); }

    /** Seconds of one sample. */
    get sample() { return Number(this.getAttribute('data-time-software')) || SAMPLE_SECONDS; }

    /** Compiles what stands in the text fields. What does not compile is in `failed`. */
    async compile(failed = [], names = this.originals.map(([name]) => name)) {
      const kernels = [];
      for (const name of names) {
        this.stop();
        try {
          kernels.push(await this.gpu.compile(name, this.part(`#source-${name}`).value));
        } catch (error) {
          if (!(error instanceof Trouble) || this.gpu.dead) throw error;
          failed.push({ name, why: error.message });
        }
      }
      return kernels;
    }

    async product(m, n, k) {
      this.problem?.free();
      this.problem = undefined;
      this.problem = await this.gpu.problem(m, n, k);
      return this.problem;
    }

    /** For tests: whether a kernel computes C = A·B of this shape, and what is wrong with it. */
    async verify(name, m, n, k) {
      this.stopping = false;
      if (!(await this.open())) return null;
      const failed = [];
      const [kernel] = await this.compile(failed, [name]);
      if (!kernel) return { right: false, why: failed[0].why };
      return this.gpu.check(kernel, await this.product(m, n, k), this.stop);
    }

    /**
     * The largest size up to `n` for which no kernel keeps the reader waiting: eight times the work of a
     * size that a GPU takes an eighth of `SLOW` for is too much.
     */
    async fitting(kernels, n) {
      for (const size of SIZES.filter((one) => one >= 128 && one < n)) {
        const problem = await this.product(size, size, size);
        for (const kernel of kernels) {
          this.note(`Trying ${label(kernel.name)} at n = ${size}…`);
          const start = now();
          await this.gpu.once(kernel, problem, this.stop);
          if (8 * (now() - start) > SLOW) return size;
        }
      }
      return n;
    }

    /** Checks every kernel, and times it where times say anything. */
    async run() {
      const { gpu } = this;
      const asked = Number(this.part('.size').value);
      this.part('.result').replaceChildren();
      this.note('Compiling the kernels…');
      const failed = [];
      const kernels = await this.compile(failed);
      const steps = kernels.length * (ODD.length + (this.timed ? 2 : 1)) + (this.timed ? 1 : 0);
      let step = 0;
      const rows = new Map(kernels.map((kernel) => [kernel.name, { name: kernel.name }]));
      for (const { name, why } of failed) rows.set(name, { name, wrong: `does not compile: ${why}` });
      const wrong = (row, found) => {
        const { m, n: columns, k, checked, first } = found;
        const faults = [
          found.unwritten && `${found.unwritten} of ${m * columns} elements are missing or not a number`,
          found.wrong && `${found.wrong} of ${checked} checked elements are wrong, the first at (${first.i}, ${first.j}): ${plainly(first.left)} instead of ${plainly(first.wanted)}`,
          found.past && `${found.past} numbers were written behind the end of C`,
        ].filter(Boolean);
        row.wrong ??= `wrong for ${m}×${k} times ${k}×${columns}: ${faults.join('; ')}`;
      };
      for (const [m, columns, k] of ODD) {
        const problem = await this.product(m, columns, k);
        for (const kernel of kernels) {
          this.note(`Checking ${label(kernel.name)} on ${m}×${k} times ${k}×${columns}…`);
          const found = await gpu.check(kernel, problem, this.stop);
          if (!found.right) wrong(rows.get(kernel.name), found);
          this.progress(++step / steps);
        }
      }
      if (this.timed && gpu.idle === undefined) await gpu.measureIdle(this.stop);
      const n = await this.fitting(kernels.filter(({ name }) => !rows.get(name).wrong), asked);
      this.part('.size').value = String(n);
      const problem = await this.product(n, n, n);
      for (const kernel of kernels) {
        const row = rows.get(kernel.name);
        this.note(`Checking ${label(kernel.name)} at n = ${n}…`);
        const found = await gpu.check(kernel, problem, this.stop);
        if (!found.right) wrong(row, found);
        Object.assign(row, { checked: found.checked, worst: found.worst });
        this.progress(++step / steps);
        if (!this.timed) continue;
        if (!row.wrong) {
          this.note(`Timing ${label(kernel.name)} at n = ${n}…`);
          row.time = await gpu.times(kernel, problem, found.rows, this.sample, this.stop);
        }
        this.progress(++step / steps);
      }
      let cpu;
      if (this.timed) {
        this.note(`Timing plain JavaScript on one core at n = ${n}…`);
        cpu = { name: 'cpu', time: await cpuTimes(problem, this.sample, this.stop) };
      }
      const all = this.originals.map(([name]) => rows.get(name));
      this.report(n, all, cpu, n < asked ? ` n = ${asked} would keep this GPU busy for too long: ${n} is what it does well within a second.` : '');
    }

    /** The table, the bars and the sentence of a run. */
    report(n, rows, cpu, limit) {
      const { gpu } = this;
      const operations = 2 * n ** 3;
      const right = rows.filter((row) => !row.wrong);
      const wrong = rows.filter((row) => row.wrong);
      const first = right.find((row) => row.name === 'naive');
      const shown = cpu ? [...right, cpu] : [];
      const adapter = `<p>Your GPU, as the browser names it: <strong>${escape(gpu.name)}</strong>.${gpu.software
        ? ' <strong>This is a software adapter</strong>, a program that computes on the CPU what a GPU would: its results count here, its speed says nothing.' : ''}</p>`;
      const most = Math.max(...shown.map((row) => 1 / row.time.median));
      const bars = shown.map((row, at) => `<span>${escape(label(row.name))}</span><i style="width:${(100 / row.time.median / most).toFixed(1)}%;background:var(--series-${row.name === 'cpu' ? 2 : [1, 6, 3, 4][at % 4]})"></i><span>${rate(operations, row.time.median)}</span>`);
      const cell = (text) => `<td>${text}</td>`;
      const lines = [...rows, ...(cpu ? [cpu] : [])].map((row) => {
        const head = `<th scope="row">${escape(label(row.name))}</th>`;
        if (row.wrong) return `<tr>${head}<td class="words trouble" colspan="${cpu ? 5 : 2}">${escape(row.wrong)}</td></tr>`;
        const found = cell(row.checked ? 'right' : '');
        if (!cpu) return `<tr>${head}${found}${cell(row.worst.toExponential(1))}</tr>`;
        const { median } = row.time;
        return `<tr>${head}${found}${cell(`${duration(median)} <span class="small">${around(row.time)}</span>`)}${cell(rate(operations, median))}${cell(
          first && row !== cpu ? times(first.time.median / median) : '')}${cell(row === cpu ? '' : times(cpu.time.median / median))}</tr>`;
      });
      const heads = cpu ? ['', 'result', 'one product', 'rate', '× naive', '× JavaScript'] : ['', 'result', 'largest error'];
      const rowsChecked = rowsToCheck(n).length;
      const how = `Each kernel was held against double precision on ${ODD.length} odd shapes, all elements, and at n = ${n}${rowsChecked < n ? ` on ${rowsChecked} of its rows` : ''}. C was full of NaN before, so that an element that nobody writes shows.`;
      const tick = cpu ? clockTick() : 0;
      const clocks = cpu ? `Times are medians of up to ${SAMPLES} samples, fewer if one takes long; ± spans the middle half of them. ${gpu.clock
        ? 'The kernels are timed by the GPU’s own clock, which browsers round.'
        : `The kernels are timed by the page’s clock around many products, less the ${duration(gpu.idle ?? 0)} of an empty submission.`} Here the page’s clock moves in steps of ${Math.round(1e6 * tick)} µs: a sample therefore repeats a short product for about ${1e3 * this.sample} ms. Copies to the GPU and back are not in these times; “Compare all sizes” adds them. The CPU runs two plain loops on one core: chapter 1 shows how much more it can do.` : '';
      this.part('.result').innerHTML = `${adapter}${bars.length ? `<div class="bars" aria-hidden="true">${bars.join('')}</div>` : ''}
        <div class="wide" role="region" aria-label="Results" tabindex="0"><table><caption>C = A·B with m = n = k = ${n}, in f32</caption><thead><tr>${heads.map((head) => (head ? `<th scope="col">${head}</th>` : '<td></td>')).join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>
        <p class="small">${how} ${clocks}</p>
        <div class="share" hidden><button type="button" class="copy">Copy a link to this result</button><span class="copied small" role="status"></span><input readonly aria-label="Link to this result" hidden>
          <span class="small">It holds these times and the GPU’s name, nothing else.</span></div>`;
      const names = (list) => list.map((row) => label(row.name)).join(', ');
      const fastest = shown.filter((row) => row !== cpu).sort((x, y) => x.time.median - y.time.median)[0];
      const verdict = wrong.length
        ? `Wrong: ${names(wrong)}.${right.length ? ` Right: ${names(right)}.` : ''}`
        : `All ${right.length} kernels are right.`;
      const speed = fastest
        ? ` At n = ${n} ${label(fastest.name)} reaches ${rate(operations, fastest.time.median)}, ${times(cpu.time.median / fastest.time.median)} JavaScript on one core${first && first !== fastest ? `, and ${times(first.time.median / fastest.time.median)} naive` : ''}.`
        : gpu.software && !cpu ? ' This is a software adapter: correctness only.' : '';
      this.tell(verdict + speed + limit, wrong.length > 0);
      this.last = { n, rows, cpu, software: gpu.software };
      this.part('.share').hidden = !fastest;
      this.on('.copy', 'click', () => this.copy());
    }

    /** Every size up to the chosen one: the GPU with and without copies, and the CPU. */
    async sweep() {
      const { gpu } = this;
      const largest = Number(this.part('.size').value);
      const kernels = await this.compile();
      const kernel = kernels.at(-1);
      if (!kernel) throw new Trouble('No kernel compiles; put the kernels back and compare again.');
      if (gpu.idle === undefined) await gpu.measureIdle(this.stop);
      const sizes = SIZES.filter((n) => n <= largest);
      const points = [];
      for (const [at, n] of sizes.entries()) {
        this.note(`Comparing at n = ${n}…`);
        const problem = await this.product(n, n, n);
        const found = await gpu.check(kernel, problem, this.stop);
        if (!found.right) throw new Trouble(`${label(kernel.name)} is wrong at n = ${n}; put the kernels back and compare again.`);
        points.push({
          n,
          alone: await gpu.times(kernel, problem, found.rows, this.sample, this.stop),
          copied: await gpu.roundTrips(kernel, problem, found.rows, this.sample, this.stop),
          cpu: await cpuTimes(problem, this.sample, this.stop),
        });
        this.progress((at + 1) / sizes.length);
        this.points = { kernel: kernel.name, points };
        this.plot();
        if (n < largest && 8 * points.at(-1).copied.median > SLOW) break;
      }
      const end = points.at(-1).n;
      this.tell(`${this.crossover()}${end < largest ? ` It stops at n = ${end}: the next size would take this GPU more than a second.` : ''}`);
    }

    /** From which size on the GPU wins, if it does. */
    crossing(key) {
      const { points } = this.points;
      const last = points.findLastIndex((point) => point[key].median >= point.cpu.median);
      return points[last + 1]?.n;
    }

    /** The same as a sentence. */
    crossover() {
      const { points } = this.points;
      const [copied, alone] = [this.crossing('copied'), this.crossing('alone')];
      const span = `of the sizes from ${points[0].n} to ${points.at(-1).n}`;
      if (!copied) return `With the copies counted, the CPU wins at n = ${points.at(-1).n}, the largest ${span}${alone ? `; without them the GPU wins from n = ${alone} on` : ''}.`;
      return `Your GPU is the faster one from n = ${copied} on, copies counted${alone && alone !== copied ? `, and from n = ${alone} on without them` : ''}${copied > points[0].n ? '; your CPU, in JavaScript, below' : ''}.`;
    }

    plot() {
      const place = this.part('.curves');
      if (!this.points || !place.clientWidth) return;
      const { kernel, points } = this.points;
      if (place.dataset.drawn === `${place.clientWidth} ${points.length} ${points[0].alone.median}`) return;
      place.dataset.drawn = `${place.clientWidth} ${points.length} ${points[0].alone.median}`;
      const width = Math.min(place.clientWidth, 720), height = 320;
      const [left, right, top, bottom] = [52, 14, 34, 44];
      const series = [
        ['cpu', 'JavaScript, one core', 2, 'circle'],
        ['copied', 'GPU, copies counted', 1, 'square'],
        ['alone', 'GPU alone', 3, 'triangle'],
      ];
      const speed = (point, key) => 2 * point.n ** 3 / point[key].median / 1e9;
      const all = points.flatMap((point) => series.map(([key]) => speed(point, key)));
      const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)) + 1e-9);
      const first = Math.log2(points[0].n), last = Math.max(Math.log2(points.at(-1).n), first + 1);
      const x = (n) => left + (Math.log2(n) - first) / (last - first) * (width - left - right);
      const y = (v) => height - bottom - (Math.log10(v) - low) / Math.max(high - low, 1) * (height - top - bottom);
      const parts = [];
      for (let e = low; e <= high; e++) {
        const at = y(10 ** e).toFixed(1);
        parts.push(`<path class="axis" d="M${left} ${at}H${width - right}"/><text x="${left - 6}" y="${Number(at) + 4}" text-anchor="end">${e < 0 ? 10 ** e : (10 ** e).toLocaleString('en')}</text>`);
      }
      const every = Math.ceil(points.length * 42 / (width - left - right));
      points.forEach((point, at) => {
        if (at % every === 0) parts.push(`<text x="${x(point.n).toFixed(1)}" y="${height - bottom + 18}" text-anchor="middle">${point.n}</text>`);
      });
      parts.push(`<text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">n</text><text x="4" y="16">GFLOP/s</text>`);
      const win = this.crossing('copied');
      if (win > points[0].n) parts.push(`<path class="axis" stroke-dasharray="4 4" d="M${x(win).toFixed(1)} ${top - 6}V${height - bottom}"/><text x="${(x(win) + (x(win) > width / 2 ? -6 : 6)).toFixed(1)}" y="${top + 4}" text-anchor="${x(win) > width / 2 ? 'end' : 'start'}">the GPU wins</text>`);
      const marker = { circle: (a, b) => `<circle cx="${a}" cy="${b}" r="4"/>`, square: (a, b) => `<rect x="${a - 4}" y="${b - 4}" width="8" height="8"/>`, triangle: (a, b) => `<path d="M${a} ${b - 5}l5 9h-10z"/>` };
      for (const [key, , colour, shape] of series) {
        const spots = points.map((point) => [Number(x(point.n).toFixed(1)), Number(y(speed(point, key)).toFixed(1))]);
        parts.push(`<path class="line" stroke="var(--series-${colour})" d="M${spots.map((spot) => spot.join(' ')).join('L')}"/><g fill="var(--series-${colour})">${spots.map((spot) => marker[shape](...spot)).join('')}</g>`);
      }
      const keys = series.map(([, name, colour, shape]) => `<span style="display:inline-block;margin-inline-end:1.6rem"><svg width="14" height="14" viewBox="-7 -7 14 14" style="display:inline-block;width:14px;vertical-align:-2px;fill:var(--series-${colour})">${marker[shape](0, 0)}</svg> ${name}</span>`).join('');
      const lines = points.map((point) => `<tr><th scope="row">${point.n}</th>${series.map(([key]) => `<td>${duration(point[key].median)}</td>`).join('')}</tr>`);
      const open = place.querySelector('details')?.open ? ' open' : '';
      place.innerHTML = `<p class="title">Your GPU against your CPU</p><p class="small">The kernel is ${escape(label(kernel))}. ${escape(this.crossover())}</p>
        <div aria-hidden="true" class="small">${keys}</div>
        <div class="plot"><svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" style="max-width:${width}px" role="img" aria-label="Rates over the size n: ${escape(this.crossover())} The numbers are in the table below.">${parts.join('')}</svg></div>
        <details${open}><summary>The numbers as a table</summary><div class="wide" role="region" aria-label="Times over sizes" tabindex="0"><table><caption>Time of one product, median</caption><thead><tr><th scope="col">n</th>${series.map(([, name]) => `<th scope="col">${name}</th>`).join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div></details>`;
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('gpu-product', GpuProduct);
  else module.exports = { fragmentOf, resultIn };
})();
