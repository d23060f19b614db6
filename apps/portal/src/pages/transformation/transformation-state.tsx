import { Trans } from '@lingui/react/macro';
import type { ReadWebhook } from '../../api/webhook-queries';
import { Badge } from '../../components/badge';

type StateProps = { readonly webhook: Pick<ReadWebhook, 'transformation'> };

/** Shows whether a webhook has a transformation. */
export function TransformationState({ webhook: { transformation } }: StateProps) {
  if (transformation === null)
    return (
      <Badge tone="neutral">
        <Trans context="transformation">None</Trans>
      </Badge>
    );
  const { enabled, version } = transformation;
  return enabled ? (
    <Badge tone="good">
      <Trans>Version {version} in use</Trans>
    </Badge>
  ) : (
    <Badge tone="warning">
      <Trans>Version {version}, switched off</Trans>
    </Badge>
  );
}
