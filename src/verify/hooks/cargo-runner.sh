#!/bin/bash
# Started by cargo in place of each program it runs: a test binary is asked for a log file, everything else runs as it would.
case $1 in
  */deps/*) ;;
  *) exec "$@" ;;
esac
for word in "$@"; do
  case $word in
    --list | --logfile* | --bench | --help | -h) exec "$@" ;;
  esac
done
# A harness of its own knows no such option.
grep -q 'Write logs to the specified file' "$1" 2>/dev/null || exec "$@"

hooks=$(cd "${0%/*}" && pwd)
id=$$-$(date +%s%N)
export SUITE_REPORT_TAKEN=1
"$@" --logfile "$hooks/cargo.$id.log" | tee "$hooks/cargo.$id.out"
code=${PIPESTATUS[0]}
{
  echo "directory: $PWD"
  echo "binary: $1"
  echo "=== log"
  cat "$hooks/cargo.$id.log"
  echo "=== output"
  cat "$hooks/cargo.$id.out"
} >"${hooks%/*}/cargo-$id.libtest" 2>/dev/null
exit "$code"
