import {
  partsOf,
  type SettingName,
  type SettingPart,
  settingNames,
  valueAt,
} from '@hookferry/core/domain/endpoint-settings';
import { authKindOf } from '@hookferry/core/domain/receiver-auth/kinds';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { WebhookWithHealth } from '../../api/webhook-queries';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { shownIn } from '../../components/quantity-field';
import { Time } from '../../components/time';
import { formatCount } from '../webhooks/health-figures';

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
        Description: description,
        Id: (
          <>
            <code>{id}</code> <CopyButton text={id} label="Copy the id" />
          </>
        ),
        'Own name': uid && <code>{uid}</code>,
        Events: <Events filters={events} />,
        Filter: filter && <code>{JSON.stringify(filter)}</code>,
        ...settingFacts(webhook),
        'Public key': publicKey && (
          <>
            <code>{publicKey}</code> <CopyButton text={publicKey} label="Copy the public key" />
          </>
        ),
        Headers: headers && Object.keys(headers).join(', '),
        Authentication: auth && <code>{authKindOf(auth.type).fact(auth)}</code>,
        Metadata:
          metadata &&
          Object.entries(metadata)
            .map(([name, value]) => `${name}: ${value}`)
            .join(', '),
        'Own authority': tls?.ca && describe(tls.ca),
        'Client certificate': tls?.client_certificate && describe(tls.client_certificate),
        Created: <Time at={createdAt} />,
      }}
    />
  );
}

function settingFacts(webhook: Pick<WebhookWithHealth, SettingName>) {
  const facts = partsOf(settingNames).flatMap((part) => {
    const { fact } = part.setting;
    const text = textOf(part, valueAt(webhook, part.path));
    return fact && text ? [[fact.label, fact.unit ? `${text} ${fact.unit}` : text]] : [];
  });
  return Object.fromEntries(facts) as Readonly<Record<string, string>>;
}

function textOf({ setting }: SettingPart, value: ReturnType<typeof valueAt>): string | undefined {
  // One that is as usual says nothing.
  if (setting.kind === 'choice')
    return value === setting.choices[0] ? undefined : setting.field?.options?.[String(value)];
  const { unit } = setting.field ?? {};
  if (typeof value === 'number')
    return unit ? `${shownIn(unit, String(value))} ${unit.name}` : formatCount(value);
  return typeof value === 'object' ? value.join(', ') : value?.toString();
}

function Events({ filters }: { readonly filters: readonly string[] }): ReactNode {
  if (filters.includes('*')) return 'Every event, also of types that are added later';
  return filters.map((filter, index) => (
    <span key={filter}>
      {index > 0 && ', '}
      {filter.endsWith('*') ? <code>{filter}</code> : <Link href={`/event-types/${filter}`}>{filter}</Link>}
    </span>
  ));
}

function describe({ subject, expires_at: until }: { readonly subject: string; readonly expires_at: string }) {
  return (
    <>
      {subject}, until <Time at={until} />
    </>
  );
}
