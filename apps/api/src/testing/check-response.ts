import { jsonPointer } from '@hookferry/producer/fault-words';
import type { Ajv2020 } from 'ajv/dist/2020';
import { EVENTS_TYPE, NDJSON_TYPE } from '../http/send-reply';
import { describeApi } from '../openapi/document';
import { type Json, templateOf } from '../openapi/operation';
import { routes } from '../routes/index';
import { createDescriptionAjv, DESCRIPTION } from './description-ajv';

export interface RecordedAnswer {
  readonly method: string;
  /** Its path as the route writes it; `undefined` if no route responded. */
  readonly route: string | undefined;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

/**
 * Give the differences between a response and the API's description. Responses outside of its operations are
 * not checked.
 */
export function createResponseCheck() {
  const operations = new Map(
    routes.map((route) => [
      `${route.method.toUpperCase()} ${route.path}`,
      ['paths', templateOf(route), route.method],
    ]),
  );
  const description = describeApi(routes);
  const ajv = createDescriptionAjv(description);

  return function validationErrorsOf({
    method,
    route,
    status,
    contentType,
    body,
  }: RecordedAnswer): readonly string[] {
    const operation = operations.get(`${method} ${route}`);
    if (operation === undefined) return [];
    const place = placeOf(description, operation, status);
    const name = `${method} ${route} ${status}`;
    const declared = memberAt(description, place);
    if (declared === undefined) return [`${name} is not described: ${body}`];
    if (memberAt(declared, ['content']) === undefined)
      return body === '' ? [] : [`${name} has a body: ${body}`];
    const schema = [...place, 'content', contentType ?? 'none', 'schema'];
    if (memberAt(description, schema) === undefined) return [`${name} is not described as ${contentType}`];
    return textsIn(body, contentType)
      .flatMap((text) => validationErrorsIn(ajv, schema, text))
      .map((fault) => `${name}: ${fault}`);
  };
}

/** The texts that are as the schema says. */
function textsIn(body: string, contentType: string | undefined): readonly string[] {
  if (contentType === NDJSON_TYPE) return body.split('\n').slice(0, -1);
  return contentType === EVENTS_TYPE ? eventsIn(body) : [body];
}

// Comments and lines about the connection have no data.
function eventsIn(body: string): readonly string[] {
  const blocks = body.split('\n\n').map((block) =>
    Object.fromEntries(
      block.split('\n').map((line) => {
        const [name = '', ...value] = line.split(': ');
        return [name, value.join(': ')];
      }),
    ),
  );
  return blocks
    .filter(({ data }) => data !== undefined)
    .map(({ data, ...event }) => JSON.stringify({ ...event, data: JSON.parse(String(data)) }));
}

// Any operation can meet a failure of the service; errors that a client causes are listed with each.
function placeOf(description: Json, operation: readonly string[], status: number): readonly string[] {
  const place = [...operation, 'responses', String(status)];
  const isDescribed = memberAt(description, place) !== undefined;
  return isDescribed || status < 500 ? place : ['components', 'responses', 'Problem'];
}

function validationErrorsIn(ajv: Ajv2020, place: readonly string[], body: string): readonly string[] {
  const validate = ajv.getSchema(DESCRIPTION + pointerTo(place));
  if (validate === undefined) return ['has no schema'];
  if (validate(JSON.parse(body)) === true) return [];
  return [`${ajv.errorsText(validate.errors)} in ${body}`];
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (inner as Readonly<Record<string, unknown>> | undefined)?.[name],
    value,
  );
}

/** As part of a URL. */
export function pointerTo(path: readonly string[]): string {
  return `#${encodeURI(jsonPointer(path))}`;
}
