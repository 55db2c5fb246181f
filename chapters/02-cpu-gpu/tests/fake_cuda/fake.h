// What the three stand-ins for NVIDIA's libraries have in common. See ../fake_cuda.rs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

extern "C" {
// In driver.cpp: puts work into a stream, where it waits until the program synchronises.
void fake_enqueue(void *stream, std::function<void()> *work);
// Whether a context is current in the calling thread.
int fake_has_context();
}

// A bug that the real library might let pass for years: here it ends the program.
#define DEMAND(condition)                                                              \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "fake: %s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                   \
        }                                                                              \
    } while (0)
