// Batch normalisation, forward and backward: sums over the pixels of a part of the images, then over the parts in order.
//
// Launch    moments_of_parts, sums_backward: as `columns` of sums.cl, with a pixel's channels as a row. moments, of_record, means:
//           a thread for each channel. normalise, images_backward: a thread for each number.
// Writes    moments: each channel's mean, then one over its deviation. mean, variance: the running ones, in place. parts: of each
//           part the channels' means, then the sums of the squares around them. down, along: sums of what comes to the
//           normalised pixels, and of that times these.
// Before    ops/batch_norm.rs: the same formulas. Chan, Golub and LeVeque 1983, section 2.

KERNEL THREADS_OF_BLOCK(32, 8) void moments_of_parts(
    IN(x), OUT(parts), uint rows, uint cols, uint each)
{
    SHARED float room[8 * 32];
    READ(x);
    WRITE(parts);
    uint col = BLOCK_X * 32 + THREAD_X;
    // Around the first pixel the squares lose no digits to a large mean.
    float first = col < cols ? x[BLOCK_Y * each * cols + col] : 0.0f, sum = 0.0f, squares = 0.0f;
    if (col < cols)
        ROWS_OF_PART(row) {
            float apart = x[row * cols + col] - first;
            sum += apart;
            squares += apart * apart;
        }
    uint left = rows - BLOCK_Y * each;
    float count = (float)(left < each ? left : each);
    sum = of_column(room, sum);
    squares = of_column(room, squares);
    if (THREAD_Y == 0 && col < cols) {
        float around = squares - sum * sum / count;
        parts[2 * BLOCK_Y * cols + col] = first + sum / count;
        parts[(2 * BLOCK_Y + 1) * cols + col] = RELU_OF(around);
    }
}

KERNEL THREADS_OF_BLOCK(256, 1) void moments(
    IN(parts), OUT(moments), OUT(mean), OUT(variance), uint count, uint rows, uint each,
    float towards)
{
    READ(parts);
    WRITE(moments);
    WRITE(mean);
    WRITE(variance);
    EACH_OF(c, count);
    float all = 0.0f, squares = 0.0f;
    for (uint part = 0; part * each < rows; part++) {
        uint left = rows - part * each;
        all += (float)(left < each ? left : each) * parts[2 * part * count + c];
    }
    all /= (float)rows;
    for (uint part = 0; part * each < rows; part++) {
        uint left = rows - part * each;
        float apart = parts[2 * part * count + c] - all;
        squares += parts[(2 * part + 1) * count + c] + (float)(left < each ? left : each) * apart * apart;
    }
    float own = squares / (float)rows;
    moments[c] = all;
    moments[count + c] = 1.0f / SQRT(own + EPSILON_OF_NORM);
    float unbiased = rows > 1 ? squares / (float)(rows - 1) : squares;
    mean[c] = (1.0f - towards) * mean[c] + towards * all;
    variance[c] = (1.0f - towards) * variance[c] + towards * unbiased;
}

KERNEL THREADS_OF_BLOCK(256, 1) void of_record(IN(mean), IN(variance), OUT(moments), uint count)
{
    READ(mean);
    READ(variance);
    WRITE(moments);
    EACH_OF(c, count);
    moments[c] = mean[c];
    moments[count + c] = 1.0f / SQRT(variance[c] + EPSILON_OF_NORM);
}

KERNEL THREADS_OF_BLOCK(256, 1) void normalise(
    IN(x), IN(moments), IN(scale), IN(bias), OUT(y), uint count, uint channels, uint relu)
{
    READ(x);
    READ(moments);
    READ(scale);
    READ(bias);
    WRITE(y);
    EACH_OF(i, count);
    uint c = i % channels;
    float own = (x[i] - moments[c]) * (scale[c] * moments[channels + c]) + bias[c];
    y[i] = relu ? RELU_OF(own) : own;
}

KERNEL THREADS_OF_BLOCK(32, 8) void sums_backward(
    IN(dy), IN(y), IN(x), IN(moments), OUT(down), OUT(along), uint rows, uint cols, uint each,
    uint relu)
{
    SHARED float room[8 * 32];
    READ(dy);
    READ(y);
    READ(x);
    READ(moments);
    WRITE(down);
    WRITE(along);
    uint col = BLOCK_X * 32 + THREAD_X;
    float sum = 0.0f, product = 0.0f;
    if (col < cols)
        ROWS_OF_PART(row) {
            uint i = row * cols + col;
            float slope = relu ? THROUGH(y[i], dy[i]) : dy[i];
            sum += slope;
            product += slope * ((x[i] - moments[col]) * moments[cols + col]);
        }
    fold(room, sum, down, col, cols);
    fold(room, product, along, col, cols);
}

KERNEL THREADS_OF_BLOCK(256, 1) void means(
    IN(down), IN(along), OUT(means), uint count, uint parts, uint rows)
{
    READ(down);
    READ(along);
    WRITE(means);
    EACH_OF(c, count);
    float one = 0.0f, two = 0.0f;
    for (uint part = 0; part < parts; part++) {
        one += down[part * count + c];
        two += along[part * count + c];
    }
    means[c] = one / (float)rows;
    means[count + c] = two / (float)rows;
}

KERNEL THREADS_OF_BLOCK(256, 1) void images_backward(
    IN(dy), IN(y), IN(x), IN(moments), IN(scale), IN(means), OUT(dx), uint count, uint channels,
    uint relu)
{
    READ(dy);
    READ(y);
    READ(x);
    READ(moments);
    READ(scale);
    READ(means);
    WRITE(dx);
    EACH_OF(i, count);
    uint c = i % channels;
    float slope = relu ? THROUGH(y[i], dy[i]) : dy[i], inverse = moments[channels + c];
    float own = (x[i] - moments[c]) * inverse;
    dx[i] = scale[c] * inverse * (slope - means[c] - own * means[channels + c]);
}
