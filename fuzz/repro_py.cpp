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

# The argument structures of mqa.h: i int32, l int64, p pointer.
STRUCTURES = dict(
    paged="i:batch i:next_n i:heads i:head_dim i:block_size i:layout i:fp8 i:tail l:max_model_len l:num_blocks p:q"
    " l:q_stride_batch l:q_stride_next l:q_stride_head p:kv_cache l:kv_block_stride_bytes p:weights l:weights_stride"
    " p:context_lens i:lens_per_row l:context_lens_stride p:block_table l:block_table_stride p:logits"
    " l:logits_stride p:slot_prefix l:logits_stride_head",
    prefill="i:rows i:heads i:head_dim i:fp8 i:tail i:compressed l:num_keys l:columns p:q l:q_stride_row"
    " l:q_stride_head p:k l:k_stride p:k_scales l:k_scales_stride p:weights l:weights_stride p:starts p:ends"
    " p:logits l:logits_stride",
    head_sum="l:rows i:heads l:columns p:per_head l:stride_head l:stride_row p:sums l:sums_stride",
)
TYPES = dict(i=ctypes.c_int32, l=ctypes.c_int64, p=ctypes.c_void_p)


def arguments(structure, values):
    fields = [(name, TYPES[kind]) for kind, name in (f.split(":") for f in STRUCTURES[structure].split())]
    kind = type(structure, (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_size_t)] + fields})
    return kind(ctypes.sizeof(kind), **values)


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
    if math.isinf(bound):  # fp32 does not settle the class
        return True
    if math.isnan(expected):
        return math.isnan(got)
    if math.isinf(expected):
        return got == expected
    return abs(got - expected) <= bound + abs(expected) * 6e-8


pools = {name: device(size) for name, size in SIZES.items()}
for name, pieces in PIECES.items():
    fill(pools[name], pieces)
for name, values in LISTS.items():
    upload(pools[name], 0, values)
for _, _, element, *_ in CELLS:
    upload(pools["logits"], 4 * element, np.array([SENTINEL], np.uint32))
config = (ctypes.c_int32 * 4)(*CONFIG)
for entry, structure, values, pointers in CALLS:
    args = arguments(structure, values | {name: pools[pool] for name, pool in pointers.items()})
    call = getattr(mqa, entry)
    status = call(ctypes.byref(args), None) if structure == "head_sum" else call(ctypes.byref(args), config, None, None)
    if status != 0:
        sys.exit(f"{entry}: " + mqa.mqa_last_error().decode())
check(hip.hipDeviceSynchronize(), "the kernel")
wrong = 0
for row, column, element, due, expected, bound in CELLS:
    word = np.zeros(1, np.uint32)
    where = ctypes.c_void_p(pools["logits"] + 4 * element)
    check(hip.hipMemcpy(word.ctypes.data_as(ctypes.c_void_p), where, ctypes.c_size_t(4), 2), "hipMemcpy")
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

std::string paged_call(const Problem& p) {
  const bool planes = p.op == Operation::head_sum || is_per_head(p.op);
  return fmt::format(
      "    (\"{}\", \"paged\", dict(\n"
      "        batch={}, next_n={}, heads={}, head_dim={}, block_size={}, layout={}, fp8={}, tail={},\n"
      "        max_model_len={}, num_blocks={}, q_stride_batch={}, q_stride_next={}, q_stride_head={},\n"
      "        kv_block_stride_bytes={}, weights_stride={}, lens_per_row={}, context_lens_stride={},\n"
      "        block_table_stride={}, logits_stride={}, logits_stride_head={}),\n"
      "     dict(q=\"q\", kv_cache=\"kv_cache\", weights=\"weights\", block_table=\"block_table\", "
      "{}=\"lens\", "
      "logits=\"{}\")),\n",
      entry_name(p.op), p.batch, p.next_n, p.heads, p.head_dim, p.block_size, static_cast<int>(p.layout),
      static_cast<int>(p.fp8), static_cast<int>(p.tail), p.max_model_len, p.num_blocks, p.q_stride_batch,
      p.q_stride_next, p.q_stride_head, p.kv_block_stride_bytes, p.weights_stride, p.lens_per_row ? 1 : 0,
      p.lens_per_row ? p.next_n : 1, p.block_table_stride, p.logits_stride, planes ? p.logits_stride_head : 0,
      is_ragged(p.op) ? "slot_prefix" : "context_lens", p.op == Operation::head_sum ? "planes" : "logits");
}

