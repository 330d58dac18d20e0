// Writes repro.py: the same data as repro.cpp, NumPy and ctypes over libmqa and the HIP runtime.
#include "fuzz/repro_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace mqalab {
namespace {

constexpr const char* kHead = R"py(#!/usr/bin/env python3
"""Reproduces one finding of mqalab without the lab: libmqa's C API and the HIP runtime by ctypes, and NumPy.

{title}

run:  MQA_LIBRARY=/path/libmqa.so HIP_LIBRARY=/path/libamdhip64.so python3 repro.py
exit 1: at least one cell is wrong.
"""
import ctypes
import math
import os
import sys

import numpy as np

SENTINEL = 0x7FC0DEAD
)py";

constexpr const char* kMain = R"py(

class Args(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, ctypes.c_int32) for name in "batch next_n heads head_dim block_size layout fp8 tail".split()
    ] + [
        ("max_model_len", ctypes.c_int64), ("num_blocks", ctypes.c_int64), ("q", ctypes.c_void_p),
        ("q_stride_batch", ctypes.c_int64), ("q_stride_next", ctypes.c_int64), ("q_stride_head", ctypes.c_int64),
        ("kv_cache", ctypes.c_void_p), ("kv_block_stride_bytes", ctypes.c_int64),
        ("weights", ctypes.c_void_p), ("weights_stride", ctypes.c_int64),
        ("context_lens", ctypes.c_void_p), ("lens_per_row", ctypes.c_int32), ("context_lens_stride", ctypes.c_int64),
        ("block_table", ctypes.c_void_p), ("block_table_stride", ctypes.c_int64),
        ("logits", ctypes.c_void_p), ("logits_stride", ctypes.c_int64),
    ]


hip = ctypes.CDLL(os.environ.get("HIP_LIBRARY", "libamdhip64.so"), mode=ctypes.RTLD_GLOBAL)
mqa = ctypes.CDLL(os.environ.get("MQA_LIBRARY", "libmqa.so"))
mqa.mqa_last_error.restype = ctypes.c_char_p


def check(error, what):
    if error != 0:
        sys.exit(f"{what}: HIP error {error}")


def device(size):
    memory = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(max(size, 4))), "hipMalloc")
    return memory.value


def upload(memory, offset, array):
    check(hip.hipMemcpy(ctypes.c_void_p(memory + offset), array.ctypes.data_as(ctypes.c_void_p),
                        ctypes.c_size_t(array.nbytes), 1), "hipMemcpy")


def fill(memory, pieces):
    for offset, repeats, text in pieces:
        upload(memory, offset, np.tile(np.frombuffer(bytes.fromhex(text), np.uint8), repeats))


def right(due, expected, bound, bits):
    got = float(np.array(bits, np.uint32).view(np.float32))
    if due == "u":
        return bits == SENTINEL
    if bits == SENTINEL:
        return False
    if math.isnan(expected):
        return math.isnan(got)
    if math.isinf(expected):
        return got == expected
    return abs(got - expected) <= bound + abs(expected) * 6e-8


pools = {name: device(size) for name, size in SIZES.items()}
for name, pieces in PIECES.items():
    fill(pools[name], pieces)
upload(pools["context_lens"], 0, LENS)
upload(pools["block_table"], 0, TABLE)
for row, column, *_ in CELLS:
    upload(pools["logits"], 4 * (row * ARGUMENTS["logits_stride"] + column), np.array([SENTINEL], np.uint32))
args = Args(ctypes.sizeof(Args), **ARGUMENTS, **pools)
config = (ctypes.c_int32 * 4)(*CONFIG)
if mqa.mqa_paged_logits(ctypes.byref(args), config, None, None) != 0:
    sys.exit("mqa_paged_logits: " + mqa.mqa_last_error().decode())
