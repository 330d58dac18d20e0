// HIP's half precision type and conversions have the same names in CUDA.
#pragma once
#include <cuda_fp16.h>
