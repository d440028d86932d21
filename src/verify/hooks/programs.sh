#!/bin/bash
# Stands on the path before a program of the same name and adds a report to its arguments; runs inside the sandbox.
name=${0##*/}
here=$(cd "${0%/*}" && pwd)
hooks=${here%/*}
reports=${hooks%/*}
real=
IFS=: read -ra directories <<<"$PATH"
for directory in "${directories[@]}"; do
  if [ "$directory" != "$here" ] && [ -x "$directory/$name" ] && [ ! -d "$directory/$name" ]; then
    real=$directory/$name
    break
  fi
done
if [ -z "$real" ]; then
  echo "bash: $name: command not found" >&2
  exit 127
fi
[ -z "${SUITE_REPORT_TAKEN-}" ] || exec "$real" "$@"

id=$$-$(date +%s%N)

# What the tests themselves start is no part of the suite, even where it is a test runner.
taken() {
  export SUITE_REPORT_TAKEN=1
  if [ "${NODE_OPTIONS-}" = "${SUITE_REPORT_NODE_OPTIONS-}" ]; then unset NODE_OPTIONS; fi
  unset HARNESS_SUBCLASS
}

has() {
  local wanted=$1 word
  shift
  for word in "$@"; do
    # shellcheck disable=SC2254
    case $word in $wanted) return 0 ;; esac
  done
  return 1
}

case $name in
  node)
    case " ${NODE_OPTIONS-} " in
      *"$hooks/preload.cjs"*) ;;
      *) export NODE_OPTIONS="${SUITE_REPORT_NODE_OPTIONS-} ${NODE_OPTIONS-}" ;;
    esac
    ;;
  bats)
    if ! has '--report-formatter' "$@" && ! has '--count' "$@" && ! has '-c' "$@"; then
      taken
      mkdir "$hooks/bats.$id"
      "$real" --report-formatter junit --output "$hooks/bats.$id" "$@"
      code=$?
      # bats ends before the process that writes its report does.
      for _ in {1..100}; do
        if grep -q '</testsuites>' "$hooks/bats.$id/report.xml" 2>/dev/null; then break; fi
        sleep 0.1
      done
      mv "$hooks/bats.$id/report.xml" "$reports/bats-$id.xml" 2>/dev/null
      exit $code
    fi
    ;;
  ctest)
    if ! has '--output-junit' "$@" && ! has '-N' "$@" && ! has '--show-only*' "$@" && ! has '--build-and-test' "$@" &&
      ! has '-[SDMT]*' "$@" && ! has '--version' "$@" && ! has '--help*' "$@"; then
      taken
      exec "$real" --output-junit "$reports/ctest-$id.xml" "$@"
    fi
    ;;
  cargo)
    arguments=()
    read=0
    for word in "$@"; do
      read=$((read + 1))
      arguments+=("$word")
      if [ "$word" = -- ]; then break; fi
      if { [ "$word" = test ] || [ "$word" = t ]; } && ! has '--no-fail-fast' "$@"; then arguments+=(--no-fail-fast); fi
    done
    shift "$read"
    ;;
  go)
    if [ "${1-}" = test ] && ! has '-json' "$@" && ! has '--json' "$@" && ! has '-c' "$@" && ! has '-list*' "$@"; then
      shift
      taken
      set -o pipefail
      "$real" test -json "$@" | tee "$reports/go-$id.gotest" | sed -n -e 's/^{.*"Output":"\(.*\)\\n"}$/\1/p' -e t -e '/^{/!p' |
        while IFS= read -r line; do printf '%b\n' "$line"; done
      exit "${PIPESTATUS[0]}"
    fi
    ;;
  java)
    if has '*junit-platform-console*' "$@" || has 'org.junit.platform.console.*' "$@"; then
      if ! has '--reports-dir*' "$@"; then
        taken
        "$real" "$@" --reports-dir "$hooks/junit.$id"
        code=$?
        for file in "$hooks/junit.$id"/*.xml; do
          mv "$file" "$reports/junit-$id-${file##*/}" 2>/dev/null
        done
        exit $code
      fi
    fi
    ;;
  php | phpunit | pest)
    if [ "$name" != php ] || has '*/phpunit' "$@" || has '*phpunit*.phar' "$@" || has '*/pest' "$@" || has 'phpunit' "$@"; then
      if ! has '--log-junit*' "$@" && ! has '--version' "$@" && ! has '--list-tests*' "$@"; then
        taken
        exec "$real" "$@" --log-junit "$reports/phpunit-$id.xml"
      fi
    fi
    ;;
  deno)
    if [ "${1-}" = test ] && ! has '--junit-path*' "$@" && ! has '--no-run' "$@"; then
      shift
      taken
      exec "$real" test "--junit-path=$reports/deno-$id.xml" "$@"
    fi
    ;;
  bun)
    if [ "${1-}" = test ] && ! has '--reporter*' "$@"; then
      shift
      taken
      exec "$real" test --reporter=junit "--reporter-outfile=$reports/bun-$id.xml" "$@"
    fi
    ;;
  mix)
    if [ "${1-}" = test ] && ! has '--trace' "$@"; then
      shift
      taken
      exec "$real" test --trace "$@"
    fi
    ;;
  dotnet)
    if [ "${1-}" = test ] && ! has '--list-tests' "$@" && ! has '-t' "$@"; then
      shift
      taken
      "$real" test --logger trx --results-directory "$hooks/dotnet.$id" "$@"
      code=$?
      for file in "$hooks/dotnet.$id"/*.trx; do
        mv "$file" "$reports/dotnet-$id-$((++count)).trx" 2>/dev/null
      done
      exit $code
    fi
    ;;
esac
if [ "$name" = cargo ]; then exec "$real" "${arguments[@]}" "$@"; fi
exec "$real" "$@"
