// The functions whose names differ between CUDA C++ and OpenCL C, beside those of chapter 2's `portable.h`.
//
// Sources: OpenCL 1.2 specification, section 6.12.2; CUDA Math API, "Single precision mathematical functions".

#ifdef __OPENCL_VERSION__
#define BYTE uchar
#define EXP(x) exp(x)
#define LOG(x) log(x)
#define SQRT(x) sqrt(x)
#define MUL_HIGH(a, b) mul_hi((uint)(a), (uint)(b)) // the upper half of a product of whole numbers
#else
#define BYTE unsigned char
#define EXP(x) expf(x)
#define LOG(x) logf(x)
#define SQRT(x) sqrtf(x)
#define MUL_HIGH(a, b) __umulhi(a, b)
#ifndef INFINITY // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#endif
#endif
