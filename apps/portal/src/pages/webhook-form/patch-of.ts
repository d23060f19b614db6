import type { NewWebhook, WebhookPatch } from '../../api/webhook-queries';

type Json = Readonly<Record<string, unknown>>;

/** Those whose members are changed one by one; every other member is replaced as a whole. */
const MERGED = new Set(['headers', 'metadata', 'cloudevents', 'auth']);

/** The merge patch (RFC 7396) that turns one webhook into another. Empty: they are the same. */
export function patchOf(before: NewWebhook, after: NewWebhook): WebhookPatch {
  return differenceOf(before, after, MERGED);
}

function differenceOf(before: Json, after: Json, merged: ReadonlySet<string>): Json {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changes = [...names].flatMap((name): [string, unknown][] => {
    const [was, is] = [before[name], after[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    if (is === undefined) return [[name, null]];
    // Another type replaces all of it.
    if (merged.has(name) && was !== undefined && (was as Json)['type'] === (is as Json)['type'])
      return [[name, differenceOf(was as Json, is as Json, new Set())]];
    return [[name, is]];
  });
  return Object.fromEntries(changes);
}
