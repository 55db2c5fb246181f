// A block's tile of C, for `tile2d.cl` and the later rungs and for `lu.cl`. Who compiles one of them may define other sizes.

#ifndef ROWS
#define ROWS 128 // of the tile of C
#endif
#ifndef COLUMNS
#define COLUMNS 128 // of the tile of C
#endif
#ifndef DEPTH
#define DEPTH 8 // columns of A and rows of B in shared memory at a time; for `warp_tiles.cl` a multiple of 8
#endif
#define PADDED (ROWS + 4) // a column of A in shared memory, where it lies transposed
// How many times a thread loads four values of a tile.
#define A_LOADS (ROWS * DEPTH / 4 / THREADS)
#define B_LOADS (DEPTH * COLUMNS / 4 / THREADS)
