import { useMemo } from 'react';
import { useAllWebhooks } from '../../api/webhook-queries';
import { namesOf } from './webhook-names';

/** The names of the account's webhooks by their ids; none while they are not at hand. */
export function useWebhookNames(): ReadonlyMap<string, string> {
  const { data } = useAllWebhooks();
  return useMemo(() => namesOf(data ?? []), [data]);
}
