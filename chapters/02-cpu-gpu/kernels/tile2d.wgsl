// Each thread computes a square of 4×4 elements of C: the idea of `tile2d.cl` in WGSL, with a smaller
// square, whose elements lie side by side and so fit the language's vectors of four.
//
// Shows     that registers can also hold a tile: eight values from shared memory serve sixteen
//           multiplications and additions, where `shared.wgsl` fetches two for one.
// Launch    workgroups of 16×16 threads, one workgroup for each TILE×TILE elements of C:
//           ceil(n / TILE) of them along x and ceil(m / TILE) along y.
// Reads     a (m×k) and b (k×n), row-major; k / TILE numbers of each for one element of C.
// Writes    c (m×n), row-major. Beyond an edge it fetches zeros and writes nothing.
// Before    `shared.wgsl`.

struct Sizes { m: u32, n: u32, k: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const TILE = 64u; // rows and columns of C that a workgroup computes
const DEPTH = 16u; // columns of A and rows of B in shared memory at a time
const THREADS = 16u; // threads along each side of the workgroup: TILE / 4

fn a_at(row: u32, p: u32) -> f32 {
    if (row < sizes.m && p < sizes.k) { return a[row * sizes.k + p]; }
    return 0.0;
}

fn b_at(p: u32, column: u32) -> f32 {
    if (p < sizes.k && column < sizes.n) { return b[p * sizes.n + column]; }
    return 0.0;
}

// Four numbers below each other in A, and four next to each other in B.
fn a_down(row: u32, p: u32) -> vec4<f32> {
    return vec4(a_at(row, p), a_at(row + 1, p), a_at(row + 2, p), a_at(row + 3, p));
}

fn b_along(p: u32, column: u32) -> vec4<f32> {
    return vec4(b_at(p, column), b_at(p, column + 1), b_at(p, column + 2), b_at(p, column + 3));
}

// Four results, written one by one: an index that is known only at run time would keep `sums` out of the registers.
fn put(row: u32, column: u32, four: vec4<f32>) {
    if (row >= sizes.m) { return; }
    let at = row * sizes.n + column;
    if (column < sizes.n) { c[at] = four.x; }
    if (column + 1 < sizes.n) { c[at + 1] = four.y; }
    if (column + 2 < sizes.n) { c[at + 2] = four.z; }
    if (column + 3 < sizes.n) { c[at + 3] = four.w; }
}

var<workgroup> a_tile: array<array<vec4<f32>, THREADS>, DEPTH>;
var<workgroup> b_tile: array<array<vec4<f32>, THREADS>, DEPTH>;

@compute @workgroup_size(THREADS, THREADS)
fn tile2d(@builtin(workgroup_id) group: vec3<u32>,
          @builtin(local_invocation_id) local: vec3<u32>) {
    let row = group.y * TILE + local.y * 4; // the first of this thread's rows
    let column = group.x * TILE + local.x * 4;
    var sums: array<vec4<f32>, 4>;
    for (var start = 0u; start < sizes.k; start += DEPTH) {
        a_tile[local.x][local.y] = a_down(row, start + local.x);
        b_tile[local.y][local.x] = b_along(start + local.y, column);
        workgroupBarrier(); // both tiles are whole
        for (var p = 0u; p < DEPTH; p++) {
            let down = a_tile[p][local.y];
            let along = b_tile[p][local.x];
            sums[0] += down.x * along;
            sums[1] += down.y * along;
            sums[2] += down.z * along;
            sums[3] += down.w * along;
        }
        workgroupBarrier(); // they are no longer needed
    }
    put(row, column, sums[0]);
    put(row + 1, column, sums[1]);
    put(row + 2, column, sums[2]);
    put(row + 3, column, sums[3]);
}
