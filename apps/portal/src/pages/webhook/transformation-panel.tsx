import { t } from '@lingui/core/macro';
import type { ReadWebhook } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { Section } from '../../components/section';
import { useCan } from '../../session/session-context';
import { TransformationState } from '../transformation/transformation-state';
import styles from './webhook-page.module.css';

/** The state of a webhook's transformation, with a link to it. */
export function TransformationPanel({ webhook }: { readonly webhook: ReadWebhook }) {
  const mayChange = useCan('transform');
  const { id, transformation } = webhook;
  if (transformation === undefined && !mayChange) return null;
  return (
    <Section
      title={t`Transformation`}
      actions={
        <ButtonLink href={`/webhooks/${id}/transformation`}>
          {transformation ? t`Code and versions` : t`Write code`}
        </ButtonLink>
      }
    >
      <p className={styles['transformation']}>
        <TransformationState webhook={webhook} />
        {transformation
          ? transformation.enabled
            ? t`Its code makes the body of each request.`
            : t`The webhook gets events unchanged.`
          : t`The webhook gets events unchanged. Code can give them another format, such as a message for Slack.`}
      </p>
    </Section>
  );
}
