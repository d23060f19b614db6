// @ts-check

/**
 * What docs/api.md says of names, times, durations, lists and statuses, as rules of Redocly. Nothing under `/v1` that is
 * released may change, so what breaks a rule has to be seen before that.
 */

/** @typedef {Record<string, any>} Node any part of the description */
/** @typedef {{ report: (problem: { message: string, location: any }) => void, location: any }} Context */

const SNAKE_CASE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
// Event types have dots, and scopes say of what they are.
const VALUE = /^[a-z0-9]+([_.:][a-z0-9]+)*$/;
/** Of times themselves, and of something else's, such as `attempted_since`. */
const END_OF_RANGE = /(^|_)(since|until)$/;
const LENGTH_OF_TIME = /(^|_)(timeout|delay|duration|overlap|lag|expires_in|window|patience)(_|$)/;
const WITH_UNIT = /_(ms|seconds)$/;
// The names of CloudEvents are not ours.
const FOREIGN = ['NewCloudEvent/properties/time'];
/** By what a client should find there instead. */
const REFERENCES = { account: 'account_id', webhook: 'webhook_id', event: 'event_id', kind: 'type' };

/**
 * @param {Node} schema
 * @returns {string[]} its types, of each alternative
 */
function typesOf({ type, anyOf = [], oneOf = [] }) {
  return [
    type,
    ...anyOf.map((/** @type {Node} */ each) => each.type),
    ...oneOf.map((/** @type {Node} */ each) => each.type),
  ].flat();
}

/** @param {Node} schema */
function isTime(schema) {
  return [schema, ...(schema.anyOf ?? [])].some(({ format }) => format === 'date-time');
}

/**
 * Each member of a schema, and each query parameter.
 * @param {(name: string, schema: Node, siblings: string[]) => string | undefined} check gives what is wrong
 */
function eachName(check) {
  return {
    /** @param {Node} schema @param {Context} context */
    Schema(schema, { report, location }) {
      const members = Object.entries(schema.properties ?? {});
      const names = members.map(([name]) => name);
      for (const [name, member] of members) {
        const place = location.child(['properties', name]);
        const message = FOREIGN.some((end) => place.pointer.endsWith(end))
          ? undefined
          : check(name, member, names);
        if (message !== undefined) report({ message, location: place.key() });
      }
    },
    /** @param {Node} parameter @param {Context} context */
    Parameter({ in: place, name, schema = {} }, { report, location }) {
      const message = place === 'query' ? check(name, schema, []) : undefined;
      if (message !== undefined) report({ message, location: location.child(['name']) });
    },
  };
}

const rules = {
  'names-in-snake-case': () =>
    eachName((name) => (SNAKE_CASE.test(name) ? undefined : `"${name}" is not in snake_case.`)),

  'times-end-in-at': () =>
    eachName((name, schema) =>
      isTime(schema) && !name.endsWith('_at') && !END_OF_RANGE.test(name)
        ? `"${name}" is a time: its name has to end in "_at".`
        : undefined,
    ),

  'durations-name-their-unit': () =>
    eachName((name, schema) =>
      LENGTH_OF_TIME.test(name) &&
      typesOf(schema).some((type) => type === 'integer' || type === 'number') &&
      !WITH_UNIT.test(name)
        ? `"${name}" is a length of time: its name has to end in "_ms" or "_seconds".`
        : undefined,
    ),

  'references-say-of-what': () =>
    eachName((name, schema, siblings) => {
      const better = /** @type {Record<string, string>} */ (REFERENCES)[name];
      const isFixed = schema.const !== undefined || schema.enum !== undefined;
      if (better !== undefined && !isFixed && typesOf(schema).includes('string'))
        return `Call it "${better}", not "${name}".`;
      return name === 'type' && siblings.includes('event_id')
        ? 'The type of another object is its "event_type".'
        : undefined;
    }),

  'values-in-snake-case': () => ({
    /** @param {Node} schema @param {Context} context */
    Schema({ enum: values = [] }, { report, location }) {
      for (const value of values) {
        if (typeof value !== 'string' || VALUE.test(value)) continue;
        report({ message: `"${value}" is not in snake_case.`, location: location.child(['enum']) });
      }
    },
  }),

  'lists-are-alike': () => ({
    /** @param {Node} schema @param {Context} context */
    Schema({ properties = {}, required = [] }, { report, location }) {
      const isPage = properties.has_more !== undefined || properties.next_cursor !== undefined;
      const missing = ['data', 'next_cursor', 'has_more'].filter((name) => !required.includes(name));
      if (!isPage || missing.length === 0) return;
      report({ message: `A list always has ${missing.join(' and ')}.`, location });
    },
  }),

  'statuses-say-what-happened': () => ({
    /** @param {Node} operation @param {Context} context */
    Operation({ operationId = '', responses = {} }, { report, location }) {
      const needs = STATUSES.find(([form]) => form.test(operationId))?.[1] ?? [];
      if (needs.length === 0 || needs.some((status) => status in responses)) return;
      report({
        message: `"${operationId}" responds with ${needs.join(' or ')}.`,
        location: location.child(['responses']).key(),
      });
    },
  }),

  'responses-have-all-members': () => ({
    Response: {
      /** @param {Node} schema @param {Context} context */
      Schema({ properties = {}, required = [] }, { report, location }) {
        for (const name of Object.keys(properties)) {
          const place = location.child(['properties', name]);
          if (required.includes(name) || MAY_BE_ABSENT.some((form) => form.test(place.pointer))) continue;
          report({ message: `"${name}" may be absent. What is not there is null.`, location: place.key() });
        }
      },
    },
  }),
};

/** @type {readonly [RegExp, string[]][]} */
const STATUSES = [
  // 202: the work goes on afterwards.
  [/^(create|issue|rotate)/, ['201', '202']],
  [/Batch$/, ['207']],
  [/^(delete|remove|revoke|end)/, ['202', '204']],
];

/** What a response may lack. */
const MAY_BE_ABSENT = [
  // Most problems are no faults of a body.
  /\/Problem\/properties\/errors$/,
  // A stream's lines are of several kinds.
  /\/ListenerLine\/properties\//,
  // Only where `include` asked for it.
  /\/AccountWithUsage\/properties\/usage$/,
  /\/ReplayWithResults\/properties\/results$/,
];

/** @returns {object} the plugin */
export default function apiRules() {
  return { id: 'hookferry', rules: { oas3: rules } };
}
