// A batch out of what the device keeps: of a data set by the numbers of its images, of a stream by where its windows begin.
//
// Launch    blocks of 256 threads along x, one for each number of the batch.
// Reads     data: rows of `cols` numbers. truth: a label a word. stream: a token a word. order: the images' numbers, or the first
//           tokens of windows of `length`, the batch's from START on.
// Writes    images, labels; tokens, and of each the one behind it.

KERNEL THREADS_OF_BLOCK(256, 1) void gather(
    IN(data), IN(truth), IN(order), IN(state), OUT(images), OUT(labels), uint count, uint cols)
{
    READ(data);
    READ(truth);
    WORDS(order);
    WORDS(state);
    WRITE(images);
    WRITE(labels);
    // ANCHOR: gather
    EACH_OF(i, count);
    uint row = i / cols, col = i % cols, image = order[state[START] + row];
    images[i] = data[image * cols + col];
    if (col == 0) labels[row] = truth[image];
    // ANCHOR_END: gather
}

KERNEL THREADS_OF_BLOCK(256, 1) void windows(
    IN(stream), IN(order), IN(state), OUT(tokens), OUT(targets), uint count, uint length)
{
    WORDS(order);
    WORDS(state);
    READ(stream);
    WRITE(tokens);
    WRITE(targets);
    // ANCHOR: windows
    EACH_OF(i, count);
    uint at = order[state[START] + i / length] + i % length;
    tokens[i] = stream[at];
    targets[i] = stream[at + 1];
    // ANCHOR_END: windows
}
