import {
  partsOf,
  type SettingName,
  type SettingPart,
  settingNames,
  valueAt,
} from '@hookferry/core/domain/endpoint-settings';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { WebhookWithHealth } from '../../api/webhook-queries';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { shownIn } from '../../components/quantity-field';
import { Time } from '../../components/time';
import { formatCount } from '../../language/formats';
import { authWordsOf } from '../webhook-form/auth-words';
import { wordsOf } from '../webhook-form/setting-words';

/** The settings that a webhook has. */
export function WebhookFacts({ webhook }: { readonly webhook: WebhookWithHealth }) {
  const {
    id,
    url,
    uid,
    description,
    events,
    filter,
    headers,
    metadata,
    tls,
    auth,
    public_key: publicKey,
    created_at: createdAt,
  } = webhook;
  return (
    <Facts
      facts={{
        URL: <code>{url}</code>,
        [t`Description`]: description,
        [t`Id`]: (
          <>
            <code>{id}</code> <CopyButton text={id} label={t`Copy the id`} />
          </>
        ),
        [t`Own name`]: uid && <code>{uid}</code>,
        [t`Events`]: <Events filters={events} />,
        [t`Filter`]: filter && <code>{JSON.stringify(filter)}</code>,
        ...settingFacts(webhook),
        [t`Public key`]: publicKey && (
          <>
            <code>{publicKey}</code> <CopyButton text={publicKey} label={t`Copy the public key`} />
          </>
        ),
        [t`Headers`]: headers && Object.keys(headers).join(', '),
        [t`Authentication`]: auth && <code>{authWordsOf(auth.type).fact(auth)}</code>,
        [t`Metadata`]:
          metadata &&
          Object.entries(metadata)
            .map(([name, value]) => `${name}: ${value}`)
            .join(', '),
        [t`Own authority`]: tls?.ca && describe(tls.ca),
        [t`Client certificate`]: tls?.client_certificate && describe(tls.client_certificate),
        [t`Created`]: <Time at={createdAt} />,
      }}
    />
  );
}

function settingFacts(webhook: Pick<WebhookWithHealth, SettingName>) {
  const facts = partsOf(settingNames).flatMap((part) => {
    const fact = wordsOf(part.name)?.fact;
    const text = textOf(part, valueAt(webhook, part.path));
    return fact && text ? [[fact.label, fact.shown?.(text) ?? text]] : [];
  });
  return Object.fromEntries(facts) as Readonly<Record<string, string>>;
}

function textOf({ name, setting }: SettingPart, value: ReturnType<typeof valueAt>): string | undefined {
  const { options, unit } = wordsOf(name) ?? {};
  // One that is as usual says nothing.
  if (setting.kind === 'choice') return value === setting.choices[0] ? undefined : options?.[String(value)];
  if (typeof value === 'number') return unit ? unit.shown(shownIn(unit, String(value))) : formatCount(value);
  return typeof value === 'object' ? value.join(', ') : value?.toString();
}

function Events({ filters }: { readonly filters: readonly string[] }): ReactNode {
  if (filters.includes('*')) return t`Every event, also of types that are added later`;
  return filters.map((filter, index) => (
    <span key={filter}>
      {index > 0 && ', '}
      {filter.endsWith('*') ? <code>{filter}</code> : <Link href={`/event-types/${filter}`}>{filter}</Link>}
    </span>
  ));
}

function describe({ subject, expires_at: until }: { readonly subject: string; readonly expires_at: string }) {
  return (
    <Trans>
      {subject}, until <Time at={until} />
    </Trans>
  );
}
