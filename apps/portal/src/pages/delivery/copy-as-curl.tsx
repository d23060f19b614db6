import { t } from '@lingui/core/macro';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import type { DeliveryWithAttempts } from '../../api/delivery-queries';
import { CopyButton } from '../../components/copy-button';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';
import { curlOf } from './curl';
import { canSign } from './signatures';

interface CopyAsCurlProps {
  readonly delivery: DeliveryWithAttempts;
  /** Those that describe the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const SIGNED = t`Signed now: receivers accept it for five minutes.`;
const UNSIGNED = t`Copied without a signature, because this session may not read the secret. Replace SIGNATURE in the command.`;
const NO_CRYPTO = t`Copied without a signature: browsers sign only on https pages. Replace SIGNATURE in the command.`;

const BY_KEY = t`Copied without a signature: only the service has the private key. Replace SIGNATURE in the command.`;

/** Copies the delivery as a command. The webhook's address and secret are asked for when it is pressed, and not kept. */
export function CopyAsCurl({ delivery, headers: described, body }: CopyAsCurlProps) {
  const api = useApi();
  const toasts = useToasts();
  const maySign = useCan('secrets');

  const readSecret = async () => {
    const params = { path: { id: delivery.webhook_id } };
    return (await ask(api.GET('/v1/webhooks/{id}/secret', { params }))).secret ?? undefined;
  };
  const write = async () => {
    const params = { path: { id: delivery.webhook_id } };
    const { url, signing } = await ask(api.GET('/v1/webhooks/{id}', { params }));
    const hasSecret = signing !== 'ed25519';
    const signs = hasSecret && maySign && canSign();
    const secret = signs ? await readSecret() : undefined;
    const headers = { ...withoutCloudEvents(delivery.attempts.at(-1)?.request_headers ?? {}), ...described };
    const unsigned = maySign ? NO_CRYPTO : UNSIGNED;
    toasts.show(signs ? SIGNED : hasSecret ? unsigned : BY_KEY);
    return await curlOf({ url, body, eventId: delivery.event_id, headers, signing, secret, now: new Date() });
  };

  return (
    <CopyButton text={write} label={t`Copy as curl`}>
      {t`Copy as curl`}
    </CopyButton>
  );
}

// The webhook may have had another format then.
function withoutCloudEvents(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('ce-')));
}
