import { t } from '@lingui/core/macro';
import type { Hold } from '../../api/delivery-queries';

/** Why a delivery is held, in each kind of sentence. Operators read of many at once: see `operations/held-reasons.tsx`. */
interface HoldWords {
  /** With a name of the webhook. */
  readonly named: (webhook: string) => string;
  /** Of a webhook that was not named. */
  readonly its: string;
  /** Of a webhook that was just named. */
  readonly it: string;
  /** Of what is over. */
  readonly before: string;
  /** What ends it, if no time does: a sentence. */
  readonly ends: string;
}

export const holdWords: Readonly<Record<Hold['reason'], HoldWords>> = {
  disabled: {
    named: (webhook) => t`${webhook} is disabled`,
    its: t`its webhook is disabled`,
    it: t`it is disabled`,
    before: t`its webhook was disabled`,
    ends: t`It is sent when somebody enables the webhook.`,
  },
  unverified: {
    named: (webhook) => t`${webhook} is not verified yet`,
    its: t`its webhook is not verified yet`,
    it: t`it is not verified yet`,
    before: t`its webhook was not verified`,
    ends: t`It is sent once the receiver has shown that it wants the requests.`,
  },
  breaker_open: {
    named: (webhook) => t`${webhook} keeps failing`,
    its: t`its webhook keeps failing`,
    it: t`it keeps failing`,
    before: t`its webhook kept failing`,
    ends: t`It is sent once a trial succeeds.`,
  },
  rate_limited: {
    named: (webhook) => t`the rate limit of ${webhook} is reached`,
    its: t`the rate limit of its webhook is reached`,
    it: t`its rate limit is reached`,
    before: t`the rate limit of its webhook was reached`,
    ends: t`It is sent when its turn comes.`,
  },
  ordering: {
    named: () => t`the delivery before it has not ended`,
    its: t`the delivery before it has not ended`,
    it: t`the delivery before it has not ended`,
    before: t`the delivery before it had not ended`,
    ends: t`It is sent when that one has ended.`,
  },
  no_token: {
    named: (webhook) => t`the token URL of ${webhook} gives no access token`,
    its: t`the token URL of its webhook gives no access token`,
    it: t`its token URL gives no access token`,
    before: t`there was no access token`,
    ends: t`It is sent once there is a token; the service asks for one again and again.`,
  },
  batching: {
    named: () => t`it waits for other events to go with`,
    its: t`it waits for other events to go with`,
    it: t`it waits for other events to go with`,
    before: t`it waited for other events to go with`,
    ends: t`It is sent when there are enough of them.`,
  },
  busy: {
    named: (webhook) => t`${webhook} takes no more requests at once`,
    its: t`its webhook takes no more requests at once`,
    it: t`it takes no more requests at once`,
    before: t`its webhook took no more requests at once`,
    ends: t`It is sent when one of these requests ends.`,
  },
};
