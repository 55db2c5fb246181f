#!/usr/bin/env bash
# Puts the CUDA 13.0 toolkit into a folder, without root and without a GPU.
#
#     eval "$(tools/cuda/toolkit.sh ~/.cache/throughput/cuda)"
#     cargo build --features cuda
#
# The parts come from NVIDIA's own packages on PyPI. What is there already is left alone, so the
# same line goes into a shell's start-up file. Progress goes to stderr, `export` lines to stdout.
# README.md beside this file says what each part is for.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: tools/cuda/toolkit.sh DIR [--compile-only] [--checks] [--nccl] [--compute-cap X.Y]
       tools/cuda/toolkit.sh DIR --tile

Installs the CUDA 13.0 toolkit into DIR and prints the lines that make a shell use it:

    eval "$(tools/cuda/toolkit.sh ~/.cache/throughput/cuda)"

  --compile-only     compiler and headers alone (about 0.1 GB to download instead of 0.7 GB):
                     enough for `cargo check --features cuda`, not for a program that runs
  --checks           also NVRTC and nvdisasm (about 0.1 GB more), with which the tests compile
                     kernels as the program does, and read the machine code
  --nccl             also NCCL, for training on many GPUs (about 0.2 GB more)
  --compute-cap X.Y  the GPU to compile for on a machine that has none (default: the variable
                     CUDA_COMPUTE_CAP, else 9.0, an H100 or H200)
  --tile             instead of all that, CUDA 13.5 in DIR/13.5 (about 0.3 GB): the compiler of
                     kernels written in Rust, chapters/02-cpu-gpu/tile
TEXT
}

say() { printf 'toolkit: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

dir='' compile_only='' checks='' nccl='' tile='' cap="${CUDA_COMPUTE_CAP:-9.0}"
while [ $# -gt 0 ]; do
    case "$1" in
        -h | --help) usage; exit 0 ;;
        --compile-only) compile_only=1 ;;
        --checks) checks=1 ;;
        --nccl) nccl=1 ;;
        --tile) tile=1 ;;
        --compute-cap) [ $# -gt 1 ] || { usage >&2; exit 2; }; cap="$2"; shift ;;
        -*) usage >&2; exit 2 ;;
        *) [ -z "$dir" ] || { usage >&2; exit 2; }; dir="$1" ;;
    esac
    shift
done
[ -n "$dir" ] || { usage >&2; exit 2; }
# dfdx reads CUDA_COMPUTE_CAP too, and writes 9.0 as 90: take both, and 10.0 as 100.
case "$cap" in *.*) ;; *[0-9][0-9]) cap="${cap%?}.${cap: -1}" ;; esac
[[ "$cap" =~ ^[0-9]+\.[0-9]$ ]] ||
    fail "\`$cap\` is not a compute capability; write it as 9.0 (https://developer.nvidia.com/cuda-gpus lists them)"

[ "$(uname -s)" = Linux ] || fail 'these packages are for Linux; on Windows use WSL 2 or the installer from NVIDIA'
command -v cc >/dev/null || fail 'there is no C compiler; install one (Debian, Ubuntu: sudo apt install build-essential)'
python3 -m pip --version >/dev/null 2>&1 ||
    fail 'this needs python3 with pip to fetch the packages (Debian, Ubuntu: sudo apt install python3-pip)'

mkdir -p "$dir" || fail "can't write to $dir; name another folder"
dir="$(cd "$dir" && pwd)"
root="$dir/nvidia/cu13"

