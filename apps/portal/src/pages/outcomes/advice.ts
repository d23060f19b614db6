/** What whoever runs the receiver can do. */
export const advice: Readonly<Record<string, string>> = {
  http_1xx: 'Let the receiver answer a POST with 200 to 299, and not offer another protocol.',
  http_3xx: 'Redirects are not followed: register the URL that it leads to.',
  http_4xx:
    'Look at the answer. With 401 or 403 the signature was refused: check the secret, and that the raw body is verified. With 404 or 405 check the URL; 410 disables the webhook.',
  http_5xx:
    'Look into the receiver’s log at the time of the attempt: the request’s webhook-id is the event’s id.',
  blocked_address: 'Use a public address. Ask the operator if an internal one is meant to be reached.',
  dns_error: 'Check the name in the URL, and that its name servers answer.',
  connect_refused: 'Start the receiver, or check the port, and that no firewall refuses the connection.',
  connect_timeout: 'Check that a firewall lets connections from this service in.',
  connection_reset:
    'The receiver, or a proxy before it, closes connections: look into its log and its limits.',
  tls_error:
    'Check that the certificate is for this name, has not expired, and comes with its intermediates.',
  response_timeout: 'Answer first and do the work afterwards, or raise the webhook’s time-out.',
  protocol_error: 'Check the port, and whether it is to be http or https.',
  transform_error:
    'The code of your transformation failed, and nothing was sent. The error names the line. Correct the code: the next attempt uses it.',
  token_error:
    'Nothing was sent to the receiver: the token URL of the webhook gave no access token. With invalid_client check the client id and its secret or key; with invalid_scope or invalid_target the scope and the audience; without a status, that the token URL can be reached.',
  network_error: 'Try again. If it stays, ask the operator to look into the log of the worker.',
};
