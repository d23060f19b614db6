import type { ReadWebhook } from '../../api/webhook-queries';
import { Badge } from '../../components/badge';

type StateProps = { readonly webhook: Pick<ReadWebhook, 'transformation'> };

/** Shows whether a webhook has a transformation. */
export function TransformationState({ webhook: { transformation } }: StateProps) {
  if (transformation === null) return <Badge tone="neutral">None</Badge>;
  const { enabled, version } = transformation;
  return enabled ? (
    <Badge tone="good">Version {version} in use</Badge>
  ) : (
    <Badge tone="warning">Version {version}, switched off</Badge>
  );
}
