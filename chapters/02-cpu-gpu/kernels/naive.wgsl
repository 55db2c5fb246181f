// One thread for each element of C, and neighbouring threads go down a column: `naive.cl` in WGSL, the
// language of WebGPU.
//
// Shows     what the textbook's loop costs on a GPU when neighbouring threads read distant numbers.
// Launch    workgroups of 16×16 threads, one workgroup for each TILE×TILE elements of C:
//           ceil(n / TILE) of them along x and ceil(m / TILE) along y.
// Reads     a (m×k) and b (k×n), row-major; k numbers of each for one element of C. Neighbouring
//           threads read from neighbouring rows of A: addresses that lie k numbers apart.
// Writes    c (m×n), row-major; threads beyond an edge write nothing.
// Before    nothing; `coalesced.wgsl` is the next step.

struct Sizes { m: u32, n: u32, k: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const TILE = 16u; // rows and columns of C that a workgroup computes

@compute @workgroup_size(TILE, TILE)
fn naive(@builtin(workgroup_id) group: vec3<u32>,
         @builtin(local_invocation_id) local: vec3<u32>) {
    let row = group.y * TILE + local.x; // within a tile, x counts the rows
    let column = group.x * TILE + local.y;
    if (row >= sizes.m || column >= sizes.n) {
        return;
    }
    var sum = 0.0;
    for (var p = 0u; p < sizes.k; p++) {
        sum += a[row * sizes.k + p] * b[p * sizes.n + column];
    }
    c[row * sizes.n + column] = sum;
}
