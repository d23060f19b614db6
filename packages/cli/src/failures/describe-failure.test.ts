import { WebhooksApiError, WebhooksConnectionError } from '@hookferry/client';
import { CommanderError } from 'commander';
import { CheckFailed } from './check-failed';
import { describeFailure } from './describe-failure';
import { Interrupted } from './interrupted';
import { UsageError } from './usage-error';

const apiError = (status: number, code: string) =>
  new WebhooksApiError('GET /', {
    status,
    code,
    detail: 'No.',
    errors: [{ pointer: '/url', detail: 'is wrong' }],
    requestId: 'req_1',
    retryAfterSeconds: undefined,
  });

it.each([
  [apiError(404, 'not_found'), 1],
  [apiError(429, 'rate_limited'), 1],
  [new UsageError('No.', 'Do.'), 2],
  [apiError(503, 'storage_unavailable'), 3],
  [new WebhooksConnectionError('timeout', 'Nothing came.', undefined), 3],
  [apiError(401, 'unauthenticated'), 4],
  [apiError(403, 'insufficient_scope'), 4],
  [new CheckFailed(), 5],
  [new Interrupted(), 130],
])('%p ends with %d', (error, exitCode) => {
  expect(describeFailure(error, {}).exitCode).toBe(exitCode);
});

it('says what happened, what is wrong where, what to do, and the id of the request', () => {
  expect(describeFailure(apiError(422, 'invalid_request'), {}).lines).toEqual([
    'Error: No. (422 invalid_request)',
    '  /url: is wrong',
    'Correct what is named above.',
    'Request id: req_1',
  ]);
});

it('hides no fault of the program itself', () => {
  expect(() => describeFailure(new TypeError('ours'), {})).toThrow('ours');
});

it('gives programs the same as a document', () => {
  expect(describeFailure(apiError(422, 'invalid_request'), {}).document).toEqual({
    code: 'invalid_request',
    status: 422,
    detail: 'No.',
    errors: [{ pointer: '/url', detail: 'is wrong' }],
    advice: 'Correct what is named above.',
    request_id: 'req_1',
  });
  expect(describeFailure(new UsageError('No.', 'Do.'), {}).document).toEqual({
    code: 'usage',
    detail: 'No.',
    advice: 'Do.',
  });
});

it('says that a variable goes before any login', () => {
  const { lines } = describeFailure(apiError(401, 'unauthenticated'), { HOOKFERRY_API_KEY: 'whk_wrong' });
  expect(lines.join('\n')).toContain('HOOKFERRY_API_KEY, which goes before any login');
  expect(describeFailure(apiError(401, 'unauthenticated'), {}).lines.join('\n')).toContain('hookferry login');
});

it('shows how a command is used that was used wrongly', () => {
  const wrong = new CommanderError(1, 'commander.missingMandatoryOptionValue', 'error: no --since');
  expect(describeFailure(wrong, {}, 'hookferry replay crm --since 1d').lines).toEqual([
    'Error: no --since',
    'Example: hookferry replay crm --since 1d',
    'For the commands and flags: add --help',
  ]);
});

it('leaves it at the detail of an error that says what to do', () => {
  expect(describeFailure(apiError(422, 'deliver_at_in_past'), {}).lines).toEqual([
    'Error: No. (422 deliver_at_in_past)',
    '  /url: is wrong',
    'Request id: req_1',
  ]);
});

it('says what is wrong with the command line like any other error', () => {
  const wrong = new CommanderError(
    1,
    'commander.unknownOption',
    "error: unknown option '--event'\n(Did you mean --events?)",
  );
  expect(describeFailure(wrong, {})).toEqual({
    exitCode: 2,
    lines: [
      "Error: unknown option '--event' (Did you mean --events?)",
      'For the commands and flags: add --help',
    ],
    document: {
      code: 'usage',
      detail: "unknown option '--event' (Did you mean --events?)",
      advice: 'For the commands and flags: add --help',
    },
  });
  expect(describeFailure(new CommanderError(1, 'commander.help', '(outputHelp)'), {}).lines).toEqual([]);
});
