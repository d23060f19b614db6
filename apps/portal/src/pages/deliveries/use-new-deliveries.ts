import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useApi } from '../../api/api-context';
import { type Delivery, type DeliveryFilters, listDeliveries } from '../../api/delivery-queries';
import { useLiveMessages } from '../../live/live-context';
import { changeRows } from '../../live/update-queries';
import { isNews } from './is-news';

/** More are not counted: an event to very many webhooks is as many at once. */
export const MOST_COUNTED = 100;

/** The number of deliveries that reading a list again would add to `rows`, and a function to call then. */
export function useNewDeliveries(filters: DeliveryFilters, rows: readonly Delivery[] | undefined) {
  const api = useApi();
  const queries = useQueryClient();
  const [news, setNews] = useState<ReadonlySet<string>>(new Set());
  const listed = useMemo(() => new Set(rows?.map(({ id }) => id)), [rows]);

  const add = (ids: readonly string[]) => {
    const unknown = ids.filter((id) => !listed.has(id) && !news.has(id));
    if (unknown.length === 0) return;
    setNews((former) => new Set([...former, ...unknown].slice(0, MOST_COUNTED)));
  };
  const look = async () => {
    // The indicator says that nothing is known just now; the next look may do better.
    const page = await listDeliveries(api, filters).catch(() => undefined);
    for (const delivery of page?.data ?? []) changeRows(queries, delivery);
    add(page?.data.map(({ id }) => id) ?? []);
  };

  useLiveMessages((message) => {
    if (!rows) return;
    if (message.kind === 'delivery' && isNews(message, filters)) add([message.delivery.id]);
    if (message.kind === 'poll' || message.kind === 'ready' || message.kind === 'reset') void look();
  });

  // The list may have been read again while a look was under way.
  const count = [...news].filter((id) => !listed.has(id)).length;
  return { count, forget: () => setNews(new Set()) };
}
