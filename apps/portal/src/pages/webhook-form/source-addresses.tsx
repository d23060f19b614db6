import { useSourceAddresses } from '../../api/source-address-queries';

/** The addresses that requests come from, for firewalls. Nothing is shown if the operator names none. */
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
