/** Where what has this id is shown; undefined: it is none that the service has made. */
export function placeOfId(id: string): string | undefined {
  if (/^[A-Za-z0-9_-]{1,128}\.wh_[0-9a-z]{22}$/.test(id)) return `/deliveries/${encodeURIComponent(id)}`;
  if (/^wh_[0-9a-z]{22}$/.test(id)) return `/webhooks/${id}`;
  if (/^rpl_[0-9a-z]{22}$/.test(id)) return `/replays/${id}`;
  return /^evt_[0-9a-z]{22}$/.test(id) ? `/events/${id}` : undefined;
}
