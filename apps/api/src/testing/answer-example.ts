import type { Response } from 'supertest';

/** What differs from one run to the next, and what stands for it in the API's description. */
const SAMPLES: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-11-21T16:13:00.859Z'],
  [/\bwh_[0-9a-z]{22}/g, 'wh_01m7ze3thwae6532vdxr7r'],
  [/\baud_[0-9a-z]{22}/g, 'aud_01m8cze70423p1gcwqh466'],
  [/"cursor":"[\w-]+"/g, '"cursor":"ImF1ZF8wMW04Y3plNzA0MjNwMWdjd3FoNDY2Ig"'],
  [/\bevt_[0-9a-z]{22}/g, 'evt_01m7ze3vqwgsz1p4n4nhes'],
  [/\brpl_[0-9a-z]{22}/g, 'rpl_01m7ze4c1m9d1y3k5f7r2w'],
  [/\bacct_[0-9a-z]{22}/g, 'acct_01m7ze5a8r4x6c2v9b1n3m'],
  [/\bwhsec_[A-Za-z0-9+/=]+/g, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  [/\b(whk|whc|whp)_[0-9a-z]{16}_[0-9a-z]+/g, '$1_4f7kq2m9x1c8v5b3_…'],
  [/"id":"[0-9a-z]{16}"/g, '"id":"4f7kq2m9x1c8v5b3"'],
  [/\bwhpk_[A-Za-z0-9+/=]+/g, 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='],
  [/"kid":"[\w-]{43}"/g, '"kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"'],
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '270d8278-9b36-41c5-96fa-436d4e1cf2c9'],
  [/http:\/\/127\.0\.0\.1:\d+/g, 'https://hooks.example.com'],
];

/** What an answer shows as an example: its body, the last line or event of a stream; `undefined` without one. */
export function readExample({ text, headers }: Pick<Response, 'text' | 'headers'>): unknown {
  const steady = SAMPLES.reduce((former, [varying, sample]) => former.replace(varying, sample), text ?? '');
  if (steady.trim() === '') return undefined;
  const type = String(headers['content-type']);
  if (type.startsWith('text/event-stream')) return readEvent(steady);
  return shorten(
    JSON.parse(type.startsWith('application/x-ndjson') ? (steady.split('\n')[0] ?? '') : steady),
  );
}

function readEvent(stream: string): unknown {
  const last = stream.trim().split('\n\n').at(-1) ?? '';
  const [, event] = /^event: (.*)$/m.exec(last) ?? [];
  const [, data = ''] = /^data: (.*)$/m.exec(last) ?? [];
  return { event, data: JSON.parse(data) as unknown };
}

/** With one of the objects of each list. */
function shorten(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return (typeof items[0] === 'object' ? items.slice(0, 1) : items).map(shorten);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shorten(member)]));
}

/** The members of an example, without their values, which depend on what else there is. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object' || value === null) return 'a value';
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}