check(hip.hipDeviceSynchronize(), "the kernel")
wrong = 0
for row, column, due, expected, bound in CELLS:
    word = np.zeros(1, np.uint32)
    where = pools["logits"] + 4 * (row * ARGUMENTS["logits_stride"] + column)
    check(hip.hipMemcpy(word.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(where), ctypes.c_size_t(4), 2), "hipMemcpy")
    bits = int(word[0])
    good = right(due, expected, bound, bits)
    wrong += not good
    wanted = "untouched" if due == "u" else f"{expected:.9g} (+- {bound:.3g})"
    shown = "untouched" if bits == SENTINEL else f"{word.view(np.float32)[0]:.9g} (0x{bits:08x})"
    print(f"row {row} column {column}: expected {wanted}, got {shown}{'' if good else '   WRONG'}")
print(f"{wrong} of {len(CELLS)} cells wrong")
sys.exit(1 if wrong else 0)
)py";

std::string piece_list(const std::vector<Piece>& list) {
  std::string text = "[\n";
  for (const Piece& piece : list) {
    text += fmt::format("        ({}, {},", piece.offset, piece.repeats);
    for (size_t at = 0; at < piece.hex.size(); at += 96)
      text += fmt::format("\n         \"{}\"", piece.hex.substr(at, 96));
    text += "),\n";
  }
  return text + "    ]";
}

std::string number(double value) {
  return std::isnan(value)   ? "math.nan"
         : std::isinf(value) ? (value < 0 ? "-math.inf" : "math.inf")
                             : fmt::format("{:.17g}", value);
}

std::string arguments(const Problem& p) {
  return fmt::format(
      "ARGUMENTS = dict(\n    batch={}, next_n={}, heads={}, head_dim={}, block_size={}, layout={}, fp8={}, "
      "tail={},\n"
      "    max_model_len={}, num_blocks={}, q_stride_batch={}, q_stride_next={}, q_stride_head={},\n"
      "    kv_block_stride_bytes={}, weights_stride={}, lens_per_row={}, context_lens_stride={},\n"
      "    block_table_stride={}, logits_stride={})\n",
      p.batch, p.next_n, p.heads, p.head_dim, p.block_size, static_cast<int>(p.layout),
      static_cast<int>(p.fp8), static_cast<int>(p.tail), p.max_model_len, p.num_blocks, p.q_stride_batch,
      p.q_stride_next, p.q_stride_head, p.kv_block_stride_bytes, p.weights_stride, p.lens_per_row ? 1 : 0,
      p.lens_per_row ? p.next_n : 1, p.block_table_stride, p.logits_stride);
}

} // namespace

std::string repro_py(const ReproData& data) {
  if (data.too_large)
    return fmt::format("# {}\nraise SystemExit(\"the data of this case are too large to embed: use replay.sh "
                       "beside this file\")\n",
                       data.title);
  const Problem& p = data.problem;
  std::string text = fmt::format(fmt::runtime(kHead), fmt::arg("title", data.title)) + arguments(p);
  text += fmt::format("CONFIG = [{}, {}, {}, {}]\n", data.config.variant, data.config.chunk_k,
                      data.config.split_kv, data.config.wave_per_eu);
  text +=
      fmt::format("SIZES = dict(q={}, kv_cache={}, weights={}, context_lens={}, block_table={}, logits={})\n",
                  query_bytes(p), kv_cache_bytes(p), weights_bytes(p), 4 * p.context_lens.size(),
                  4 * p.block_table.size(), logits_bytes(p));
  text += fmt::format("LENS = np.array([{}], np.int32)\nTABLE = np.array([{}], np.int32)\n",
                      fmt::join(p.context_lens, ", "), fmt::join(p.block_table, ", "));
  text += fmt::format("PIECES = {{\n    \"q\": {},\n    \"kv_cache\": {},\n    \"weights\": {},\n}}\n",
                      piece_list(data.q), piece_list(data.kv_cache), piece_list(data.weights));
  text += "CELLS = [  # row, column, v value / i -inf / u untouched, expected, bound\n";
  for (const DueCell& cell : data.cells)
    text += fmt::format("    ({}, {}, \"{}\", {}, {}),\n", cell.row, cell.column,
                        cell.due == Due::value       ? 'v'
                        : cell.due == Due::untouched ? 'u'
                                                     : 'i',
                        number(cell.expected), number(cell.bound));
  return text + "]\n" + kMain;
}

} // namespace mqalab
