#!/bin/sh
# speedscope.sh FILE OPTION...: show FILE in speedscope, in a browser without a
# window; the options are Chromium's: --dump-dom, --screenshot=PNG. Speedscope
# is where make deps-full puts it.

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
page=$root/build/npm/node_modules/speedscope/dist/release/index.html
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
if [ ! -f "$page" ] || ! command -v chromium >/dev/null; then
    echo "speedscope.sh: speedscope or chromium is missing (make deps-full)" >&2
    exit 77
fi
{
    printf 'speedscope.loadFileFromBase64("%s", "' "$(basename "$1")"
    base64 -w0 "$1"
    printf '")\n'
} >"$tmp/profile.js"
shift
timeout 300 chromium --headless --no-sandbox --disable-gpu --disable-quic \
    --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --enable-logging=stderr \
    --user-data-dir="$tmp/chromium" --virtual-time-budget=60000 "$@" \
    "file://$page#localProfilePath=$tmp/profile.js"
