// A batch out of the data set, both in the device's memory, by the numbers of the images.
//
// Shows     an input that changes although no argument does: which batch it is follows from the step's number, which
//           lives on the device. So the same launch can be replayed for every step.
// Launch    blocks of 256 threads along x, one for each pixel of the batch.
// Reads     pixels (images×width bytes), truths (images bytes), order (count indices of images), state[0], the
//           number of steps before this one.
// Writes    x (batch×width), each pixel from 0 to 1; labels (batch). The order begins again at its end.

KERNEL THREADS_OF_BLOCK(256, 1) void gather(
    GLOBAL const BYTE *pixels, GLOBAL const BYTE *truths, GLOBAL const uint *order,
    GLOBAL const uint *state, GLOBAL float *x, GLOBAL uint *labels,
    uint count, uint batch, uint width)
{
    // ANCHOR: gather
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= batch * width) return;

    uint row = i / width, pixel = i % width;
    uint steps_an_epoch = count / batch;
    uint first = state[0] % steps_an_epoch * batch;
    uint image = order[first + row];
    x[i] = (float)pixels[image * width + pixel] / 255.0f;
    if (pixel == 0) labels[row] = truths[image];
    // ANCHOR_END: gather
}
