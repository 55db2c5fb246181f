// A workgroup fetches a tile of A and a tile of B together, and each thread uses a row and a column of
// them: `shared.cl` in WGSL.
//
// Shows     what a barrier is for, and that a number fetched once can serve TILE threads. WGSL calls
//           the memory that a workgroup shares `workgroup` memory.
// Launch    workgroups of 16×16 threads, one workgroup for each TILE×TILE elements of C:
//           ceil(n / TILE) of them along x and ceil(m / TILE) along y.
// Reads     a (m×k) and b (k×n), row-major; k / TILE numbers of each for one element of C.
// Writes    c (m×n), row-major. At an edge a thread still fetches for the others (a zero, where the
//           matrix has no number), but writes nothing beyond it.
// Before    `coalesced.wgsl`; `tile2d.wgsl` is the next step.

struct Sizes { m: u32, n: u32, k: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const TILE = 16u; // rows and columns of C that a workgroup computes

fn a_at(row: u32, p: u32) -> f32 {
    if (row < sizes.m && p < sizes.k) { return a[row * sizes.k + p]; }
    return 0.0;
}

fn b_at(p: u32, column: u32) -> f32 {
    if (p < sizes.k && column < sizes.n) { return b[p * sizes.n + column]; }
    return 0.0;
}

// ANCHOR: kernel
var<workgroup> a_tile: array<array<f32, TILE>, TILE>;
var<workgroup> b_tile: array<array<f32, TILE>, TILE>;

@compute @workgroup_size(TILE, TILE)
fn shared_tiles(@builtin(workgroup_id) group: vec3<u32>,
                @builtin(local_invocation_id) local: vec3<u32>) {
    let x = local.x;
    let y = local.y;
    let row = group.y * TILE + y;
    let column = group.x * TILE + x;
    var sum = 0.0;
    for (var start = 0u; start < sizes.k; start += TILE) {
        a_tile[y][x] = a_at(row, start + x);
        b_tile[y][x] = b_at(start + y, column);
        workgroupBarrier(); // both tiles are whole
        for (var p = 0u; p < TILE; p++) {
            sum += a_tile[y][p] * b_tile[p][x];
        }
        workgroupBarrier(); // they are no longer needed
    }
    if (row < sizes.m && column < sizes.n) {
        c[row * sizes.n + column] = sum;
    }
}
// ANCHOR_END: kernel
