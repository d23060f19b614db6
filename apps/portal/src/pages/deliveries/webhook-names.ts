import type { Webhook } from '../../api/webhook-queries';

type Named = Pick<Webhook, 'id' | 'url' | 'description' | 'uid'>;

// Of the random end of an id: enough to tell those of one account apart.
const END_OF_ID = 6;

/** The names of webhooks by their ids; no two are the same. */
export function namesOf(webhooks: readonly Named[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const webhook of webhooks) counts.set(nameOf(webhook), (counts.get(nameOf(webhook)) ?? 0) + 1);
  return new Map(
    webhooks.map((webhook) => {
      const name = nameOf(webhook);
      return [webhook.id, counts.get(name) === 1 ? name : `${name} (${markOf(webhook)})`];
    }),
  );
}

/** What people know a webhook by; another one may be called the same. */
export function nameOf(webhook: Omit<Named, 'id'>): string {
  return ownNameOf(webhook) ?? placeOf(webhook);
}

/** What its owner calls it, if anything. */
export function ownNameOf({ description, uid }: Pick<Named, 'description' | 'uid'>): string | undefined {
  return description || uid || undefined;
}

/** Where it is: host and path. */
export function placeOf({ url }: Pick<Named, 'url'>): string {
  if (!URL.canParse(url)) return url;
  const { host, pathname } = new URL(url);
  return pathname === '/' ? host : host + pathname;
}

function markOf({ id, uid }: Named): string {
  return uid ?? `…${id.slice(-END_OF_ID)}`;
}
