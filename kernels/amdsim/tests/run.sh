#!/bin/bash
# Runs a test program and judges it.
#   run.sh passes PROGRAM ARGUMENT...   its last line must end with " 0 failed"
#   run.sh says REGEX PROGRAM ...       its output must match, whatever its status
#   run.sh case PROGRAM CASES LINE      the case in that line of the file, "case | regex | environment": the output must
#                                       match and the status be 3; where regex is "-": nothing is reported, status 0
set -u

run() { output=$("$@" 2>&1) && status=0 || status=$?; }
expect() { # WORDS, after a test
  [ $? = 0 ] && return
  printf '%s\nstatus %s; expected: %s\n' "$output" "$status" "$1"
  exit 1
}

mode=$1
shift
case $mode in
  passes)
    run "$@"
    [[ $status = 0 && $(tail -1 <<< "$(grep -v '^amdsim: ' <<< "$output")") == *" 0 failed" ]]
    expect "status 0 and a last line that ends with ' 0 failed'" ;;
  says)
    regex=$1
    shift
    run "$@"
    [[ $output =~ $regex ]]
    expect "$regex" ;;
  case)
    line=$(sed -n "$3p" "$2")
    name=${line%% | *} rest=${line#* | }
    [[ $rest == *" | "* ]] && regex=${rest% | *} || regex=${rest% |}
    run "$1" "$name"
    if [ "$regex" = - ]; then
      [[ $status = 0 && $output != *"amdsim: "* ]]
      expect "status 0 and nothing reported"
    else
      [[ $status = 3 && $output =~ $regex ]]
      expect "status 3 and $regex"
    fi ;;
  *) echo "run.sh: $mode is not known; choices: passes says case"; exit 2 ;;
esac
