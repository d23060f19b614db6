import { useSourceAddresses } from '../../api/source-address-queries';

/**
 * The end of a sentence on requests: the addresses that they come from, for firewalls. Nothing but its full stop is shown if the
 * operator names none. The stop is part of it, so that nothing moves when the addresses come.
 */
export function SourceAddresses() {
  const { data: ranges = [] } = useSourceAddresses();
  if (ranges.length === 0) return '.';
  return (
    <>
      {' from '}
      <code>{ranges.join(', ')}</code>.
    </>
  );
}
