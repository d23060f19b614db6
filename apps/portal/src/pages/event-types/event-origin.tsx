import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { EventType } from '../../api/event-type-queries';
import { Badge } from '../../components/badge';

const ORIGINS: Readonly<Record<EventType['origin'], string>> = {
  built_in: t`Built in`,
  operational: t`By the service`,
  custom: t`Added`,
};

/** The origin of a type, or a note that it is deprecated. */
export function EventOrigin({ type: { origin, deprecated } }: { readonly type: EventType }) {
  return deprecated ? (
    <Badge tone="warning">
      <Trans>Deprecated</Trans>
    </Badge>
  ) : (
    <Badge tone="neutral">{ORIGINS[origin]}</Badge>
  );
}
