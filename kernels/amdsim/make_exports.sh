#!/bin/sh
# Writes what turns our objects into a drop-in for the real library: C stubs for the entry points that they lack, and the
# linker's version script.  exports.txt has a line "name version" for every entry point of HIP 5.2's libamdhip64.so.5.
# Usage: make_exports.sh NM EXPORTS STUBS_OUT VERSIONS_OUT OBJECT...
set -eu
nm=$1 exports=$2 stubs=$3 versions=$4
shift 4

# These return no hipError_t, so the only honest failure is to abort.
no_status='^(hipApiName|hipGetCmdName|hipKernelNameRef|hipKernelNameRefByPtr|hipGetStreamDeviceId|hipCreateChannelDesc|__.*|amd_dbgapi.*|_Z.*)$'

"$nm" --defined-only "$@" | awk '$2 == "T" { print $3 }' > "$stubs.have"
awk -v have="$stubs.have" -v no_status="$no_status" '
  BEGIN {
    while ((getline name < have) > 0) defined[name] = 1
    print "extern int amdsim_unimplemented(const char*); extern void amdsim_unimplemented_abort(const char*);"
  }
  $1 in defined { next }
  $1 ~ no_status { printf "void %s(void) { amdsim_unimplemented_abort(\"%s\"); }\n", $1, $1; next }
  { printf "int %s(void) { return amdsim_unimplemented(\"%s\"); }\n", $1, $1 }' "$exports" > "$stubs"

awk '
  { names[$2] = names[$2] " " $1 ";" }
  END {
    count = split("hip_4.2 hip_4.3 hip_4.4 hip_4.5 hip_5.0 hip_5.1 hip_5.2", order)
    for (i = 1; i <= count; i++) {
      printf "%s { global:%s%s } %s;\n", order[i], names[order[i]], i == 1 ? " local: *;" : "", previous
      previous = order[i]
    }
    print "amdsim_1 { global: amdsim_set; amdsim_last_message; amdsim_clear_error; amdsim_quiet; amdsim_coverage_into;",
      "amdsim_collect_compares; amdsim_compare_constants; amdsim_collect_counts; amdsim_counts_last; amdsim_xcc_count; };"
  }' "$exports" > "$versions"
