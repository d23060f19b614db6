import { problemSchema } from '../http/problem';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * The status, code and validation errors of an error, once its form was found to be the one that every error
 * has (RFC 9457).
 *
 * @throws Error when it has another form.
 */
export function readProblem({ status, headers, body }: Answer) {
  const problem = problemSchema.strict().parse(body);
  const rules = {
    'has the content type of a problem':
      headers['content-type'] === 'application/problem+json; charset=utf-8',
    'repeats the status': problem.status === status,
    'has the request id of its header': problem.request_id === headers['x-request-id'],
    'has a type that goes with its code': problem.type === `urn:hookferry:error:${problem.code}`,
    'has faults if the request is not valid, and only then':
      (status === 422) === (problem.errors !== undefined),
  };
  for (const [rule, holds] of Object.entries(rules)) {
    if (!holds) throw new Error(`The problem breaks a rule: it ${rule}. ${JSON.stringify(problem)}`);
  }
  return {
    status,
    code: problem.code,
    ...(problem.errors === undefined ? {} : { pointers: problem.errors.map(({ pointer }) => pointer) }),
  };
}
