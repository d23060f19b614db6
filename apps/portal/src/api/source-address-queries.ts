import { useQuery } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';

/** The ranges that deliveries come from, if the operator has named any. */
export function useSourceAddresses() {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.sourceAddresses(),
    queryFn: async ({ signal }) => (await ask(api.GET('/v1/source-addresses', { signal }))).data,
  });
}
