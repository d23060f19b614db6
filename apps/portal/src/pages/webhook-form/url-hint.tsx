import { Trans } from '@lingui/react/macro';
import { useSourceAddresses } from '../../api/source-address-queries';

/** Explains the URL, with the addresses that requests come from, for firewalls, if the operator names any. */
export function UrlHint() {
  const { data: ranges = [] } = useSourceAddresses();
  const addresses = ranges.join(', ');
  if (ranges.length === 0) return <Trans>Where events are sent to, by POST.</Trans>;
  return (
    <Trans>
      Where events are sent to, by POST from <code>{addresses}</code>.
    </Trans>
  );
}
