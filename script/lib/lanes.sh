# The lanes that the tests are divided into. Each can run alone, under the same name, on a person's
# machine and in CI, and installs what it needs. Every test runs in exactly one lane; only the tests
# that depend on the NaCl implementation run in two. Sourced after tools.sh and servers.sh.

. script/lib/programs.sh

LANES=(static storage portable gateway cli bench live whole fuzz reference acceptance)

reports=$cache/reports
failed=()
is_built=

# Every runner writes JUnit XML to $reports/NAME.xml. Steps that are no test runners are test cases
# of the report `steps`.
record_step() {
  local name=$1 status=$2
  if [ "$status" -eq 0 ]; then
    printf '<testcase name="%s"/>\n' "$name" >>"$reports/steps.txt"
  else
    failed+=("$name")
    printf '<testcase name="%s"><failure/></testcase>\n' "$name" >>"$reports/steps.txt"
  fi
  return "$status"
}

# Runs a step to its end. A step that fails does not stop the next one, so that one run shows
# everything that is wrong.
# Usage: step NAME COMMAND…
step() {
  local name=$1 status=0
  shift
  say "$name"
  "$@" || status=$?
  record_step "$name" "$status" || true
}

# Runs several commands at the same time and prints the output of each as a whole.
# Usage: side_by_side NAME COMMAND [NAME COMMAND]…, where each COMMAND is one word
side_by_side() {
  local names=() pids=() i status
  while [ $# -gt 0 ]; do
    "$2" >"$reports/${#names[@]}.log" 2>&1 </dev/null &
    pids+=($!)
    names+=("$1")
    shift 2
  done
  for i in "${!names[@]}"; do
    status=0
    wait "${pids[i]}" || status=$?
    say "${names[i]}"
    cat "$reports/$i.log" >&2
    rm "$reports/$i.log"
    record_step "${names[i]}" "$status" || true
  done
}

types() { bun run --silent types; }
lint() { bun run --silent lint; }
format() { bun run --silent format:check; }
unused() { bun run --silent unused; }
# Otherwise each test file that needs a build would make one.
build() { bun run --silent build && export IDK_TEST_BUILT=1; }

# GitHub's workflows. The linter is built with Go; without it, this is left out, except in CI.
workflows() {
  if ! build_server actionlint "$ACTIONLINT_MODULE"; then
    [ -z "${CI:-}" ]
    return
  fi
  "$go_bin/actionlint" -color=false
}

# Builds what is published, once in a run.
build_once() {
  [ -z "$is_built" ] || return
  is_built=1
  step "Build" build
}

# One process for each of two cores, or $processes if the tests wait a lot; the report of all of them is
# one file. Files that took long in earlier runs start first, so that no process is left alone with one
# at the end.
# Usage: [processes=N] bun_tests REPORT [FLAG…] PATH…
bun_tests() {
  local report=$1
  shift
  bun test --only-failures --timeout 120000 --parallel="${processes:-2}" \
    --timings="$cache/timings/$report.json" --update-timings \
    --reporter=junit --reporter-outfile="$reports/$report.xml" "$@"
}

lane_static() {
  side_by_side Types types Lint lint Format format "Dead code" unused Workflows workflows
}

# The library without its backends, over the native NaCl, the recorder, links, and snapshots, with 2,000
# schedules of backups and prunes.
lane_storage() {
  step "Python environment" ensure_python
  step "Programs" ensure_programs rsync
  IDK_TEST_NACL=native IDK_MODEL_SCHEDULES=2000 step "Libraries, native NaCl" bun_tests storage \
    --path-ignore-patterns "packages/storage/test/backend/**" packages/storage packages/snapshots \
    packages/recorder packages/link
}

# The tests that depend on which NaCl seals and opens, once more over the one in JavaScript. Tests that no
# NaCl could break are left out: codecs, counts in the thousands, listing and copying, which blobs are
# sent, and a second put of what a get returns.
lane_portable() {
  step "Python environment" ensure_python
  IDK_TEST_NACL=portable step "Library, portable NaCl" bun_tests portable \
    --path-ignore-patterns "packages/storage/test/reference-compressed.test.ts" \
    --path-ignore-patterns "packages/storage/test/store/{maintenance/*,reseal}.test.ts" \
    --path-ignore-patterns "packages/storage/test/store/write/{compression,many-tiny,metadata}.test.ts" \
    --path-ignore-patterns "packages/storage/test/store/write/{possession,put-report,server-checksums}.test.ts" \
    packages/storage/test/{store,known-answers.test.ts,vectors.test.ts} packages/storage/test/reference
}

# The gateway over its catalogs and stores, and with the clients, faults and attacks that it has to bear.
lane_gateway() {
  step "Python environment" ensure_python
  build_once
  step "Servers" start_servers minio versitygw toxiproxy postgres
  step "S3 clients" ensure_s3_clients
  step "Programs" ensure_programs curl openssl haproxy
  step "Gateway" bun_tests gateway packages/gateway ./tests/live/gateway
}

# The command as it is published; `bun test packages/cli` by itself runs its sources.
lane_cli() {
  build_once
  step "Shells" ensure_programs bash zsh fish mandoc
  step "Servers" start_servers
  IDK_TEST_COMMAND=bundle processes=3 step "Command" bun_tests cli packages/cli
}

lane_bench() {
  step "Servers" start_servers
  step "Chromium" ensure_chromium
  processes=3 step "Measuring" bun_tests bench packages/bench
}

# The backends, and all that needs MinIO, versitygw or a proxy that makes the network misbehave.
lane_live() {
  step "Python environment" ensure_python
  build_once
  step "Servers" start_servers
  processes=4 step "Backends and live servers" bun_tests live \
    --path-ignore-patterns "tests/live/gateway/**" packages/storage/test/backend ./tests/live
}

# What joins the packages: documents, examples, tarballs, runtimes, a browser.
lane_whole() {
  step "Python environment" ensure_python
  build_once
  step "Servers" start_servers
  step "Chromium" ensure_chromium
  # For the installer and the formula.
  step "Programs" ensure_programs dash busybox zsh curl wget openssl ssh-keygen shellcheck ruby
  processes=3 step "Whole" bun_tests whole --path-ignore-patterns "tests/{benchmarks,fuzz,live}/**" ./tests
}

# Mutated blobs, responses, journals, configuration and names: the same seeds each time, however busy the
# machine is, so that a change fails because of what it changes.
fuzz_tests() {
  bun test --reporter=junit --reporter-outfile="$reports/fuzz.xml" ./tests/fuzz
}

reference_tests() {
  "$IDK_REFERENCE_PYTHON" -m pytest testdata/reference -q --junitxml="$reports/reference.xml"
}

lane_fuzz() { side_by_side Fuzzing fuzz_tests; }

lane_reference() {
  step "Python environment" ensure_python
  side_by_side "Reference reader" reference_tests
}

# Both in a run, because each has work for one core.
lane_fuzz_and_reference() {
  step "Python environment" ensure_python
  side_by_side Fuzzing fuzz_tests "Reference reader" reference_tests
}

# Measures once, so nothing runs beside it. Its report and pages are benchmarks.json, .html and .md beside
# the reports of the tests. IDK_BENCH_STRICT=1 also fails what noise leaves open, apart from elapsed time.
lane_acceptance() {
  step "Python environment" ensure_python
  step "Servers" start_servers
  step "Acceptance of the benchmarks" bun test --only-failures --timeout 120000 \
    --reporter=junit --reporter-outfile="$reports/acceptance.xml" ./tests/benchmarks
}

# Runs lanes, prints the totals of their reports, and fails if anything failed.
# Usage: run_lanes LANE…
run_lanes() {
  local lane flags=(--slowest 10)
  rm -rf "$reports"
  mkdir -p "$reports"
  : >"$reports/steps.txt"
  set +e
  for lane in "$@"; do
    case "$lane in $*" in
      "fuzz in"*reference*) lane_fuzz_and_reference ;;
      "reference in"*fuzz*) ;;
      *) "lane_$lane" ;;
    esac
  done
  {
    printf '<testsuites><testsuite name="steps">\n'
    cat "$reports/steps.txt"
    printf '</testsuite></testsuites>\n'
  } >"$reports/steps.xml"
  say "Totals"
  [ "$*" != "${LANES[*]}" ] || flags+=(--complete)
  # Each lane but `static` has a report of its name: one that is missing is a failure.
  bun script/totals.ts "${flags[@]}" "$reports/steps.xml" \
    $(printf '%s\n' "$@" | sed -e /^static$/d -e "s|.*|$reports/&.xml|") || failed+=(Totals)
  [ ${#failed[@]} -eq 0 ]
}
