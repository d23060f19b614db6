import { useSourceAddresses } from '../../api/source-address-queries';

/** Where requests come from, for the firewall in front of a URL. Nothing where the operator has named nothing. */
export function SourceAddresses() {
  const { data: ranges = [] } = useSourceAddresses();
  if (ranges.length === 0) return null;
  return (
    <>
      {' from '}
      <code>{ranges.join(', ')}</code>
    </>
  );
}
