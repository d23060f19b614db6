import { language } from '../language/language';
import { type ProblemError, problemOf, unreachable } from './problem';

interface ApiResponse<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

interface Tagged<Data> {
  readonly data: NonNullable<Data>;
  readonly etag: string | null;
}

/**
 * The data of a response of the API's client.
 * @throws ProblemError for every other response, and when none came
 */
export async function ask<Data>(call: Promise<ApiResponse<Data>>): Promise<NonNullable<Data>> {
  return (await askTagged(call)).data;
}

/** The same, with the tag of the state that it shows: a change can be meant for that one alone. */
export async function askTagged<Data>(call: Promise<ApiResponse<Data>>): Promise<Tagged<Data>> {
  const { data, error, response } = await call.catch(refuseUnlessAborted);
  if (!response.ok) throw await inViewersLanguage(problemOf(response, error));
  // A response without a body, such as 204, has nothing that anybody reads.
  return { data: data as NonNullable<Data>, etag: response.headers.get('etag') };
}

/** The words are loaded when they are needed first. Without them the service's own are shown, which are English. */
async function inViewersLanguage(problem: ProblemError): Promise<ProblemError> {
  if (language === 'en') return problem;
  const words = await import('./refusal-words').catch(() => undefined);
  return words?.wordsFor(problem) ?? problem;
}

function refuseUnlessAborted(cause: unknown): never {
  // The query was given up: it is not the service that failed.
  throw cause instanceof DOMException && cause.name === 'AbortError' ? cause : unreachable(cause);
}
