#!/bin/sh
# Backs Redis up, and PostgreSQL if there is a history, into a folder: the oldest copies go. hookferry-backup.timer runs it each hour;
# docs/server.md says how to set it up.
#
#   BACKUP_REDIS      options of redis-cli, such as  -h 127.0.0.1 -p 6379 --user backup ; the password is in REDISCLI_AUTH
#   PGDATABASE        the history's database, if there is one; PGHOST, PGUSER and PGPASSWORD go with it
#   BACKUP_KEEP_DAYS  how long copies are kept; 7 unless set
#   BACKUP_FOLDER     where they are; unless set, the unit's folder
set -eu
umask 077
: "${BACKUP_REDIS:?name the Redis, such as: -h 127.0.0.1 -p 6379 --user backup}"
cd "${BACKUP_FOLDER:-${STATE_DIRECTORY:?name a folder: BACKUP_FOLDER}}"
name=$(date -u +%Y-%m-%dT%H%M%SZ)
# What an earlier run left behind when it broke off.
rm -f -- *.part

# Redis first: what moves to PostgreSQL in between is in both copies then, and shown once. The other way round it is in neither.
# It sends a snapshot of one moment, as to a replica. Its own files and its settings are not touched.
# shellcheck disable=SC2086
redis-cli $BACKUP_REDIS --rdb redis.part
[ "$(head -c 5 redis.part)" = REDIS ] || { echo "What Redis sent is no snapshot." >&2; exit 1; }
# Kept before PostgreSQL is asked: while that is away, there are copies of Redis all the same. Only copies that are older than a
# new one that is whole go.
sync
mv redis.part "redis-$name.rdb"
forget() { find . -maxdepth 1 -type f -name "$1" -mtime "+${BACKUP_KEEP_DAYS:-7}" -delete; }
forget 'redis-*.rdb'

if [ -n "${PGDATABASE:-}" ]; then
  pg_dump --format=custom --file=history.part
  sync
  mv history.part "history-$name.dump"
fi
forget 'history-*.dump'
