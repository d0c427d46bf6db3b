#!/usr/bin/env bash
# Jobs of two machines, which are network namespaces here: what a link that is
# throttled, delays and loses, or goes down, does to them. Needs root, iproute2,
# /dev/net/tun and the transport ucx.
# usage: scripts/cluster-test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build/bin:$PATH
[ "$(id -u)" = 0 ] || { echo "cluster-test: run it as root, it makes namespaces" >&2; exit 2; }
command -v ip tc >/dev/null || { echo "cluster-test: install iproute2" >&2; exit 2; }
[ -e build/lib/libcprt_ucx.so ] || { echo "cluster-test: build with libucx-dev installed" >&2; exit 2; }

folder=$(mktemp -d)
relay=
a=cprt-a-$$ b=cprt-b-$$
cleanup() {
  [ -z "$relay" ] || kill "$relay" 2>/dev/null || true
  # Whatever still runs there; their network goes with them.
  for space in "$a" "$b"; do
    ip netns pids "$space" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "$space" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap cleanup EXIT

ip netns add "$a"
ip netns add "$b"
ip -n "$a" link add link0 type veth peer name link0 netns "$b"
ip -n "$a" address add 10.77.0.1/24 dev link0
ip -n "$b" address add 10.77.0.2/24 dev link0
for space in "$a" "$b"; do
  ip -n "$space" link set lo up
  ip -n "$space" link set link0 up
done
await_link() {
  for space in "$a" "$b"; do
    until ip netns exec "$space" grep -q up /sys/class/net/link0/operstate; do
      sleep 0.1
    done
  done
}
await_link

master=10.77.0.1
job() { # file for what each rank says, command...: four ranks, two on each
  local said=$1 rank space
  shift
  pids=()
  for rank in 0 1 2 3; do
    space=$a
    [ $rank -lt 2 ] || space=$b
    RANK=$rank WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=$master \
      MASTER_PORT=29500 CPRT_TOKEN=a-secret-of-this-job \
      ip netns exec "$space" "$@" >"$said.$rank" 2>&1 &
    pids+=($!)
  done
}

finish() { # expected status, processes (all of the job)
  local expected=$1 status=0 pid each
  shift
  [ $# -gt 0 ] || set -- "${pids[@]}"
  for pid in "$@"; do
    each=0
    wait "$pid" || each=$?
    [ "$each" = "$expected" ] || status=1
  done
  return $status
}

fail() {
  echo "cluster-test: $1" >&2
  tail -n 5 "$folder"/*.[0-3] >&2
  exit 1
}

model=examples/layer.mlir
run=(cp-run "$model" --transport=ucx --strategy=sequence --rank-threads=1 --quiet)

cp-run "$model" --ranks=4 --strategy=sequence --rank-threads=1 --quiet --outputs="$folder/threads"
job "$folder/plain" "${run[@]}" --outputs="$folder/job"
finish 0 || fail "a job of two machines failed"
cmp "$folder/threads" "$folder/job" || fail "it gave other results than threads"
echo "two machines: the bits of threads"

ip netns exec "$a" tc qdisc add dev link0 root tbf rate 2mbit burst 16kb latency 200ms
job "$folder/slow" "${run[@]}" --repeat=100 --outputs="$folder/slow-job"
finish 0 || fail "a job over a slow link failed"
cmp "$folder/threads" "$folder/slow-job" || fail "a slow link gave other results"
ip netns exec "$a" tc qdisc del dev link0 root
echo "a link of 2 Mbit/s: the same"

# 10 ms each way, and each 50th frame is lost, which TCP sends again.
seed=${CP_TEST_SEED:-$RANDOM}
python3 scripts/slow_link.py "$a" 10.78.0.1/24 "$b" 10.78.0.2/24 10 0.02 "$seed" \
  >"$folder/relay" &
relay=$!
until grep -qs ready "$folder/relay"; do
  kill -0 "$relay" || fail "the relay ended"
  sleep 0.1
done
ip -n "$a" link set link0 down
master=10.78.0.1
job "$folder/far" "${run[@]}" --repeat=10 --outputs="$folder/far-job"
finish 0 || fail "a job over a link that delays and loses failed (CP_TEST_SEED=$seed)"
cmp "$folder/threads" "$folder/far-job" || fail "a link that delays and loses gave other results"
echo "a link that delays by 10 ms and loses 2 % (CP_TEST_SEED=$seed): the same"

# A rank that is killed is missed as soon as the news has come over it.
job "$folder/killed" "${run[@]}" --repeat=1000000000
sleep 6
kill -9 "${pids[3]}"
start=$(date +%s%N)
finish 1 2>/dev/null "${pids[@]:0:3}" || fail "a rank did not fail when another was killed"
wait "${pids[3]}" 2>/dev/null || true
milliseconds=$((($(date +%s%N) - start) / 1000000))
for rank in 0 1 2; do
  grep -q "rank 3 has gone" "$folder/killed.$rank" || fail "rank $rank does not say who has gone"
done
[ $milliseconds -le 1500 ] || fail "the ranks took $milliseconds ms to miss a killed one"
echo "a rank that is killed behind it: missed after $milliseconds ms"
kill "$relay"
wait "$relay" 2>/dev/null || true
relay=
ip -n "$a" link set link0 up
await_link
master=10.77.0.1

job "$folder/down" "${run[@]}" --repeat=1000000000
sleep 3
ip -n "$a" link set link0 down
start=$SECONDS
finish 1 || fail "a rank did not fail when the link went down"
for rank in 0 1 2 3; do
  grep -qE "CPRT_(TIMEOUT|PEER_FAILED)" "$folder/down.$rank" || fail "rank $rank gave no typed error"
done
[ $((SECONDS - start)) -le 20 ] || fail "the ranks took $((SECONDS - start)) s to say so"
echo "a link that goes down: a typed error on every rank after $((SECONDS - start)) s"
