// A thread's part of its block's tile of C, in all kernels with `tile.h` but `warp_tiles.cl`, which divides it by warps.

#ifndef DOWN
#define DOWN 8 // rows of C for a thread
#endif
#ifndef ALONG
#define ALONG 8 // columns of C for a thread
#endif
#define THREADS_X (COLUMNS / ALONG)
#define THREADS_Y (ROWS / DOWN)
#define THREADS (THREADS_X * THREADS_Y)