std::string sum_call(const Problem& p) {
  return fmt::format(
      "    (\"mqa_head_sum\", \"head_sum\", dict(\n"
      "        rows={}, heads={}, columns={}, stride_head={}, stride_row={}, sums_stride={}),\n"
      "     dict(per_head=\"planes\", sums=\"logits\")),\n",
      p.rows(), p.heads, p.max_model_len, p.logits_stride_head, p.logits_stride, p.logits_stride);
}

std::string prefill_call(const Problem& p) {
  return fmt::format(
      "    (\"mqa_prefill_logits\", \"prefill\", dict(\n"
      "        rows={}, heads={}, head_dim={}, fp8={}, tail={}, compressed={}, num_keys={}, columns={},\n"
      "        q_stride_row={}, q_stride_head={}, k_stride={}, k_scales_stride={}, weights_stride={},\n"
      "        logits_stride={}),\n"
      "     dict(q=\"q\", k=\"kv_cache\", k_scales=\"key_scales\", weights=\"weights\", starts=\"starts\", "
      "ends=\"lens\", logits=\"logits\")),\n",
      p.rows(), p.heads, p.head_dim, static_cast<int>(p.fp8), static_cast<int>(p.tail), p.compressed ? 1 : 0,
      p.num_blocks, p.max_model_len, p.q_stride_next, p.q_stride_head, p.kv_block_stride_bytes,
      p.key_scales_stride, p.weights_stride, p.logits_stride);
}

std::string calls(const Problem& p) {
  const std::string first = p.op == Operation::prefill_logits ? prefill_call(p) : paged_call(p);
  return fmt::format("CALLS = [  # entry point, structure, values, pointers by tensor\n{}{}]\n", first,
                     p.op == Operation::head_sum ? sum_call(p) : "");
}

// What the kernel reads as lengths: prefixes of ragged sequences, ends of the rows of a prefill.
std::vector<int32_t> lengths(const Problem& p) {
  return is_ragged(p.op) ? slot_prefix_of(p) : p.context_lens;
}

} // namespace

std::string repro_py(const ReproData& data) {
  if (!data.no_program.empty())
    return fmt::format("# {}\nraise SystemExit(\"{}\")\n", data.title, data.no_program);
  const Problem& p = data.problem;
  std::string text = fmt::format(fmt::runtime(kHead), fmt::arg("title", data.title)) + calls(p);
  text += fmt::format("CONFIG = [{}, {}, {}, {}]\n", data.config.variant, data.config.chunk_k,
                      data.config.split_kv, data.config.wave_per_eu);
  text += fmt::format(
      "SIZES = dict(q={}, kv_cache={}, weights={}, key_scales={}, lens={}, block_table={}, starts={},\n"
      "             planes={}, logits={})\n",
      query_bytes(p), kv_cache_bytes(p), weights_bytes(p), key_scales_bytes(p), 4 * lengths(p).size(),
      4 * p.block_table.size(), 4 * p.row_starts.size(), planes_bytes(p), logits_bytes(p));
  text +=
      fmt::format("LISTS = dict(lens=np.array([{}], np.int32), block_table=np.array([{}], np.int32),\n"
                  "             starts=np.array([{}], np.int32))\n",
                  fmt::join(lengths(p), ", "), fmt::join(p.block_table, ", "), fmt::join(p.row_starts, ", "));
  text += fmt::format("PIECES = {{\n    \"q\": {},\n    \"kv_cache\": {},\n    \"weights\": {},\n    "
                      "\"key_scales\": {},\n}}\n",
                      piece_list(data.q), piece_list(data.kv_cache), piece_list(data.weights),
                      piece_list(data.key_scales));
  text += "CELLS = [  # row, column, element, v value / i -inf / u untouched, expected, bound\n";
  for (const DueCell& cell : data.cells)
    text += fmt::format("    ({}, {}, {}, \"{}\", {}, {}),\n", cell.row, cell.column, cell.element,
                        cell.due == Due::value       ? 'v'
                        : cell.due == Due::untouched ? 'u'
                                                     : 'i',
                        number(cell.expected), number(cell.bound));
  return text + "]\n" + kMain;
}

} // namespace mqalab
