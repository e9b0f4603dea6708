#!/bin/sh
# Two shards and a service, each in a network of its own, as on three machines: what the shards find is added, and compared with
# what one run of all finds. It needs root and iproute2, says so where they are missing, and ends with success there.
#
# cargo build --release -p touchstone-load --bins --examples
# sh crates/touchstone-load/tests/namespaces.sh [FOLDER OF THE PROGRAMS]
set -eu
programs=${1:-target/release}
load=$programs/touchstone-load
fixed=$programs/examples/fixed
if [ "$(id -u)" != 0 ]; then
    echo "skipped: only root makes networks"
    exit 0
fi
if ! command -v ip > /dev/null || ! ip netns add load-probe 2> /dev/null; then
    echo "skipped: \`ip netns\` makes no networks here (apt-get install iproute2)"
    exit 0
fi
ip netns del load-probe
for program in "$load" "$fixed"; do
    [ -x "$program" ] || { echo "$program is missing: cargo build --release -p touchstone-load --bins --examples" >&2; exit 69; }
done

folder=$(mktemp -d)
service=
leave() {
    [ -z "$service" ] || kill "$service" 2> /dev/null || true
    for name in load-one load-two load-service; do ip netns del "$name" 2> /dev/null || true; done
    rm -rf "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM

# The service has a bridge, and each shard a cable to it.
ip netns add load-service
ip -n load-service link add bridge type bridge
ip -n load-service addr add 10.77.0.1/24 dev bridge
ip -n load-service link set bridge up
number=2
for name in load-one load-two; do
    ip netns add "$name"
    ip -n "$name" link add eth0 type veth peer name "$name" netns load-service
    ip -n load-service link set "$name" master bridge
    ip -n load-service link set "$name" up
    ip -n "$name" addr add "10.77.0.$number/24" dev eth0
    ip -n "$name" link set eth0 up
    number=$((number + 1))
done
ip netns exec load-service "$fixed" 10.77.0.1:8080 > "$folder/service.txt" &
service=$!
until grep -q answering "$folder/service.txt"; do kill -0 "$service"; done

cat > "$folder/scenario.toml" << 'END'
name = "namespaces"
host = "http://10.77.0.1:8080"
load = { arrivals = "poisson", users = 32 }
phase = [{ length = "1s", rate = 500, counted = false }, { length = "4s", rate = 2000 }]
flow = [{ name = "two", steps = ["first", "second"], weight = 3 }, { name = "one", steps = ["first"] }]
[[request]]
name = "first"
path = "/first"
[[request]]
name = "second"
path = "/second"
END

run() { # namespace, name of the outcome, more options
    space=$1 name=$2
    shift 2
    status=0
    ip netns exec "$space" "$load" "$folder/scenario.toml" --out "$folder/$name" "$@" > "$folder/$name.txt" 2>&1 || status=$?
    # 3 says that the generator was late: so it is on a machine that others use, and nothing here depends on it.
    [ "$status" = 0 ] || [ "$status" = 3 ] || { cat "$folder/$name.txt" >&2; exit "$status"; }
}
run load-one whole
start=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)
run load-one one --shard 1/2 --start-at "$start" &
first=$!
run load-two two --shard 2/2 --start-at "$start" &
second=$!
wait "$first"
wait "$second"
"$load" merge "$folder/one" "$folder/two" --out "$folder/sum" > "$folder/sum.txt" 2>&1 || [ $? = 3 ]
cat "$folder/sum.txt"

# Counts are those of the whole; histograms are added to the last count.
python3 - "$folder" << 'END'
import base64, collections, json, struct, sys

def outcome(name):
    with open(f"{sys.argv[1]}/{name}/outcome.json", encoding="utf-8") as file:
        return json.load(file)

def counts(text):
    """The counts of an HdrHistogram in its format V2, read here anew from its description."""
    data = base64.b64decode(text)
    cookie, length = struct.unpack_from(">II", data)
    assert cookie == 0x1C849313, hex(cookie)
    found, place, at = collections.Counter(), 0, 40
    while at < 40 + length:
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            if shift == 56:
                value |= byte << 56
                break
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        value = (value >> 1) ^ -(value & 1)
        if value < 0:
            place -= value
        else:
            found[place] += value
            place += 1
    return +found

whole, one, two, both = map(outcome, ["whole", "one", "two", "sum"])
row = lambda outcome, key: next(r for r in outcome["rows"] if (r["phase"], r["request"]) == key)
print(f"{'phase':6} {'request':8} {'one run':>8} {'1/2':>6} {'2/2':>6} {'sum':>6} {'buckets':>8}")
for first in whole["rows"]:
    key = (first["phase"], first["request"])
    ended = []
    for name in ("response", "service", "lag"):
        parts = [counts(row(part, key)[name]) for part in (one, two)]
        total = counts(row(both, key)[name])
        assert parts[0] + parts[1] == total, (key, name)
        ended.append([sum(counts(first[name]).values())] + [sum(part.values()) for part in parts + [total]])
        assert ended[-1][0] == ended[-1][3], (key, name, ended)
    print(f"{key[0]:6} {key[1]:8} {ended[0][0]:8} {ended[0][1]:6} {ended[0][2]:6} {ended[0][3]:6} {len(total):8}")
assert whole["due"] == both["due"] == one["due"] + two["due"], "iterations"
assert [o["unsent"] for o in (whole, both)] == [0, 0] and not any(r["failures"] for r in both["rows"])
print(f"iterations: {whole['due']} in one run, {one['due']} + {two['due']} = {both['due']} in two shards; histograms added exactly")
END
