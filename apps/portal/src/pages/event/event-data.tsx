import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Button } from '../../components/button';
import { CodeBlock } from '../../components/code-block';
import { prettyJson } from '../../components/json-text';
import { Section } from '../../components/section';

/** @param data JSON, as it was published */
export function EventData({ data }: { readonly data: string }) {
  const [isRaw, setIsRaw] = useState(false);
  return (
    <Section
      title={t`Data`}
      actions={
        <Button size="small" aria-pressed={isRaw} onClick={() => setIsRaw(!isRaw)}>
          <Trans>As published</Trans>
        </Button>
      }
    >
      <CodeBlock text={isRaw ? data : prettyJson(data)} label={t`Data of the event`} />
    </Section>
  );
}
