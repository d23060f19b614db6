import { useMemo } from 'react';
import { useAllWebhooks } from '../../api/webhook-queries';
import { namesOf } from './webhook-names';

/** The names of the account's webhooks by their ids; none while they are not at hand, or not wanted. */
export function useWebhookNames(areWanted = true): ReadonlyMap<string, string> {
  const { data } = useAllWebhooks(areWanted);
  return useMemo(() => namesOf(data ?? []), [data]);
}
