// Kernels with a thread for each number of what they write.
//
// Launch    blocks of 256 threads along x.
// Writes    relu: the larger of x and 0. add: x plus a row that begins again after `period` numbers. mean: of `of` rows of an image.
//           patches: lines of an image as square patches, or back. join: three matrices side by side. turn: columns as rows.

// ANCHOR: relu
KERNEL THREADS_OF_BLOCK(256, 1) void relu(IN(x), OUT(y), uint count)
{
    READ(x);
    WRITE(y);
    EACH_OF(i, count);
    y[i] = RELU_OF(x[i]);
}
// ANCHOR_END: relu

KERNEL THREADS_OF_BLOCK(256, 1) void relu_backward(IN(dy), IN(y), OUT(dx), uint count)
{
    READ(dy);
    READ(y);
    WRITE(dx);
    EACH_OF(i, count);
    dx[i] = THROUGH(y[i], dy[i]);
}

KERNEL THREADS_OF_BLOCK(256, 1) void add(IN(x), IN(more), OUT(sum), uint count, uint period)
{
    READ(x);
    READ(more);
    WRITE(sum);
    EACH_OF(i, count);
    sum[i] = x[i] + more[i % period];
}

KERNEL THREADS_OF_BLOCK(256, 1) void mean(IN(x), OUT(y), uint count, uint of, uint width)
{
    READ(x);
    WRITE(y);
    EACH_OF(i, count);
    float sum = 0.0f;
    for (uint row = 0; row < of; row++) sum += x[(i / width * of + row) * width + i % width];
    y[i] = sum / (float)of;
}

KERNEL THREADS_OF_BLOCK(256, 1) void mean_backward(
    IN(dy), OUT(dx), uint count, uint of, uint width)
{
    READ(dy);
    WRITE(dx);
    EACH_OF(i, count);
    dx[i] = dy[i / width / of * width + i % width] / (float)of;
}

KERNEL THREADS_OF_BLOCK(256, 1) void patches(
    IN(x), OUT(y), uint count, uint image, uint patch, uint back)
{
    READ(x);
    WRITE(y);
    EACH_OF(i, count);
    uint across = image / patch, first = i / (image * image) * image * image;
    uint line = (i - first) / patch, row = line / across, col = line % across;
    uint own = first + ((row / patch * across + col) * patch + row % patch) * patch + i % patch;
    if (back) y[i] = x[own];
    else y[own] = x[i];
}

KERNEL THREADS_OF_BLOCK(256, 1) void join(
    IN(a), IN(b), IN(c), OUT(all), uint count, uint cols)
{
    READ(a);
    READ(b);
    READ(c);
    WRITE(all);
    EACH_OF(i, count);
    uint row = i / (3 * cols), which = i / cols % 3, at = row * cols + i % cols;
    all[i] = which == 0 ? a[at] : which == 1 ? b[at] : c[at];
}

KERNEL THREADS_OF_BLOCK(256, 1) void turn(IN(from), OUT(to), uint count, uint rows, uint cols)
{
    READ(from);
    WRITE(to);
    EACH_OF(i, count);
    to[i] = from[i % rows * cols + i / rows];
}
