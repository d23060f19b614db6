import { t } from '@lingui/core/macro';
import type { Attempt, AttemptOutcome } from '../../api/delivery-queries';

/** For the owner of a receiver: no setting of the service, which only its operator can change. */
export interface Advice {
  /** A sentence. */
  readonly happened: string;
  /** Sentences; empty: nothing needs to be done. */
  readonly toDo: string;
  /** Whether the code that checks signatures may be at fault. */
  readonly isOfSignature?: true;
}

export const byOutcome: Readonly<Record<AttemptOutcome, Advice>> = {
  delivered: { happened: t`The receiver accepted the request: it responded with 200 to 299.`, toDo: '' },
  http_1xx: {
    happened: t`The receiver asked for another protocol in place of a response.`,
    toDo: t`Let it respond to a POST with 200 to 299.`,
  },
  http_3xx: {
    happened: t`The receiver sent a redirect. Redirects are not followed.`,
    toDo: t`Change the webhook’s URL to the address in the location header of the response.`,
  },
  http_4xx: {
    happened: t`The receiver refused the request.`,
    toDo: t`Look at the body of its response, and at its log.`,
  },
  http_5xx: {
    happened: t`The receiver failed while it handled the request.`,
    toDo: t`Look at its log at the time of the attempt. The header webhook-id is the id of the event.`,
  },
  blocked_address: {
    happened: t`The URL leads to an address that webhooks may not reach, such as one of a private network.`,
    toDo: t`Use a URL with a public address. Is the address meant to be internal? Ask the operator to allow it.`,
  },
  dns_error: {
    happened: t`The host name of the URL was not found.`,
    toDo: t`Check the spelling of the URL, and that the name has a public A or AAAA record.`,
  },
  connect_refused: {
    happened: t`Nothing listens at this address and port.`,
    toDo: t`Start the receiver. Check the port in the URL, and that no firewall refuses the connection.`,
  },
  connect_timeout: {
    happened: t`The receiver did not take the connection in time.`,
    toDo: t`Check that the server runs, and that its firewall lets these requests in.`,
  },
  connection_reset: {
    happened: t`The connection broke off before a response came.`,
    toDo: t`Look at the log of the receiver and of a proxy in front of it: one of them closes the connection. A limit of size or time is a common cause.`,
  },
  tls_error: {
    happened: t`No secure connection came about.`,
    toDo: t`Check the certificate of the receiver: it must be valid, be for this host name, and come with its intermediate certificates.`,
  },
  response_timeout: {
    happened: t`The receiver took the request and did not respond in time.`,
    toDo: t`Let it respond with 200 at once, and do the work afterwards.`,
  },
  protocol_error: {
    happened: t`The response was not HTTP.`,
    toDo: t`Check the port, and whether the URL must begin with http or https.`,
  },
  transform_error: {
    happened: t`The code of the webhook’s transformation failed, and nothing was sent.`,
    toDo: t`Correct the code: the error names the line. Attempts after that use the new code.`,
  },
  token_error: {
    happened: t`The webhook’s token URL gave no access token, and nothing was sent.`,
    toDo: t`For invalid_client check the client id and its secret or key. For invalid_scope or invalid_target check the scope and the audience. Without a status, check that the token URL can be reached.`,
  },
  rejected_in_batch: {
    happened: t`The receiver took the request with several events, and named this one as failed.`,
    toDo: t`Look at its response for the reason.`,
  },
  network_error: {
    happened: t`The connection failed on the way.`,
    toDo: t`Redeliver the event. If the error comes again, tell the operator the id of the delivery.`,
  },
};

const SIGNATURE = {
  toDo: t`Does your code check the signature? It needs this webhook’s secret and the body as it came, before anything parses it. Otherwise look for a login, an allow list or a firewall in front of the receiver.`,
  isOfSignature: true,
} as const;

const PATH = t`Check the path of the webhook’s URL, and that the receiver takes POST there.`;

const FORMAT = t`Compare the body with the one that your code expects: its format, its fields and the content-type header.`;

const OVERLOADED = t`The event is sent again later. Does it last? Give the webhook a rate limit.`;

/** Those that say more than their class. */
export const byStatus: Readonly<Record<number, Advice>> = {
  400: { happened: t`The receiver could not read the request.`, toDo: FORMAT },
  401: { happened: t`The receiver asked who sends the request.`, ...SIGNATURE },
  403: { happened: t`The receiver refused the sender.`, ...SIGNATURE },
  404: { happened: t`The receiver has nothing at this path.`, toDo: PATH },
  405: { happened: t`The receiver takes no POST at this path.`, toDo: PATH },
  408: {
    happened: t`The receiver waited too long for the request.`,
    toDo: t`Look at its time limits, and those of a proxy.`,
  },
  410: {
    happened: t`The receiver is gone for good, so the webhook was disabled.`,
    toDo: t`Is it there again? Check the URL and enable the webhook: deliveries that are held are sent then.`,
  },
  413: {
    happened: t`The body is too large for the receiver.`,
    toDo: t`Raise the limit of size at the receiver, and at a proxy in front of it.`,
  },
  415: { happened: t`The receiver does not take this format.`, toDo: FORMAT },
  422: { happened: t`The receiver refused the data.`, toDo: FORMAT },
  429: { happened: t`The receiver gets too many requests.`, toDo: OVERLOADED },
  502: {
    happened: t`A proxy in front of the receiver got no good response from it.`,
    toDo: t`Check that the receiver runs, and look at the log of the proxy.`,
  },
  503: { happened: t`The receiver is not available at the moment.`, toDo: OVERLOADED },
  504: {
    happened: t`A proxy in front of the receiver got no response in time.`,
    toDo: t`Let the receiver respond with 200 at once, and do the work afterwards.`,
  },
};

export function adviceOn({
  outcome,
  response_status: status,
}: Pick<Attempt, 'outcome' | 'response_status'>): Advice {
  const isOfStatus = status !== null && outcome.startsWith('http_');
  return (isOfStatus ? byStatus[status] : undefined) ?? byOutcome[outcome];
}
