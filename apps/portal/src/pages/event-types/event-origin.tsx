import type { EventType } from '../../api/event-type-queries';
import { Badge } from '../../components/badge';

const ORIGINS: Readonly<Record<EventType['origin'], string>> = {
  built_in: 'Built in',
  operational: 'By the service',
  custom: 'Added',
};

/** The origin of a type, or a note that it is deprecated. */
export function EventOrigin({ type: { origin, deprecated } }: { readonly type: EventType }) {
  return deprecated ? (
    <Badge tone="warning">Deprecated</Badge>
  ) : (
    <Badge tone="neutral">{ORIGINS[origin]}</Badge>
  );
}
