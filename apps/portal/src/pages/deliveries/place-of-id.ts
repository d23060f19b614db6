/** Where what has this id is shown. What looks like none of the service's own ids is taken for an event's. */
export function placeOfId(text: string): string | undefined {
  const id = text.trim();
  if (/^[A-Za-z0-9_-]{1,128}\.wh_[0-9a-z]{22}$/.test(id)) return `/deliveries/${encodeURIComponent(id)}`;
  if (/^wh_[0-9a-z]{22}$/.test(id)) return `/webhooks/${id}`;
  if (/^rpl_[0-9a-z]{22}$/.test(id)) return `/replays/${id}`;
  return /^[A-Za-z0-9_-]{1,128}$/.test(id) ? `/events/${id}` : undefined;
}
