#!/usr/bin/env bash
# Lets a service deliver the examples of some event types to a receiver, and forges one.
#
#   HOOKFERRY_URL=… HOOKFERRY_API_KEY=whk_… WEBHOOK_SECRET=whsec_… RECEIVER_URL=https://… ./check-receiver.sh TYPE…
#
# Ends with 0 if the receiver takes each and refuses what is forged, with 5 if it does not, and else with the exit code of
# `hookferry`. WEBHOOK_SECRET is the secret that the receiver has.
set -euo pipefail
shopt -s inherit_errexit

: "${RECEIVER_URL:?is where the receiver listens}" "${WEBHOOK_SECRET:?is the secret that it has}"
PATIENCE_SECONDS=60

fail() {
  echo "FAILED: $*" >&2
  exit 5
}

# A member of the JSON on stdin; nothing, if there is none.
member() {
  node -e 'const json = require("node:fs").readFileSync(0, "utf8");
    if (json) console.log(JSON.parse(json)[process.argv[1]]);' "$1"
}

# Of an event: until its delivery has come to its end, or nobody waits any longer.
status_of() {
  local deadline=$((SECONDS + PATIENCE_SECONDS)) status=
  while ((SECONDS < deadline)); do
    status=$(hookferry deliveries list --event "$1" --json | member status)
    case "$status" in pending | held | '') sleep 0.5 ;; *) break ;; esac
  done
  echo "$status"
}

forged=$(curl -sS -o /dev/null -w '%{http_code}' "$RECEIVER_URL" -H 'content-type: application/json' \
  -H "webhook-id: forged" -H "webhook-timestamp: $(date +%s)" \
  -H 'webhook-signature: v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' -d '{"type":"forged","data":{}}')
[[ $forged == 4?? ]] || fail "a forged request got $forged, and not 401"
echo "refused: a forged request, with $forged"

types=$(IFS=, && echo "$*")
webhook=$(hookferry webhooks create "$RECEIVER_URL" --events "$types" --secret-stdin --no-input --json \
  --retry-schedule 1s,1s <<<"$WEBHOOK_SECRET" | member id)
trap 'hookferry webhooks delete "$webhook" --yes > /dev/null' EXIT

for type in "$@"; do
  event=$(hookferry trigger "$type" --to "$webhook" --json | member id)
  status=$(status_of "$event")
  if [[ $status != delivered ]]; then
    hookferry deliveries show "$event.$webhook" >&2
    fail "$type is $status after $PATIENCE_SECONDS s at most"
  fi
  echo "delivered: $type"
done
