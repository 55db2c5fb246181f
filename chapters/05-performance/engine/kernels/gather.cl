// A batch out of the data set, both in the device's memory, by the numbers of its images.
//
// Launch    blocks of 256 threads along x, one for each number of the batch.
// Reads     data: rows of `cols` numbers. truth: a label a word. order: the images' numbers, the batch's from START on.
// Writes    images, labels.

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
