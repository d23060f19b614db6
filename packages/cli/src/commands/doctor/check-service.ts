import { isOpenToOthers } from '../../profiles/parse-url';
import { bad, doubtful, type Finding, good } from './finding';

const STATUS = '/v1/status';
const TIMEOUT_MS = 10_000;
// Receivers accept a difference of 300 s. Half a minute shows that a clock is not synchronized.
const MAX_SKEW_SECONDS = 30;

/**
 * Whether the service can be reached at the URL, and how it says it is. Needs no key, and only paths below /v1: a proxy in front
 * lets through no others.
 */
export async function checkService(url: string): Promise<readonly Finding[]> {
  const response = await ask(`${url}${STATUS}`);
  if (response instanceof Error) return [reachabilityOf(url, response)];
  return [
    good('reachable', url),
    transportOf(url),
    readinessOf(response),
    clockOf(response.headers.get('date'), Date.now()),
    await versionOf(url),
  ];
}

function reachabilityOf(url: string, error: Error): Finding {
  const { code = '', message } = (error.cause ?? error) as { code?: string; message: string };
  const isTls = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO)/.test(code);
  if (isTls) {
    const advice =
      'Its certificate must be valid for this name. If your own authority issued it, set NODE_EXTRA_CA_CERTS=FILE';
    return bad('TLS', `${message} (${code})`, advice);
  }
  const detail = code === '' ? message : `${message} (${code})`;
  return bad(
    'reachable',
    `${url}: ${detail}`,
    'Check the URL, that the API runs, and the network in between.',
  );
}

function transportOf(url: string): Finding {
  if (url.startsWith('https:')) return good('TLS', 'encrypted, with a certificate that is valid');
  if (!isOpenToOthers(url)) return good('TLS', 'none, on this machine');
  return doubtful(
    'TLS',
    'none: others can read the key on its way',
    'Put TLS in front of the API, and use https:',
  );
}

function readinessOf({ ok, status }: Response): Finding {
  if (ok) return good('ready', 'the API accepts events');
  const detail = `${STATUS} responds with ${status}`;
  // An older API has no such path: whether this is one, the key tells.
  if (status === 404) return doubtful('ready', detail, 'Upgrade the API, or check that the URL leads to it.');
  if (status === 503) return bad('ready', detail, 'Ask the operator to check Redis and the log of the API.');
  const advice = 'Check that the URL of the profile is that of the API: hookferry login --url URL';
  return bad('ready', detail, advice);
}

/** @param date the header `Date` of the response. @param now in milliseconds since the Unix epoch. */
export function clockOf(date: string | null, now: number): Finding {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs))
    return doubtful('clock', 'the response has no time', 'Check whether a proxy removes the header Date.');
  // The header has whole seconds.
  const skew = Math.trunc((now - theirs) / 1_000);
  if (skew === 0) return good('clock', 'in step with the API');
  const detail = `${Math.abs(skew)} s ${skew < 0 ? 'behind' : 'ahead of'} the API`;
  if (Math.abs(skew) <= MAX_SKEW_SECONDS) return good('clock', detail);
  return bad(
    'clock',
    detail,
    'Set the clocks by NTP: receivers refuse signatures when clocks differ by 300 s.',
  );
}

async function versionOf(url: string): Promise<Finding> {
  const advice =
    'A proxy that lets only /v1 through is fine. Without one, check that the URL leads to the API.';
  const response = await ask(`${url}/openapi.json`);
  if (response instanceof Error || !response.ok)
    return doubtful('version', 'the API does not serve /openapi.json', advice);
  try {
    const { info } = (await response.json()) as {
      readonly info: { readonly title: string; readonly version: string };
    };
    return good('version', `${info.title}, API version ${info.version}`);
  } catch {
    return doubtful('version', '/openapi.json is not an OpenAPI document', advice);
  }
}

async function ask(url: string): Promise<Response | Error> {
  try {
    return await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    return error as Error;
  }
}
