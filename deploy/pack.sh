#!/bin/sh
# Packs what runs on a server out of a clone in which `npm ci` and `npm run build` have run:
#
#   deploy/pack.sh /tmp/hookferry-0.1.0
#
# Run it on the operating system and processor of the server: a dependency is native. docs/server.md says what follows.
set -eu
cd "$(dirname "$0")/.."
if [ $# -ne 1 ]; then
  echo "Usage: deploy/pack.sh FOLDER   (a new folder)" >&2
  exit 2
fi
for built in apps/api/dist/main.js apps/worker/dist/main.js apps/admin/dist/main.js packages/cli/dist/main.js apps/portal/dist/index.html; do
  if [ ! -f "$built" ]; then
    echo "$built is not built. Run first: npm ci && npm run build" >&2
    exit 1
  fi
done

# Every user may read it, whatever the umask is here: the service has a user of its own.
umask 022
mkdir "$1"
folder=$(cd "$1" && pwd)

# npm wants to see the manifest of every workspace, and leaves the development dependencies out.
tar -cf - package.json package-lock.json packages/*/package.json apps/*/package.json | tar -xf - -C "$folder"
(
  cd "$folder"
  npm ci --ignore-scripts --no-audit --no-fund --omit=dev --include-workspace-root=false \
    --workspace=apps/api --workspace=apps/admin --workspace=apps/worker
  # To npm the compiler is something that a package of the queue inspector may use: half of the folder, for nothing.
  rm -rf node_modules/typescript node_modules/@typescript node_modules/.bin/tsc
)

# Compiled code without its tests and the compiler's own files, the portal, and the texts of /receive and /docs.
{
  find packages/core/dist packages/producer/dist apps/api/dist apps/admin/dist apps/worker/dist \
    -type f \( -name '*.js' -o -name '*.json' \) ! -name '*.test.js' ! -path '*/testing/*'
  find apps/portal/dist apps/admin/bin packages/cli/bin packages/cli/templates deploy -type f
  echo docker/prometheus/alerts.yml
  echo docs/openapi.json
  echo docs/receive.md
  echo docs/verifying-signatures.md
  echo docs/images/mark.svg
  echo node_modules/redoc/bundles/redoc.standalone.js
} | tar -cf - -T - | tar -xf - -C "$folder"
# The command line of the API is one file with all that it needs in it.
node_modules/.bin/esbuild packages/cli/dist/main.js --bundle --platform=node --target=node20 --log-level=warning \
  --outfile="$folder/packages/cli/dist/hookferry.js"
# The commit, to be told beside the version. Without a repository it is not known.
git rev-parse --verify --quiet HEAD >"$folder/revision" 2>/dev/null || rm -f "$folder/revision"
chmod -R u+rwX,go+rX,go-w "$folder"
echo "$folder: $(du -sm "$folder" | cut -f 1) MB"
