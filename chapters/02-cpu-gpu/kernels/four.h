// Four neighbouring values at a time, for `vectorised.cl` and the later rungs.
//
// A thread can read 16 bytes with one instruction if they begin at a multiple of 16. The rows of a matrix
// do if their length is a multiple of four: then WIDE is 1. Otherwise the kernel is compiled with WIDE 0
// and reads the four one by one, also at the end of a row.

#ifndef WIDE
#define WIDE 0
#endif

// Four values of `row`, beginning at `column`, a multiple of four. Zeros beyond the matrix.
FUNCTION float4 load4(
    GLOBAL const float *matrix, uint rows, uint columns, uint row, uint column)
{
    float4 four = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    // ANCHOR: load4
    if (row < rows && column < columns) {
        GLOBAL const float *from = matrix + (row * columns + column);
#if WIDE
        four = *(GLOBAL const float4 *)from; // one instruction, 16 bytes
#else
        four.x = from[0];
        if (column + 1 < columns) four.y = from[1];
        if (column + 2 < columns) four.z = from[2];
        if (column + 3 < columns) four.w = from[3];
#endif
    }
    // ANCHOR_END: load4
    return four;
}

// Writes the four to `row`, beginning at `column`, a multiple of four, as far as they are in the matrix.
FUNCTION void store4(
    GLOBAL float *matrix, uint rows, uint columns, uint row, uint column, float4 four)
{
    if (row < rows && column < columns) {
        GLOBAL float *to = matrix + (row * columns + column);
#if WIDE
        *(GLOBAL float4 *)to = four;
#else
        to[0] = four.x;
        if (column + 1 < columns) to[1] = four.y;
        if (column + 2 < columns) to[2] = four.z;
        if (column + 3 < columns) to[3] = four.w;
#endif
    }
}

// Four multiplications and additions: sum + factor · numbers.
FUNCTION float4 add_scaled(float4 sum, float factor, float4 numbers)
{
    sum.x += factor * numbers.x;
    sum.y += factor * numbers.y;
    sum.z += factor * numbers.z;
    sum.w += factor * numbers.w;
    return sum;
}

// A piece of 4×4 sums gains 16 products. Its rows lie `apart` in `piece`.
FUNCTION void add_piece(float4 *piece, uint apart, float4 down, float4 along)
{
    piece[0 * apart] = add_scaled(piece[0 * apart], down.x, along);
    piece[1 * apart] = add_scaled(piece[1 * apart], down.y, along);
    piece[2 * apart] = add_scaled(piece[2 * apart], down.z, along);
    piece[3 * apart] = add_scaled(piece[3 * apart], down.w, along);
}
