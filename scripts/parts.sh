# Sourced by the checks. `part NAME COMMAND…` runs a part of a check and stops at the first that fails; at the end it is
# printed how long each part took and which tests were skipped.

log=$(mktemp)
times=()

part() {
    current=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$current"
    "$@" 2>&1 | tee -a "$log"
    times+=("$((SECONDS - began)) $current")
    current=
}

finish() {
    local status=$?
    [ -z "${current:-}" ] || times+=("$((SECONDS - began)) $current: FAILED")
    # A test harness that shows one test at a time has not yet ended its line.
    printf '\n== skipped tests: %s\n' "$(grep -cE 'SKIPPED( lab)?: ' "$log" || true)"
    grep -oE 'SKIPPED( lab)?: .*' "$log" || true
    rm -f "$log"
    printf '\n%8s  part\n' seconds
    local each
    for each in "${times[@]}" "$SECONDS together"; do
        printf '%8s  %s\n' "${each%% *}" "${each#* }"
    done
    exit $status
}
trap finish EXIT