# 1. The packages, each at the version that this course is tested with.
packages=(
    nvidia-cuda-nvcc==13.0.88    # nvcc and ptxas
    nvidia-nvvm==13.0.88         # cicc, the compiler proper
    nvidia-cuda-crt==13.0.88     # headers that every kernel includes
    nvidia-cuda-runtime==13.0.96 # cuda.h, cuda_fp16.h
    nvidia-cuda-cccl==13.0.85    # nv/target, which cuda_fp16.h includes
)
[ -n "$compile_only" ] || packages+=(
    nvidia-cuda-nvrtc==13.0.88 # kernels compiled while the program runs
    nvidia-cublas==13.0.2.14   # matrix products
    nvidia-curand==10.4.0.35   # random numbers; linked by cudarc
)
[ -z "$checks" ] || packages+=(
    nvidia-cuda-nvrtc==13.0.88
    nvidia-cuda-nvdisasm==13.2.51 # the oldest there is; it reads the code of CUDA 13.0
)
[ -z "$nccl" ] || packages+=(nvidia-nccl-cu13==2.28.9)
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }
fetch() { # fetch FOLDER PACKAGE…
    local into="$1" package
    shift
    mkdir -p "$into/.installed"
    for package in "$@"; do
        [ -e "$into/.installed/$package" ] && continue
        say "fetching $package"
        rm -rf "$into/.fetch"
        python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
            --only-binary=:all: --dest "$into/.fetch" "$package" >&2 ||
            fail "$package could not be fetched; check the network and run this again, what is installed is kept"
        # Unpacked rather than installed: pip would not add to the folder that an earlier package made.
        python3 -m zipfile -e "$into"/.fetch/*.whl "$into" ||
            fail "$package could not be unpacked into $into; is there room on the disk?"
        rm -rf "$into/.fetch"
        touch "$into/.installed/$package"
    done
}
# A folder of its own: `tileiras`, from tiles to machine code, is there from CUDA 13.1 and knows Hopper from 13.3, and wants
# `ptxas` (in -nvcc) and libnvvm of its own version. The next three are headers for its bindings; the last two read code.
if [ -n "$tile" ]; then
    fetch "$dir/13.5" nvidia-cuda-tileiras==13.5.37 nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 \
        nvidia-cuda-runtime==13.5.37 nvidia-curand==10.4.5.25 nvidia-cuda-crt==13.5.37 \
        nvidia-cuda-nvdisasm==13.5.37 nvidia-cuda-cuobjdump==13.5.37
    chmod +x "$dir"/13.5/nvidia/cu13/bin/*
    printf 'export CUDA_TOOLKIT_PATH=%s\n' "$(quoted "$dir/13.5/nvidia/cu13")"
    say "ready: CUDA 13.5 in $dir/13.5/nvidia/cu13; the crate's build also needs libclang (Debian, Ubuntu: libclang-dev)"
    exit
fi
fetch "$dir" "${packages[@]}"

# 2. What NVIDIA's own installer sets up and packages can't hold: permissions and links.
chmod +x "$root"/bin/* "$root"/nvvm/bin/*
ln -sfn lib "$root/lib64"
[ -z "$nccl" ] || ln -sf ../../nccl/lib/libnccl.so.2 "$root/lib/"
for library in "$root"/lib/lib*.so.[0-9]*; do
    ln -sf "$(basename "$library")" "${library%%.so.*}.so"
done

# 3. Without a driver there is no libcuda.so to link with. This one has every function of cuda.h, and
# each returns CUDA_ERROR_STUB_LIBRARY, as the one in NVIDIA's installer does. A program linked with
# it looks for libcuda.so.1 when it starts, and so finds the driver's.
mkdir -p "$root/lib/stubs"
if ! echo 'int main(void) { return 0; }' | env -u LIBRARY_PATH cc -xc - -lcuda -o "$dir/.probe" 2>/dev/null; then
    {
        grep -ohE '\bcu[A-Z][A-Za-z0-9_]*' "$root/include/cuda.h" | sort -u |
            grep -vE '^cuGetError(Name|String)$' | sed 's/.*/int &(void) { return 34; }/'
        echo 'int cuGetErrorName(int e, char **s) { *s = "CUDA_ERROR_STUB_LIBRARY"; return 0; }'
        echo 'int cuGetErrorString(int e, char **s) { *s = "no NVIDIA driver, only a stub of it"; return 0; }'
    } | cc -xc - -shared -fPIC -fno-builtin -Wl,-soname,libcuda.so.1 -o "$root/lib/stubs/libcuda.so"
    ln -sf libcuda.so "$root/lib/stubs/libcuda.so.1"
    say 'no driver library to link with: made a stub, lib/stubs/libcuda.so'
fi
rm -f "$dir/.probe"

# 4. dfdx asks nvidia-smi which GPU to compile for. Where none answers, this one does.
shim="$dir/shim"
path_without_shim="$(printf '%s' "$PATH" | tr ':' '\n' | grep -vxF "$shim" | paste -sd:)"
question='--query-gpu=compute_cap --format=csv'
if PATH="$path_without_shim" nvidia-smi $question 2>/dev/null | grep -qx compute_cap; then
    export_path="$root/bin"
else
    mkdir -p "$shim"
    cat >"$shim/nvidia-smi" <<SHIM
#!/bin/sh
# Stands in for nvidia-smi on a machine without a GPU: says which one to compile for, and no more.
[ "\$*" = '$question' ] && printf 'compute_cap\n$cap\n' && exit
echo 'there is no NVIDIA driver on this machine; $shim/nvidia-smi only names a GPU to compile for' >&2
exit 9
SHIM
    chmod +x "$shim/nvidia-smi"
    export_path="$shim:$root/bin"
    say "no GPU answers: compiling for compute capability $cap"
fi
"$root/bin/nvcc" --list-gpu-code | grep -qx "sm_${cap/./}" || [ "$export_path" = "$root/bin" ] ||
    fail "CUDA 13 can't compile for compute capability $cap; it knows $("$root/bin/nvcc" --list-gpu-code | paste -sd' ')"

# 5. For the shell. Each line may be evaluated more than once.
export_paths() { # export_paths VARIABLE FOLDER:FOLDER…
    printf 'case ":${%s-}:" in *:%s:*) ;; *) export %s=%s"${%s:+:$%s}" ;; esac\n' \
        "$1" "$(quoted "$2")" "$1" "$(quoted "$2")" "$1" "$1"
}
printf 'export CUDA_PATH=%s CUDA_ROOT=%s\n' "$(quoted "$root")" "$(quoted "$root")"
export_paths PATH "$export_path"
export_paths LD_LIBRARY_PATH "$root/lib"
say "ready: $("$root/bin/nvcc" --version | sed -n 's/.*release \([^,]*\).*/CUDA \1/p') in $root"
