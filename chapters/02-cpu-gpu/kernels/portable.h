// The few names in which CUDA C++ and OpenCL C differ, so that one source serves both.
//
// It is put before every portable kernel (`*.cl`). Sources: OpenCL 1.2 specification, sections 6.5 to 6.12;
// CUDA C++ programming guide, "C++ language extensions".

// ANCHOR: names
#ifdef __OPENCL_VERSION__
#define KERNEL __kernel
// Inlined: PoCL 3.1 gives all blocks the same shared memory if a function
// that takes a pointer to it is not.
#define FUNCTION static inline __attribute__((always_inline))
#define GLOBAL __global // memory of the device
#define SHARED __local // memory that the threads of a block share
#define SHARED_POINTER __local
#define BLOCK_X ((uint)get_group_id(0))
#define BLOCK_Y ((uint)get_group_id(1))
#define THREAD_X ((uint)get_local_id(0))
#define THREAD_Y ((uint)get_local_id(1))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define FLOAT4(x, y, z, w) ((float4)(x, y, z, w))
// ANCHOR_END: names
#define THREADS_OF_BLOCK(x, y) __attribute__((reqd_work_group_size((x), (y), 1)))
#define THREADS_AND_BLOCKS(x, y, blocks) THREADS_OF_BLOCK(x, y)
#else
typedef unsigned int uint;
// ANCHOR: cuda
#define KERNEL extern "C" __global__
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define SHARED_POINTER
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define THREAD_X threadIdx.x
#define THREAD_Y threadIdx.y
#define BARRIER() __syncthreads()
#define FLOAT4(x, y, z, w) make_float4(x, y, z, w)
// ANCHOR_END: cuda
#define THREADS_OF_BLOCK(x, y) __launch_bounds__((x) * (y))
// So few registers a thread that this many blocks fit on a multiprocessor at a time.
#define THREADS_AND_BLOCKS(x, y, blocks) __launch_bounds__((x) * (y), blocks)
#endif

#define UNROLL _Pragma("unroll")
