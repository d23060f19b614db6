import type { AttemptOutcome } from '../../api/delivery-queries';

const texts: Readonly<Record<Exclude<AttemptOutcome, 'delivered'>, string>> = {
  http_1xx: 'Let the receiver respond to a POST with 200 to 299, without offering another protocol.',
  http_3xx: 'Redirects are not followed: register the URL that the redirect names.',
  http_4xx:
    'Look at the response. 401 or 403: the signature was refused; check the secret, and that the raw body is verified. 404 or 405: check the URL. 410 disables the webhook.',
  http_5xx:
    'Check the log of the receiver at the time of the attempt: the webhook-id of the request is the id of the event.',
  blocked_address:
    'Use a public address. If the address is meant to be internal, ask the operator to allow it.',
  dns_error: 'Check the name in the URL, and that its name servers answer.',
  connect_refused: 'Start the receiver, or check the port, and that no firewall refuses the connection.',
  connect_timeout: 'Check that the firewall allows connections from this service.',
  connection_reset:
    'The receiver, or a proxy in front of it, closes connections: check its log and its limits.',
  tls_error:
    'Check that the certificate is for this name, has not expired, and comes with its intermediates.',
  response_timeout: 'Respond first and do the work afterwards, or raise the webhook’s time-out.',
  protocol_error: 'Check the port, and whether the URL must be http or https.',
  transform_error:
    'The code of your transformation failed, and nothing was sent. The error names the line. Correct the code: the next attempt uses it.',
  rejected_in_batch:
    'The receiver took the request with several events, and named this one as failed. Look at its response, and why it refused this event.',
  token_error:
    'Nothing was sent to the receiver: the token URL of the webhook gave no access token. With invalid_client check the client id and its secret or key; with invalid_scope or invalid_target the scope and the audience; without a status, that the token URL can be reached.',
  network_error: 'Try again. If the error stays, ask the operator to check the log of the worker.',
};

/** Advice for the receiver's developer, by outcome. */
export const advice: ReadonlyMap<string, string> = new Map(Object.entries(texts));
